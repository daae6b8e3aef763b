//! Blosc2 as a streaming codec framework with an open plugin registry.
//!
//! Blosc2 cuts data into chunks and blocks, rearranges their bytes with filters, and compresses them with a fast codec.
//! A chunk is one compressed buffer; a frame is a file of many chunks, any part of which can be read alone.
//!
//! - [Compress a buffer](#compress-a-buffer)
//! - [Write a file, and read parts of it](#write-a-file-and-read-parts-of-it)
//! - [Stream into a frame](#stream-into-a-frame)
//! - [Stream out of a frame](#stream-out-of-a-frame)
//! - [Choose where frames go and come from](#choose-where-frames-go-and-come-from)
//! - [Share threads and bound memory](#share-threads-and-bound-memory)
//! - [Bring a filter or a codec](#bring-a-filter-or-a-codec)
//! - [Read files you do not trust](#read-files-you-do-not-trust)
//! - [Store metadata](#store-metadata)
//!
//! # Compress a buffer
//!
//! [`compress`] makes one chunk of one buffer, [`decompress`] undoes it. The filter needs to know how wide an item is.
//!
//! ```
//! use oxiblosc::{CodecId, EncodeParams, Inline};
//!
//! let data: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
//! let params = EncodeParams { codec: CodecId::ZSTD, typesize: 4, ..EncodeParams::default() };
//! let chunk = oxiblosc::compress(&data, &params, &Inline)?;
//! assert!(chunk.len() < data.len() / 20);
//! assert_eq!(oxiblosc::decompress(&chunk, &Inline)?, data);
//! # Ok::<(), oxiblosc::chunk::ChunkError>(())
//! ```
//!
//! [`Inline`] works on this thread; a [`Pool`] in its place works on several.
//!
//! # Write a file, and read parts of it
//!
//! The twins in [`blocking`] are made for [`std::io`]:
//!
//! ```
//! use std::io::Write;
//! use oxiblosc::{EncodeParams, WriteOptions, blocking};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("squares.b2frame");
//! let params = EncodeParams { typesize: 8, ..EncodeParams::default() };
//! let mut writer = blocking::FrameWriter::create(&path, WriteOptions::new(params))?;
//! for i in 0..1_000_000u64 {
//!     writer.write_all(&(i * i).to_le_bytes())?;
//! }
//! let summary = writer.finish()?; // only now is there a file of that name
//! assert_eq!(summary.nbytes, 8_000_000);
//!
//! let reader = blocking::FrameReader::open(&path)?;
//! let items = reader.items(1000..1002)?; // decodes the blocks that hold them
//! assert_eq!(items[..8], (1000u64 * 1000).to_le_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Stream into a frame
//!
//! A [`FrameSink`] takes bytes as a `futures::Sink` or as a `futures::io::AsyncWrite`, in pieces of any size. Chunks
//! are compressed on a [`Pool`], away from the executor; when too many are in flight, the sink waits.
//!
//! ```
//! use bytes::Bytes;
//! use futures::{StreamExt, stream};
//! use oxiblosc::{WriteError, WriteOptions};
//!
//! # futures::executor::block_on(async {
//! let readings = stream::iter((0..1000u32).map(|i| Ok::<_, WriteError>(Bytes::from(vec![i as u8; 500]))));
//! let mut sink = WriteOptions::default().in_memory()?;
//! readings.forward(&mut sink).await?;
//! assert_eq!(sink.summary().map(|s| s.nbytes), Some(500_000));
//! let frame: Vec<u8> = sink.into_target().into_bytes();
//! # assert_eq!(frame.len() as u64, oxiblosc::FrameReader::open(frame.clone()).await?.frame().frame_len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! Closing is explicit and can be tried again after a failure; a sink that is dropped instead leaves no frame behind.
//! The futures of a sink may be dropped at any time: what it has taken is neither lost nor repeated, and
//! [`write_bytes`](FrameSink::write_bytes) leaves what it has not taken with its caller. (`send`, `feed` and `forward` of
//! the `futures` crate own their item until there is room for it, and lose it when they are dropped before.) A sink works
//! while it is polled; one that is [driven](FrameSink::into_driven) goes on while its producer waits for more.
//!
//! # Stream out of a frame
//!
//! ```
//! use futures::TryStreamExt;
//! use oxiblosc::FrameReader;
//! # use std::io::Write;
//! # use oxiblosc::{WriteOptions, blocking};
//! # let mut writer = blocking::FrameWriter::in_memory(WriteOptions::default().chunk_size(1000))?;
//! # writer.write_all(&[1; 12_345])?;
//! # writer.finish()?;
//! # let frame = writer.into_bytes();
//! # futures::executor::block_on(async {
//!
//! let reader = FrameReader::open(frame).await?;
//! let mut chunks = reader.chunks(); // fetched and decoded ahead, in order
//! let mut sum = 0;
//! while let Some(chunk) = chunks.try_next().await? {
//!     sum += chunk.iter().map(|&b| u64::from(b)).sum::<u64>();
//! }
//! # assert_eq!(sum, 12_345);
//! # Ok::<(), oxiblosc::ReadError>(())
//! # }).unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`FrameReader::into_async_read`] gives the same bytes as a `futures::io::AsyncRead` that can also seek.
//!
//! # Choose where frames go and come from
//!
//! | a frame goes to | with |
//! |---|---|
//! | a file that appears when it is complete | [`target::FileTarget`], [`blocking::FrameWriter::create`] |
//! | anything that can seek | [`WriteOptions::seekable`], [`blocking::FrameWriter::new`] |
//! | anything else that takes bytes | [`WriteOptions::spooled`], [`blocking::FrameWriter::spooled`] |
//! | anything that takes bytes, at once, to be sealed later | [`target::OpenTarget`], [`recover::seal()`] |
//! | an object of S3, GCS, Azure or any other store | `target::ObjectTarget` (feature `object_store`) |
//! | a directory, or objects under a prefix: a sparse frame | [`target::SparseTarget`], [`target::PlaceTarget`] |
//! | the same, filled by several writers | [`SharedWriter`] |
//! | memory | [`WriteOptions::in_memory`], [`blocking::FrameWriter::in_memory`] |
//! | a place of your own | [`target::Target`] |
//!
//! | a frame comes from | with |
//! |---|---|
//! | a file | [`source::FileSource`], [`blocking::FrameReader::open`] |
//! | memory | `bytes::Bytes`, `Vec<u8>` |
//! | a `Read + Seek` | [`blocking::FrameReader::new`] |
//! | a place of your own | [`source::RangeSource`] |
//!
//! # Share threads and bound memory
//!
//! There are no global threads. A sink or reader makes its own unless it is given a [`Pool`]:
//!
//! ```
//! use oxiblosc::{Pool, WriteOptions};
//!
//! let pool = Pool::new(4);
//! let options = WriteOptions::default().pool(&pool).chunk_size(1 << 20).bytes_in_flight(16 << 20);
//! let (one, other) = (options.clone().in_memory()?, options.in_memory()?);
//! # Ok::<(), oxiblosc::WriteError>(())
//! ```
//!
//! # Bring a filter or a codec
//!
//! Implement [`filter::Filter`] or [`codec::Codec`] and register it, at item level or on a [`Registry`] value. The
//! built-in ones are registered in the same way.
//!
//! ```standalone_crate
//! use oxiblosc::filter::{BlockContext, Filter, FilterError, FilterTraits};
//! use oxiblosc::{EncodeParams, FilterId, FilterSlots, Inline, register_filter};
//!
//! #[derive(Clone)]
//! struct Invert;
//!
//! impl Filter for Invert {
//!     fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
//!         dst.iter_mut().zip(src).for_each(|(d, s)| *d = !s);
//!         Ok(())
//!     }
//!     fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
//!         self.forward(ctx, src, dst)
//!     }
//! }
//!
//! register_filter!(FilterId(200), "invert", FilterTraits::LOSSLESS, || Box::new(Invert));
//!
//! let params = EncodeParams { filters: FilterSlots::single(FilterId(200)), ..EncodeParams::default() };
//! let chunk = oxiblosc::compress(&[7; 1000], &params, &Inline)?;
//! assert_eq!(oxiblosc::decompress(&chunk, &Inline)?, [7; 1000]);
//! # Ok::<(), oxiblosc::chunk::ChunkError>(())
//! ```
//!
//! Everything takes its plugins from [`Registry::linked`] unless it is given another registry: with
//! [`compress_with`] and [`decompress_with`], or the method `registry` of [`ReadOptions`], [`WriteOptions`],
//! [`edit::EditOptions`] and [`recover::RecoverOptions`]. Which plugins a frame needs is in
//! [`FrameReader::plugins`], and which of them are missing in [`FrameReader::missing_plugins`].
//!
//! # Read files you do not trust
//!
//! Every size in a file is checked against the rest of the file and against [`Limits`] before memory is allocated, and
//! damage is an error that says what is wrong and where:
//!
//! ```
//! use oxiblosc::{Limits, ReadOptions, blocking};
//!
//! let mut limits = Limits::default();
//! limits.chunk_bytes = 64 << 20;
//! let options = ReadOptions::new().limits(limits);
//! let error = blocking::FrameReader::with_options(b"no frame at all".to_vec(), options).unwrap_err();
//! assert!(error.to_string().starts_with("not a Blosc2 frame"));
//! ```
//!
//! # Store metadata
//!
//! Metalayers travel in the header and are there before the first chunk; variable-length metalayers travel in the
//! trailer and may be set until the sink is closed. By convention both hold msgpack. The metalayer `b2nd` makes a frame
//! an n-dimensional array; [`nd`] reads and writes it.
//!
//! ```
//! use oxiblosc::{WriteOptions, blocking};
//!
//! let options = WriteOptions::default().metalayer("unit", &b"\xa1K"[..]);
//! let mut writer = blocking::FrameWriter::in_memory(options)?;
//! writer.sink().set_vlmetalayer("notes", b"\xa8no clouds")?;
//! writer.finish()?;
//!
//! let reader = blocking::FrameReader::from_bytes(writer.into_bytes())?;
//! assert_eq!(reader.metalayer("unit").map(|m| &m[..]), Some(&b"\xa1K"[..]));
//! assert_eq!(reader.vlmetalayer("notes")?.as_deref(), Some(&b"\xa8no clouds"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
// Which feature an item takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod oneshot;
pub mod prelude;

pub use oneshot::{compress, compress_with, decompress, decompress_with};

pub use oxiblosc_plugins as plugins;

pub use oxiblosc_core::chunk::{EncodeParams, SplitMode};
pub use oxiblosc_core::pipeline::FilterSlots;
pub use oxiblosc_core::{
    Chain, CodecId, Executor, FilterId, IdRange, Inline, Limits, Registry, chunk, codec, filter, frame, pipeline,
    plugin, plugin_params, provider, register_codec, register_filter, registry,
};
pub use oxiblosc_streaming::{
    Acquire, Budget, ByteStream, ChecksumPolicy, ChunkStream, Drive, Driven, Driver, ErrorKind, Finding,
    FingerprintCheck, FrameReader, FrameSink, FrameStream, IoMode, OpenEnd, Permit, Pool, Progress, ReadError,
    ReadOptions, Replaced, Settle, SharedWriter, Summary, VerifyReport, WriteError, WriteOptions, block_on, blocking,
    compute, edit, location, recover, settle, source, sparse, target, transport,
};

/// N-dimensional arrays (b2nd): frames whose chunks and blocks are boxes of an array.
///
/// [`NdArray`](nd::NdArray) reads them, [`ArrayOptions`](nd::ArrayOptions) and [`NdSink`](nd::NdSink) write them,
/// [`NdEditor`](nd::NdEditor) changes them. What lies below does no I/O: the metalayer is [`ArrayMeta`](nd::ArrayMeta),
/// [`Tiling`](nd::Tiling) cuts an array into chunks and blocks, and [`Plan`](nd::Plan) says which of them a
/// [`Selection`](nd::Selection) touches.
pub mod nd {
    pub use oxiblosc_core::nd::*;
    pub use oxiblosc_streaming::nd::*;
}

#[cfg(feature = "object_store")]
pub use oxiblosc_streaming::object;
#[cfg(feature = "tokio")]
pub use oxiblosc_streaming::tokio;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The chapters of the book, whose examples run as tests.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../docs/book/src/tour.md")]
    struct Tour;
    #[doc = include_str!("../docs/book/src/arrays.md")]
    struct Arrays;
    #[doc = include_str!("../docs/book/src/streams.md")]
    struct Streams;
    #[cfg(feature = "object_store")]
    #[doc = include_str!("../docs/book/src/object-stores.md")]
    struct ObjectStores;
    #[doc = include_str!("../docs/book/src/commits.md")]
    struct Commits;
    #[doc = include_str!("../docs/book/src/integrity.md")]
    struct Integrity;
    #[doc = include_str!("../docs/book/src/resources.md")]
    struct Resources;
    #[doc = include_str!("../docs/book/src/migration.md")]
    struct Migration;
    #[doc = include_str!("../docs/book/src/plugins/filter.md")]
    struct Filter;
    #[doc = include_str!("../docs/book/src/plugins/codec.md")]
    struct Codec;
    #[doc = include_str!("../docs/book/src/plugins/ids.md")]
    struct Ids;
    #[doc = include_str!("../docs/book/src/plugins/threads.md")]
    struct Threads;
    #[doc = include_str!("../docs/book/src/plugins/test.md")]
    struct Test;
    #[doc = include_str!("../docs/book/src/plugins/ship.md")]
    struct Ship;
}
