//! Compressed streams in and out.
#![cfg(feature = "compression")]

mod common;

use common::{CHUNK, Flaky, Mood, data, lengths, options};
use futures::io::{AsyncReadExt, AsyncWriteExt};
use oxiblosc_streaming::transport::{Encoding, decode, decode_as, encode};
use oxiblosc_streaming::{FrameReader, block_on};

fn encoded(data: &[u8], encoding: Encoding) -> Vec<u8> {
    let mut encoder = encode(Vec::new(), encoding);
    block_on(async {
        encoder.write_all(data).await.unwrap();
        encoder.close().await.unwrap();
    });
    encoder.into_inner()
}

#[test]
fn what_goes_out_comes_in() {
    for encoding in Encoding::ALL {
        for len in lengths() {
            let data = data(len);
            let packed = encoded(&data, encoding);
            let mut back = Vec::new();
            block_on(decode_as(&packed[..], Some(encoding)).read_to_end(&mut back)).unwrap();
            assert_eq!(back, data, "{encoding}, {len} bytes");
            if encoding != Encoding::Brotli {
                assert_eq!(Encoding::detect(&packed), Some(encoding));
                let mut decoder = block_on(decode(&packed[..])).unwrap();
                assert_eq!(decoder.encoding(), Some(encoding));
                let mut back = Vec::new();
                block_on(decoder.read_to_end(&mut back)).unwrap();
                assert_eq!(back, data);

                // Several of them, one behind the other, as `cat a.gz b.gz` makes.
                let twice = [&packed[..], &packed].concat();
                let mut back = Vec::new();
                block_on(async { decode(&twice[..]).await.unwrap().read_to_end(&mut back).await }).unwrap();
                assert_eq!(back, [&data[..], &data].concat(), "{encoding}, {len} bytes twice");
            }
        }
    }
}

#[test]
fn other_streams_pass() {
    for len in [0, 1, 3, 4, 5, 10_000] {
        let data = data(len);
        let mut decoder = block_on(decode(&data[..])).unwrap();
        assert_eq!(decoder.encoding(), None);
        let mut back = Vec::new();
        block_on(decoder.read_to_end(&mut back)).unwrap();
        assert_eq!(back, data);
    }
}

#[test]
fn a_few_bytes_do_not_ask_for_a_gigabyte() {
    // 24 bytes of Brotli with a window of 2^30 bytes, which the decoder would allocate before it decodes the first one.
    let stream = b"\x11\x1e \0\0\x90\0\xa9A\x90\xa9\x03\x0f\xa7g\0\x18\0\x08more\x03";
    let mut decoder = decode_as(&stream[..], Some(Encoding::Brotli));
    let error = block_on(decoder.read_to_end(&mut Vec::new())).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    assert_eq!(error.to_string(), "a Brotli stream with a window size that RFC 7932 does not allow");
}

#[test]
fn a_stream_that_is_cut_is_an_error() {
    for encoding in Encoding::ALL {
        let packed = encoded(&data(20_000), encoding);
        for len in 1..packed.len() {
            let mut decoder = decode_as(&packed[..len], Some(encoding));
            let result = block_on(decoder.read_to_end(&mut Vec::new()));
            assert!(result.is_err(), "{encoding}, {len} of {} bytes", packed.len());
        }
    }
}

#[test]
fn through_a_frame_into_a_slow_writer() {
    let data = data(9 * CHUNK + 5);
    for encoding in Encoding::ALL {
        let packed = encoded(&data, Encoding::Zstd);
        let writer = Flaky::new(b"", Mood { pending: 3, most: 100, ..Mood::GOOD }, 4);
        block_on(async {
            let mut sink = options().in_memory().unwrap();
            futures::io::copy(decode(&packed[..]).await.unwrap(), &mut sink).await.unwrap();
            sink.close().await.unwrap();
            let reader = FrameReader::open(sink.into_target().into_bytes()).await.unwrap();
            let mut encoder = encode(writer.clone(), encoding);
            futures::io::copy(reader.into_async_read(), &mut encoder).await.unwrap();
            encoder.close().await.unwrap();
        });
        let mut back = Vec::new();
        block_on(decode_as(&writer.bytes()[..], Some(encoding)).read_to_end(&mut back)).unwrap();
        assert_eq!(back, data);
    }
}

#[test]
fn a_writer_may_fail_at_any_call_and_nothing_is_lost_or_repeated() {
    // Above what an encoder keeps to itself, so that it writes while it takes bytes in.
    let data: Vec<u8> =
        (0..20_000u32).flat_map(|i| i.wrapping_mul(0x9E37_79B9).rotate_left(i % 32).to_le_bytes()).collect();
    for encoding in Encoding::ALL {
        let run = |fails_at: std::ops::Range<u64>| {
            let writer = Flaky::new(b"", Mood { pending: 5, most: 20_000, fails_at, ..Mood::GOOD }, 9);
            let mut encoder = encode(writer.clone(), encoding);
            let mut failures = 0;
            block_on(async {
                let mut rest = &data[..];
                while !rest.is_empty() {
                    match encoder.write(rest).await {
                        Ok(n) => rest = &rest[n..],
                        Err(_) => failures += 1,
                    }
                    if rest.len() == data.len() / 2 {
                        while encoder.flush().await.is_err() {
                            failures += 1;
                        }
                    }
                }
                while encoder.close().await.is_err() {
                    failures += 1;
                }
                let mut back = Vec::new();
                decode_as(&writer.bytes()[..], Some(encoding)).read_to_end(&mut back).await.unwrap();
                assert!(back == data, "{encoding}");
            });
            assert!(writer.is_closed());
            (writer.calls(), failures)
        };
        let (calls, failures) = run(0..0);
        assert_eq!(failures, 0);
        assert!(calls > 3, "{encoding}: {calls} calls");
        for call in 0..calls {
            assert_eq!(run(call..call + 1).1, 1, "{encoding}, call {call} of {calls}");
        }
    }
}
