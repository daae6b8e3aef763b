//! Frames in gzip, Zstandard, Brotli and LZ4.

use futures::io::{AsyncReadExt, AsyncWriteExt};
use oxiblosc::block_on;
use oxiblosc::transport::{Encoding, decode, decode_as, encode};

/// The most bytes that are read from a stream. A few bytes can decode to gigabytes of zeros, and it is up to the caller
/// to limit that.
const MOST: u64 = 2 << 20;

/// Decodes `input` as each of the encodings, and sends it through each.
///
/// # Panics
/// When bytes differ afterwards.
pub fn check(input: &[u8]) {
    block_on(async {
        let detected = read(decode(input).await).await;
        for encoding in Encoding::ALL {
            let forced = read(Ok(decode_as(input, Some(encoding)))).await;
            if Encoding::detect(input) == Some(encoding) {
                assert_eq!(detected.as_deref().ok(), forced.as_deref().ok(), "{encoding:?}, told and detected");
            }
        }
        if Encoding::detect(input).is_none() && input.len() as u64 <= MOST {
            assert!(detected.is_ok_and(|found| found == input), "passed on, and changed");
        }
        for encoding in Encoding::ALL {
            let mut encoder = encode(Vec::new(), encoding);
            let written = async {
                encoder.write_all(input).await?;
                encoder.close().await
            };
            written.await.expect("memory does not fail");
            let packed = encoder.into_inner();
            let back = read(Ok(decode_as(&packed[..], Some(encoding)))).await;
            assert!(back.is_ok_and(|back| back == input), "{encoding:?} gives other bytes back");
            // A stream that is cut is no shorter stream.
            let cut = &packed[..packed.len() - 1];
            let back = read(Ok(decode_as(cut, Some(encoding)))).await;
            assert!(back.is_err(), "{encoding:?} without its last byte decodes to {:?} bytes", back.map(|b| b.len()));
        }
    });
}

async fn read<R: futures::io::AsyncRead + Unpin>(reader: std::io::Result<R>) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    reader?.take(MOST + 1).read_to_end(&mut out).await?;
    Ok(out)
}
