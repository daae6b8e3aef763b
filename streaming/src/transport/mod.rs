//! Compressed byte streams around a pipeline: a source in gzip, Zstandard, Brotli or LZ4 is decoded on its way into a
//! frame, and what is read from a frame can be encoded with one of them.
//!
//! [`Encoding`] recognizes them; to decode and encode them is the feature `compression`.
//!
//! ```
//! # #[cfg(feature = "compression")]
//! # fn main() {
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
//! # }
//! # #[cfg(not(feature = "compression"))]
//! # fn main() {}
//! ```

#[cfg(feature = "compression")]
mod decoder;
#[cfg(feature = "compression")]
mod encoder;
mod encoding;
#[cfg(feature = "compression")]
mod outbox;
#[cfg(feature = "compression")]
mod window;

#[cfg(feature = "compression")]
pub use decoder::{Decoder, decode, decode_as};
#[cfg(feature = "compression")]
pub use encoder::{Encoder, encode};
pub use encoding::{Encoding, UnknownEncoding};
