//! Compressed byte streams around a pipeline (feature `compression`): a source in gzip, Zstandard, Brotli or LZ4 is
//! decoded on its way into a frame, and what is read from a frame can be encoded with one of them.
//!
//! ```
//! use futures::{AsyncReadExt, AsyncWriteExt, executor::block_on};
//! use oxiblosc_streaming::transport::{Encoding, decode, encode};
//! use oxiblosc_streaming::{FrameReader, WriteOptions};
//! # use oxiblosc_plugins as _;
//!
//! block_on(async {
//!     # let mut zipped = encode(Vec::new(), Encoding::Gzip);
//!     # zipped.write_all(&[7; 100_000]).await?;
//!     # zipped.close().await?;
//!     # let zipped: Vec<u8> = zipped.into_inner();
//!     // From a .gz file, whatever its name, into a frame ...
//!     let mut sink = WriteOptions::default().in_memory()?;
//!     futures::io::copy(decode(&zipped[..]).await?, &mut sink).await?;
//!     sink.close().await?;
//!
//!     // ... and from the frame into a .zst file.
//!     let reader = FrameReader::open(sink.into_target().into_bytes()).await?;
//!     let mut packed = encode(Vec::new(), Encoding::Zstd);
//!     futures::io::copy(reader.into_async_read(), &mut packed).await?;
//!     packed.close().await?;
//!     # let mut back = Vec::new();
//!     # decode(&packed.into_inner()[..]).await?.read_to_end(&mut back).await?;
//!     # assert_eq!(back, [7; 100_000]);
//!     Ok::<(), Box<dyn std::error::Error>>(())
//! })
//! # .unwrap();
//! ```

mod decoder;
mod encoder;
mod encoding;
mod outbox;
mod window;

pub use decoder::{Decoder, decode, decode_as};
pub use encoder::{Encoder, encode};
pub use encoding::{Encoding, UnknownEncoding};
