//! Plugins from outside, and plugins that fail and panic.

mod common;

use std::sync::atomic::{AtomicU64, Ordering};

use common::{CHUNK, data};
use futures::io::AsyncWriteExt;
use oxiblosc_core::Chain;
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{FilterId, Registry, register_filter};
use oxiblosc_streaming::{ErrorKind, FrameReader, Pool, ReadError, ReadOptions, WriteError, WriteOptions, block_on};

/// Adds one to every byte. Fails or panics on the chunk that is asked for, which its first byte tells.
#[derive(Clone)]
struct Touchy {
    fails: &'static AtomicU64,
    panics: &'static AtomicU64,
}

impl Touchy {
    fn check(&self, first: u8) -> Result<(), FilterError> {
        let chunk = u64::from(first);
        if chunk == self.panics.load(Ordering::SeqCst) {
            panic!("chunk {chunk} looks at me");
        }
        if chunk == self.fails.load(Ordering::SeqCst) {
            return Err(FilterError::Other("not this one".into()));
        }
        Ok(())
    }
}

impl Filter for Touchy {
    fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.check(src[0])?;
        dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.wrapping_add(1));
        Ok(())
    }

    fn backward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.check(src[0].wrapping_sub(1))?;
        dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.wrapping_sub(1));
        Ok(())
    }
}

macro_rules! touchy {
    ($module:ident, $id:expr) => {
        mod $module {
            use super::*;
            pub(super) static FAILS: AtomicU64 = AtomicU64::new(u64::MAX);
            pub(super) static PANICS: AtomicU64 = AtomicU64::new(u64::MAX);
            register_filter!(FilterId($id), stringify!($module), FilterTraits::LOSSLESS, || Box::new(Touchy {
                fails: &FAILS,
                panics: &PANICS
            }));
        }
    };
}

touchy!(touchy_write, 210);
touchy!(touchy_read, 211);

/// No chunk of it is stored, which would not run the filter. Each begins with its number.
fn compressible(len: usize) -> Vec<u8> {
    numbered((0..len).map(|i| (i / 50) as u8).collect())
}

/// Puts the number of each chunk into its first byte.
fn numbered(mut data: Vec<u8>) -> Vec<u8> {
    data.chunks_mut(CHUNK).zip(0..).for_each(|(chunk, number)| chunk[0] = number);
    data
}

fn options(filter: u8) -> WriteOptions {
    let filters = FilterSlots::single(FilterId(filter));
    WriteOptions::new(EncodeParams { filters, ..EncodeParams::default() }).chunk_size(CHUNK)
}

#[test]
fn a_failing_or_panicking_plugin_is_an_error_of_its_sink_alone() {
    let data = numbered(data(8 * CHUNK));
    for threads in [0, 2] {
        let pool = Pool::new(threads);
        for panics in [false, true] {
            let switch = if panics { &touchy_write::PANICS } else { &touchy_write::FAILS };
            let mut other = common::options().pool(&pool).in_memory().unwrap();
            let mut sink = options(210).pool(&pool).in_memory().unwrap();
            block_on(async {
                other.write_all(&data[..3 * CHUNK]).await.unwrap();
                switch.store(4, Ordering::SeqCst);
                let error = match sink.write_all(&data).await {
                    Ok(()) => sink.close().await.unwrap_err(),
                    Err(e) => e.downcast::<WriteError>().unwrap(),
                };
                switch.store(u64::MAX, Ordering::SeqCst);
                assert!(!error.is_retryable());
                assert!(matches!(error, WriteError::Encode { chunk: 4, .. }), "{error}");
                assert_eq!(error.kind(), if panics { ErrorKind::Panicked } else { ErrorKind::Other });
                let plugin =
                    concat!("filter \"touchy_write\" (id 210) of oxiblosc-streaming ", env!("CARGO_PKG_VERSION"));
                let message = if panics { "panicked: chunk 4 looks at me" } else { "not this one" };
                let text = Chain(&error).to_string();
                assert!(text.contains("block 0") && text.contains(plugin) && text.contains(message), "{text}");
                // It stays.
                for _ in 0..2 {
                    assert_eq!(sink.close().await.unwrap_err().to_string(), error.to_string());
                    assert_eq!(sink.flush().await.unwrap_err().to_string(), error.to_string());
                    assert_eq!(sink.write(b"x").await.unwrap_err().to_string(), error.to_string());
                }
                assert!(sink.summary().is_none());
                sink.abort().await.unwrap();
                // The other one lives on, on the same pool.
                other.write_all(&data[3 * CHUNK..]).await.unwrap();
                assert_eq!(other.close().await.unwrap().nbytes, data.len() as u64);
            });
        }
    }
}

#[test]
fn a_panicking_plugin_is_an_error_of_its_chunk_alone() {
    let data = compressible(8 * CHUNK);
    let mut sink = options(211).in_memory().unwrap();
    block_on(async {
        sink.write_all(&data).await.unwrap();
        sink.close().await.unwrap();
        let frame = sink.into_target().into_bytes();
        for threads in [0, 2] {
            let reader = ReadOptions::new().pool(&Pool::new(threads)).open(frame.clone()).await.unwrap();
            touchy_read::PANICS.store(4, Ordering::SeqCst);
            let error = reader.chunk(4).await.unwrap_err();
            assert!(matches!(error, ReadError::Decode { chunk: 4, .. }));
            assert_eq!(error.kind(), ErrorKind::Panicked);
            assert!(matches!(reader.bytes(0..data.len() as u64).await, Err(ReadError::Decode { chunk: 4, .. })));
            let results: Vec<_> = futures::StreamExt::collect(reader.chunks()).await;
            touchy_read::PANICS.store(u64::MAX, Ordering::SeqCst);
            assert_eq!(results.len(), 8);
            for (i, result) in results.into_iter().enumerate() {
                match result {
                    Ok(chunk) => assert_eq!(chunk, &data[i * CHUNK..(i + 1) * CHUNK]),
                    Err(e) => assert!(i == 4 && Chain(&e).to_string().contains("looks at me"), "{e}"),
                }
            }
            assert_eq!(reader.chunk(4).await.unwrap(), &data[4 * CHUNK..5 * CHUNK]);
        }
    });
}

#[test]
fn an_unknown_plugin_is_named_and_its_frame_still_opens() {
    let mut sink = options(211).in_memory().unwrap();
    block_on(async {
        sink.write_all(&compressible(100)).await.unwrap();
        sink.close().await.unwrap();
        let frame = sink.into_target().into_bytes();
        let reader = ReadOptions::new().registry(&Registry::empty()).open(frame.clone()).await.unwrap();
        assert_eq!(reader.nbytes(), 100);
        let error = Chain(&reader.chunk(0).await.unwrap_err()).to_string();
        assert!(error.contains("211") && error.contains("slot 5") || error.contains("empty"), "{error}");
        assert!(FrameReader::open(frame).await.unwrap().chunk(0).await.is_ok());
    });
    let unknown = options(212).in_memory().unwrap_err();
    assert!(matches!(unknown, WriteError::Params(_)) && Chain(&unknown).to_string().contains("212"), "{unknown}");
}
