//! Plugins from outside, and plugins that fail and panic.

mod common;

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use common::array::{self, Reference, random_selection, random_tiling};
use common::{CHUNK, data};
use futures::io::AsyncWriteExt;
use oxiblosc_core::Chain;
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::plugin_params::{ParamInfo, Params, PluginParams};
use oxiblosc_core::{CodecId, FilterId, Registry, register_codec, register_filter};
use oxiblosc_streaming::edit::{EditOptions, recompress};
use oxiblosc_streaming::nd::NdArray;
use oxiblosc_streaming::target::MemoryTarget;
use oxiblosc_streaming::{
    ErrorKind, FrameReader, FrameStream, Pool, ReadError, ReadOptions, WriteError, WriteOptions, block_on, blocking,
};

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

/// Packs bytes below 16 into half the room, and unpacks any of them. It counts the bytes that it unpacks.
#[derive(Clone)]
struct Nibbles;

static UNPACKED: AtomicU64 = AtomicU64::new(0);

impl Nibbles {
    fn unpack(src: &[u8], range: std::ops::Range<usize>, dst: &mut [u8]) -> Option<usize> {
        UNPACKED.fetch_add(range.len() as u64, Ordering::SeqCst);
        for (at, byte) in range.zip(dst.iter_mut()) {
            *byte = src.get(at / 2)? >> (at % 2 * 4) & 0x0f;
        }
        Some(dst.len())
    }
}

impl Codec for Nibbles {
    fn compress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let len = src.len().div_ceil(2);
        if dst.len() < len || src.iter().any(|&b| b >= 16) {
            return Ok(None);
        }
        dst.iter_mut().zip(src.chunks(2)).for_each(|(d, s)| *d = s[0] | s.get(1).unwrap_or(&0) << 4);
        Ok(Some(len))
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        Ok(Self::unpack(src, 0..dst.len(), dst).unwrap_or(0))
    }

    fn decompress_range(
        &mut self,
        _: &CodecContext<'_>,
        src: &[u8],
        range: std::ops::Range<usize>,
        _len: usize,
        dst: &mut [u8],
    ) -> Result<Option<usize>, CodecError> {
        Ok(Some(Self::unpack(src, range, dst).unwrap_or(0)))
    }
}

register_codec!(CodecId(212), "nibbles", CodecTraits::PLAIN.with_ranges(), || Box::new(Nibbles));

#[test]
fn slices_items_and_bytes_decode_no_more_than_they_need() {
    let mut random = common::Random::new(5);
    for round in 0..150 {
        let tiling = random_tiling(&mut random);
        let mut reference = Reference::new(tiling.shape(), tiling.item_size());
        reference.bytes.iter_mut().for_each(|byte| *byte &= 0x0f);
        let params = EncodeParams { codec: CodecId(212), filters: FilterSlots::NONE, ..EncodeParams::default() };
        let pool = Pool::new(round % 3);
        let frame = WriteOptions::new(params).pool(&pool);
        let mut sink = array::options(&tiling, false).frame(frame).in_memory().unwrap();
        block_on(async {
            sink.push(reference.bytes.clone().into()).await.unwrap();
            sink.close().await.unwrap();
            let frame = sink.into_target().into_bytes();
            let read = ReadOptions::new().pool(&pool);
            let read = if random.chance(2) { read.cache_bytes(0) } else { read };
            let array = NdArray::new(read.open(frame).await.unwrap()).unwrap();
            for _ in 0..5 {
                let (selection, members) = random_selection(tiling.shape(), &mut random);
                let found = array.read(&selection).await.unwrap();
                assert_eq!(*found.bytes(), reference.product(&members), "{selection:?} of {tiling:?}");
            }
            let stored = tiling.stored_bytes();
            for _ in 0..20 {
                let start = random.below(stored + 1);
                let end = start + random.below(stored - start + 1);
                let whole = array.reader().bytes(0..stored).await.unwrap();
                assert!(array.reader().bytes(start..end).await.unwrap() == whole[start as usize..end as usize]);
            }
        });
    }

    // One row of an array of blocks of 64 KiB, and one item.
    let data: Vec<u8> = (0..1 << 20).map(|i| (i % 13) as u8).collect();
    let params = EncodeParams {
        codec: CodecId(212),
        filters: FilterSlots::NONE,
        typesize: 4,
        block_size: Some(1 << 16),
        ..EncodeParams::default()
    };
    let mut sink = WriteOptions::new(params).chunk_size(1 << 19).in_memory().unwrap();
    block_on(async {
        sink.write_all(&data).await.unwrap();
        sink.close().await.unwrap();
        let frame = sink.into_target().into_bytes();
        let reader = ReadOptions::new().cache_bytes(0).pool(&Pool::inline()).open(frame).await.unwrap();
        for (range, most) in [(1000..1004, 4), (65_000..66_000, 1000), (400_000..600_000, 200_000)] {
            UNPACKED.store(0, Ordering::SeqCst);
            let found = reader.bytes(range.clone()).await.unwrap();
            assert!(found == data[range.start as usize..range.end as usize]);
            assert_eq!(UNPACKED.load(Ordering::SeqCst), most, "{range:?}");
        }
    });
}

/// Adds a key of any length to the bytes; the key is a parameter that readers need.
#[derive(Clone, Default)]
struct Keyed {
    key: Vec<u8>,
    /// A parameter of the encoder alone: it panics if a reader gets it.
    effort: u8,
}

impl Keyed {
    const PARAMS: &[ParamInfo] =
        &[ParamInfo::recorded("key", "any text"), ParamInfo::encoder("effort", "a number up to 9")];

    fn apply(&self, src: &[u8], dst: &mut [u8], change: fn(u8, u8) -> u8) {
        let key = self.key.iter().copied().cycle();
        dst.iter_mut().zip(src).zip(key).for_each(|((d, s), k)| *d = change(*s, k));
    }
}

impl Filter for Keyed {
    fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        assert_eq!(self.effort, 7);
        self.apply(src, dst, u8::wrapping_add);
        Ok(())
    }

    fn backward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        assert_eq!(self.effort, 0);
        self.apply(src, dst, u8::wrapping_sub);
        Ok(())
    }

    fn configure(&mut self, params: &Params) -> Result<(), FilterError> {
        let key: String = params.get("key", "any text")?.unwrap_or_default();
        if key.is_empty() {
            return Err(params.invalid("key", "at least one letter").into());
        }
        self.key = key.into_bytes();
        self.effort = params.get("effort", "0..=9")?.unwrap_or(0);
        Ok(())
    }
}

register_filter!(FilterId(213), "keyed", FilterTraits::LOSSLESS.with_params(Keyed::PARAMS), || {
    Box::new(Keyed::default())
});

fn keyed(key: &str) -> EncodeParams {
    let params = Params::default().with("key", key).with("effort", 7);
    EncodeParams {
        filters: FilterSlots::single(FilterId(213)),
        plugin_params: PluginParams::default().filter(5, FilterId(213), params),
        ..EncodeParams::default()
    }
}

#[test]
fn parameters_that_readers_need_are_in_the_frame() {
    let data = compressible(5 * CHUNK + 7);
    for threads in [0, 2] {
        let pool = Pool::new(threads);
        let mut sink = WriteOptions::new(keyed("sesame")).pool(&pool).chunk_size(CHUNK).in_memory().unwrap();
        let frame = block_on(async {
            sink.write_all(&data).await.unwrap();
            sink.close().await.unwrap();
            sink.into_target().into_bytes()
        });
        block_on(async {
            let reader = ReadOptions::new().pool(&pool).open(frame.clone()).await.unwrap();
            assert!(reader.bytes(0..data.len() as u64).await.unwrap() == data);
            let recorded = PluginParams::find(reader.metalayers()).unwrap();
            let expected = Params::default().with("key", "sesame");
            assert_eq!(recorded.of_filter(5, FilterId(213)), Some(&expected), "the effort is not recorded");

            // From front to back.
            let stream = FrameStream::open(futures::io::Cursor::new(frame.clone())).await.unwrap();
            let chunks: Vec<Bytes> = futures::TryStreamExt::try_collect(stream).await.unwrap();
            assert!(chunks.concat() == data);
        });

        // What is added later needs the same key.
        for (params, key) in [(keyed("sesame"), true), (keyed("saffron"), false)] {
            let options = EditOptions::new().params(params);
            match blocking::FrameEditor::with_file(frame.clone(), options) {
                Ok(mut editor) => {
                    assert!(key);
                    editor.append(&data).unwrap();
                    editor.commit().unwrap();
                    let reader = blocking::FrameReader::from_bytes(editor.frame_bytes().unwrap()).unwrap();
                    let (old, new) = (data.len() as u64, 2 * data.len() as u64);
                    assert!(reader.bytes(0..old).unwrap() == data && reader.bytes(old..new).unwrap() == data);
                }
                Err(error) => {
                    assert!(!key && Chain(&error).to_string().contains("those that the frame records"), "{error}");
                }
            }
        }

        // A copy with other parameters records those, one without the filter none.
        for (params, key) in [(keyed("saffron"), Some("saffron")), (EncodeParams::default(), None)] {
            let copied = block_on(async {
                let reader = FrameReader::open(frame.clone()).await.unwrap();
                let mut target = MemoryTarget::new();
                recompress(&reader, WriteOptions::new(params), &mut target).await.unwrap();
                let reader = FrameReader::open(target.into_bytes()).await.unwrap();
                assert!(reader.bytes(0..data.len() as u64).await.unwrap() == data);
                PluginParams::find(reader.metalayers()).unwrap()
            });
            let found = copied.of_filter(5, FilterId(213)).and_then(|params| params.get::<String>("key", "").unwrap());
            assert_eq!(found.as_deref(), key);
        }
    }
}

#[test]
fn parameters_that_a_plugin_does_not_take_are_refused() {
    let with = |slot, id, params: &str| EncodeParams {
        plugin_params: PluginParams::default().filter(slot, FilterId(id), params.parse::<Params>().unwrap()),
        ..keyed("sesame")
    };
    for (params, expected) in [
        (with(5, 213, "depth=2"), "does not take its parameters: there is no parameter \"depth\"; known: key, effort"),
        (with(4, 213, "key=2"), "slot 4"),
        (with(5, 212, "key=2"), "filter 212"),
        (with(5, 213, "key="), "parameter key is \"\", expected at least one letter"),
        (with(5, 213, "key=a,effort=many"), "parameter effort is \"many\", expected 0..=9"),
        (
            EncodeParams {
                plugin_params: PluginParams::default().codec(CodecId::BLOSCLZ, "key=2".parse::<Params>().unwrap()),
                ..EncodeParams::default()
            },
            "takes none",
        ),
    ] {
        let error = WriteOptions::new(params).in_memory().err().unwrap();
        let text = Chain(&error).to_string();
        assert!(text.contains(expected), "{text}");
    }
    // A metalayer that is not one.
    let options = WriteOptions::default().metalayer(PluginParams::METALAYER, &b"\xc1"[..]);
    let mut sink = options.in_memory().unwrap();
    block_on(async {
        sink.close().await.unwrap();
        let frame = sink.into_target().into_bytes();
        assert!(matches!(FrameReader::open(frame).await, Err(ReadError::PluginParams(_))));
    });
}
