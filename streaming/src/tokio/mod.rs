//! The I/O traits of Tokio (feature `tokio`): its readers and writers where this crate takes those of `futures`, and
//! the other way round.
//!
//! Nothing here needs a Tokio runtime by itself; files and sockets of Tokio do, of course.
//!
//! ```
//! use oxiblosc_streaming::tokio::{ToFutures, ToTokio};
//! use oxiblosc_streaming::{FrameReader, WriteOptions};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! # use oxiblosc_plugins as _;
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! # runtime.block_on(async {
//!
//! // A frame into a file of Tokio, written through Tokio's traits.
//! let file = tokio::fs::File::from_std(tempfile::tempfile()?);
//! let mut sink = ToTokio::new(WriteOptions::default().seekable(ToFutures::new(file))?);
//! sink.write_all(&[7; 100_000]).await?;
//! sink.shutdown().await?; // closes the frame
//! assert_eq!(sink.get_ref().summary().map(|summary| summary.nbytes), Some(100_000));
//!
//! # let mut sink = ToTokio::new(WriteOptions::default().in_memory()?);
//! # sink.write_all(&[7; 100_000]).await?;
//! # sink.shutdown().await?;
//! # let frame = sink.into_inner().into_target().into_bytes();
//! let reader = FrameReader::open(frame).await?;
//! let mut bytes = Vec::new();
//! ToTokio::new(reader.into_async_read()).read_to_end(&mut bytes).await?;
//! assert_eq!(bytes, [7; 100_000]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod to_futures;
mod to_tokio;

pub use to_futures::ToFutures;
pub use to_tokio::ToTokio;
