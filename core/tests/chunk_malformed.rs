//! Damaged and foreign chunks: each is refused with the error that tells what is wrong and where.

use oxiblosc_core::chunk::{
    BlockMap, ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, ChunkHeader, EncodeParams, LazyChunk, MapProgress,
    StreamError,
};
use oxiblosc_core::filter::FilterError;
use oxiblosc_core::nd::Geometry;
use oxiblosc_core::pipeline::{FilterSlots, PipelineError};
use oxiblosc_core::registry::RegistryError;
use oxiblosc_core::{CodecId, FilterId, Inline, Limits, Registry};
use oxiblosc_plugins as _;

/// A chunk written field by field. As it stands: 8 bytes of LZ4 without filters, two unsplit blocks of 4 raw bytes.
#[derive(Clone)]
struct Raw {
    version: u8,
    flags: u8,
    typesize: u8,
    nbytes: i32,
    blocksize: i32,
    /// `None` for what the chunk really has.
    cbytes: Option<i32>,
    filters: [u8; 6],
    udcodec: u8,
    flags2: u8,
    blosc2_flags: u8,
    starts: Vec<i32>,
    body: Vec<u8>,
}

const EXTENDED: u8 = 0x05;
const STORED: u8 = 0x02;
const DONT_SPLIT: u8 = 0x10;
const LZ4: u8 = 1 << 5;

fn raw() -> Raw {
    Raw {
        version: 5,
        flags: EXTENDED | DONT_SPLIT | LZ4,
        typesize: 1,
        nbytes: 8,
        blocksize: 4,
        cbytes: None,
        filters: [0; 6],
        udcodec: 1,
        flags2: 0,
        blosc2_flags: 0,
        starts: vec![40, 48],
        body: [stream(b"abcd"), stream(b"efgh")].concat(),
    }
}

/// A chunk of one block.
fn block(body: Vec<u8>) -> Raw {
    Raw { nbytes: 4, starts: vec![36], body, ..raw() }
}

/// A stream that holds its bytes as they are.
fn stream(bytes: &[u8]) -> Vec<u8> {
    [&i32::try_from(bytes.len()).unwrap().to_le_bytes(), bytes].concat()
}

impl Raw {
    fn bytes(&self) -> Vec<u8> {
        let mut out = vec![self.version, 1, self.flags, self.typesize];
        for size in [self.nbytes, self.blocksize, 0] {
            out.extend(size.to_le_bytes());
        }
        if self.flags & EXTENDED == EXTENDED {
            out.extend(self.filters);
            out.extend([self.udcodec, 0, 0, 0, 0, 0, 0, 0, self.flags2, self.blosc2_flags]);
        }
        out.extend(self.starts.iter().flat_map(|start| start.to_le_bytes()));
        out.extend(&self.body);
        let cbytes = self.cbytes.unwrap_or(out.len() as i32);
        out[12..16].copy_from_slice(&cbytes.to_le_bytes());
        out
    }

    #[track_caller]
    fn error(&self) -> ChunkError {
        error(&self.bytes())
    }

    #[track_caller]
    fn stream_error(&self) -> (usize, usize, StreamError) {
        match self.error() {
            ChunkError::Stream { block, offset, source, .. } => (block, offset, source),
            other => panic!("{other:?}"),
        }
    }
}

fn decoder() -> ChunkDecoder {
    ChunkDecoder::new(Registry::linked().unwrap())
}

fn decode(chunk: &[u8]) -> Result<Vec<u8>, ChunkError> {
    decoder().decode(chunk, &ChunkContext::default(), &Inline)
}

#[track_caller]
fn error(chunk: &[u8]) -> ChunkError {
    let error = decode(chunk).expect_err("the chunk is malformed");
    // A caller that does not know the cause sees this.
    assert!(!error.to_string().is_empty());
    error
}

/// The offset and the value that an [`ChunkError::Invalid`] names.
#[track_caller]
fn invalid(error: ChunkError) -> (usize, i64) {
    match error {
        ChunkError::Invalid { offset, found, .. } => (offset, found),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_chunk_that_the_others_spoil_is_valid() {
    assert_eq!(decode(&raw().bytes()).unwrap(), b"abcdefgh");
    // Blocks in any order, sharing their bytes, and with gaps between them.
    let swapped = Raw { starts: vec![48, 40], ..raw() };
    assert_eq!(decode(&swapped.bytes()).unwrap(), b"efghabcd");
    let shared = Raw { starts: vec![48, 48], ..raw() };
    assert_eq!(decode(&shared.bytes()).unwrap(), b"efghefgh");
    let gaps = Raw {
        starts: vec![42, 52],
        body: [&[9; 2], &stream(b"abcd")[..], &[9; 2], &stream(b"efgh")].concat(),
        ..raw()
    };
    assert_eq!(decode(&gaps.bytes()).unwrap(), b"abcdefgh");
    // Bytes after the chunk are not part of it.
    assert_eq!(decode(&[raw().bytes(), vec![1, 2, 3]].concat()).unwrap(), b"abcdefgh");
}

#[test]
fn shorter_than_its_header() {
    let chunk = raw().bytes();
    for len in 0..32 {
        let expected = if len < 16 { 16 } else { 32 };
        match error(&chunk[..len]) {
            ChunkError::Truncated { offset: 0, expected: e, found, .. } => assert_eq!((e, found), (expected, len)),
            other => panic!("{len}: {other:?}"),
        }
    }
}

#[test]
fn shorter_than_it_says() {
    let chunk = raw().bytes();
    for len in 32..chunk.len() {
        match error(&chunk[..len]) {
            ChunkError::Truncated { expected: 56, found, .. } => assert_eq!(found, len),
            other => panic!("{len}: {other:?}"),
        }
    }
}

#[test]
fn sizes_out_of_bounds() {
    for (offset, raw) in [
        (4, Raw { nbytes: -1, ..raw() }),
        (4, Raw { nbytes: i32::MIN, ..raw() }),
        (8, Raw { blocksize: 0, ..raw() }),
        (8, Raw { blocksize: -4, ..raw() }),
        (8, Raw { blocksize: 536_866_817, ..raw() }),
        (12, Raw { cbytes: Some(15), ..raw() }),
        (12, Raw { cbytes: Some(31), ..raw() }),
        (12, Raw { cbytes: Some(-1), ..raw() }),
        // 39 bytes have no room for two block starts, and a chunk of 2 GiB not for those of its 1-byte blocks.
        (12, Raw { cbytes: Some(39), ..raw() }),
        (12, Raw { nbytes: i32::MAX, blocksize: 1, ..raw() }),
        (3, Raw { typesize: 0, ..raw() }),
    ] {
        assert_eq!(invalid(raw.error()).0, offset);
    }
    let more = Raw { cbytes: Some(57), ..raw() };
    assert!(matches!(more.error(), ChunkError::Truncated { expected: 57, found: 56, .. }));
}

#[test]
fn the_destination_must_fit() {
    let chunk = raw().bytes();
    for len in [0, 7, 9] {
        let error = decoder().decode_into(&chunk, &ChunkContext::default(), &mut vec![0; len], &Inline).unwrap_err();
        assert!(matches!(error, ChunkError::Destination { expected: 8, found } if found == len));
    }
}

#[test]
fn limits_come_before_memory() {
    let mut limits = Limits::default();
    limits.chunk_bytes = 7;
    let ctx = ChunkContext::default();
    let error = decoder().with_limits(limits).decode(&raw().bytes(), &ctx, &Inline).unwrap_err();
    assert!(matches!(error, ChunkError::Limit { limit: 7, found: 8, .. }));
    // 2 GiB in 32 bytes.
    let zeros = Raw { nbytes: i32::MAX, blocksize: 1, blosc2_flags: 0x10, starts: vec![], body: vec![], ..raw() };
    let error = decoder().with_limits(limits).decode(&zeros.bytes(), &ctx, &Inline).unwrap_err();
    assert!(matches!(error, ChunkError::Limit { .. }));
}

#[test]
fn stored_chunks_have_one_length() {
    let stored = Raw { flags: EXTENDED | STORED, starts: vec![], body: b"abcdefgh".to_vec(), ..raw() };
    assert_eq!(decode(&stored.bytes()).unwrap(), b"abcdefgh");
    for nbytes in [0, 7, 9, i32::MAX] {
        assert_eq!(invalid(Raw { nbytes, ..stored.clone() }.error()), (12, 40));
    }
    // The flag of a dictionary that C-Blosc2 left behind means nothing.
    assert_eq!(decode(&Raw { blosc2_flags: 1, ..stored.clone() }.bytes()).unwrap(), b"abcdefgh");
    for spoiled in [Raw { blosc2_flags: 0x10, ..stored.clone() }, Raw { flags2: 1, ..stored }] {
        assert_eq!(invalid(spoiled.error()).0, 2);
    }
}

#[test]
fn special_values() {
    let special = |kind: u8, typesize, nbytes, value: &[u8]| Raw {
        typesize,
        nbytes,
        blocksize: nbytes.max(1),
        blosc2_flags: kind << 4,
        starts: vec![],
        body: value.to_vec(),
        ..raw()
    };
    for kind in 5..8 {
        assert_eq!(invalid(special(kind, 4, 8, &[]).error()), (31, i64::from(kind)));
    }
    // Zeros need not be whole items, the others must.
    assert_eq!(decode(&special(1, 4, 7, &[]).bytes()).unwrap(), [0; 7]);
    assert_eq!(decode(&special(1, 4, 0, &[]).bytes()).unwrap(), []);
    for kind in [2, 4] {
        assert_eq!(invalid(special(kind, 4, 7, &[]).error()), (4, 7));
    }
    for typesize in [1, 2, 3, 16] {
        assert_eq!(invalid(special(2, typesize, 48, &[]).error()), (3, i64::from(typesize)));
    }
    for (nbytes, value, offset) in [(8, &b""[..], 12), (8, b"abc", 4), (2, b"abc", 12), (0, b"a", 12)] {
        assert_eq!(invalid(special(3, 1, nbytes, value).error()).0, offset, "{nbytes} {value:?}");
    }
    let cut = special(3, 1, 8, b"abcd").bytes();
    assert!(matches!(error(&cut[..35]), ChunkError::Truncated { expected: 36, found: 35, .. }));
    assert_eq!(invalid(Raw { flags2: 1, version: 6, ..special(1, 4, 8, &[]) }.error()).0, 30);
}

#[test]
fn unknown_versions_must_not_have_unknown_flags() {
    for (version, flags2, valid) in [(6, 0xfe, true), (0, 0xfe, true), (7, 0, true), (7, 2, false), (255, 0x80, false)]
    {
        let result = decode(&Raw { version, flags2, ..raw() }.bytes());
        assert_eq!(result.is_ok(), valid, "version {version}, flags {flags2}");
        if let Err(error) = result {
            assert_eq!(invalid(error), (30, i64::from(flags2)));
        }
    }
}

#[test]
fn block_starts_outside_the_blocks() {
    for start in [0, -1, i32::MIN, 16, 39, 53, 56, i32::MAX] {
        assert_eq!(invalid(Raw { starts: vec![start, 48], ..raw() }.error()), (32, i64::from(start)));
        assert_eq!(invalid(Raw { starts: vec![40, start], ..raw() }.error()), (36, i64::from(start)));
    }
}

#[test]
fn streams_that_end_early() {
    let (0, 36, StreamError::Truncated { expected: 5, found: 4, .. }) =
        block([&5i32.to_le_bytes()[..], b"abcd"].concat()).stream_error()
    else {
        panic!("a stream longer than its block")
    };
    // The word of the second of two streams.
    let split = Raw { flags: EXTENDED | LZ4, typesize: 2, ..block([stream(b"ab"), vec![2, 0]].concat()) };
    let (0, 42, StreamError::Truncated { expected: 4, found: 2, .. }) = split.stream_error() else {
        panic!("half a length word")
    };
    let (0, 36, StreamError::Truncated { expected: 1, found: 0, .. }) =
        block((-7i32).to_le_bytes().to_vec()).stream_error()
    else {
        panic!("a run without token")
    };
}

#[test]
fn runs() {
    let run = |word: i32, token: u8| block([&word.to_le_bytes()[..], &[token]].concat());
    assert_eq!(decode(&run(-7, 1).bytes()).unwrap(), [7; 4]);
    assert_eq!(decode(&run(-255, 0xff).bytes()).unwrap(), [255; 4]);
    assert_eq!(decode(&run(0, 1).bytes()).unwrap(), [0; 4]);
    for word in [-256, i32::MIN] {
        assert!(matches!(run(word, 1).stream_error(), (0, 36, StreamError::Size { found }) if found == word));
    }
    for token in [0, 2, 0xfe] {
        assert!(matches!(run(-7, token).stream_error(), (0, 36, StreamError::Token { found }) if found == token));
    }
}

#[test]
fn blocks_that_cannot_be_split() {
    // Two streams of a 5-byte block; eight of a 4-byte one.
    for (typesize, nbytes) in [(2, 5), (8, 4)] {
        let raw = Raw { flags: EXTENDED | LZ4, typesize, nbytes, blocksize: nbytes, ..block(stream(b"ab").repeat(8)) };
        let (0, 36, StreamError::Split { block_len, streams }) = raw.stream_error() else { panic!("{typesize}") };
        assert_eq!((block_len, streams), (nbytes as usize, usize::from(typesize)));
    }
}

/// Every codec, decoded into more and into fewer bytes than were encoded.
#[test]
fn codecs_that_decode_to_another_length() {
    let data: Vec<u8> = (0..4000u32).map(|i| (i * i / 64) as u8 & 0x1f).collect();
    for codec in [CodecId::BLOSCLZ, CodecId::LZ4, CodecId::LZ4HC, CodecId::ZLIB, CodecId::ZSTD] {
        let params = EncodeParams { codec, level: 9, filters: FilterSlots::NONE, ..EncodeParams::default() };
        let mut encoder = ChunkEncoder::new(&params, Registry::linked().unwrap()).unwrap();
        let chunk = encoder.encode(&data, &ChunkContext::default(), &Inline).unwrap();
        assert!(chunk.len() < data.len());
        for nbytes in [3999i32, 4001, 2000, 8000, 1_000_000] {
            let mut chunk = chunk.clone();
            chunk[4..8].copy_from_slice(&nbytes.to_le_bytes());
            chunk[8..12].copy_from_slice(&nbytes.to_le_bytes());
            match error(&chunk) {
                ChunkError::Stream { block: 0, offset: 36, source, .. } => {
                    assert!(matches!(source, StreamError::Codec { .. } | StreamError::Length { .. }), "{source:?}");
                }
                other => panic!("codec {codec}: {other:?}"),
            }
        }
    }
}

#[test]
fn codecs_without_provider_fail_when_needed() {
    let coded = [&3i32.to_le_bytes()[..], b"abc"].concat();
    for format in [5, 7] {
        let raw = Raw { flags: EXTENDED | DONT_SPLIT | format << 5, ..block(coded.clone()) };
        assert!(matches!(raw.stream_error().2, StreamError::Format { code } if code == format));
        assert!(ChunkHeader::parse(&raw.bytes()).unwrap().codec().is_err());
    }
    for udcodec in [6, 31, 150, 255] {
        let raw = Raw { flags: EXTENDED | DONT_SPLIT | 6 << 5, udcodec, ..block(coded.clone()) };
        let (0, 36, StreamError::Registry(error)) = raw.stream_error() else { panic!("{udcodec}") };
        assert!(matches!(error, RegistryError::Unknown { id, .. } if id == udcodec));
        // Raw streams, runs and stored chunks need no codec.
        for body in [stream(b"abcd"), (-7i32).to_le_bytes().into_iter().chain([1]).collect(), vec![0; 4]] {
            assert!(decode(&Raw { body, ..raw.clone() }.bytes()).is_ok());
        }
        let stored = Raw { flags: raw.flags | STORED, starts: vec![], body: b"abcd".to_vec(), ..raw };
        assert_eq!(decode(&stored.bytes()).unwrap(), b"abcd");
    }
}

#[test]
fn filters_without_provider_fail_when_needed() {
    for id in [5, 31, 150, 255] {
        let raw = Raw { filters: [1, 0, id, 0, 0, 0], ..raw() };
        let error = raw.error();
        let ChunkError::Pipeline { block: 0, source: PipelineError::Registry { slot: 2, source } } = &error else {
            panic!("{error:?}")
        };
        assert!(matches!(source, RegistryError::Unknown { id: found, .. } if *found == id));
        let text = oxiblosc_core::Chain(&error).to_string();
        assert!(text.contains("slot 2") && text.contains(&id.to_string()), "{text}");
        let stored = Raw { flags: raw.flags | STORED, starts: vec![], body: b"abcdefgh".to_vec(), ..raw.clone() };
        assert_eq!(decode(&stored.bytes()).unwrap(), b"abcdefgh");
        let zeros = Raw { blosc2_flags: 0x10, starts: vec![], body: vec![], ..raw };
        assert_eq!(decode(&zeros.bytes()).unwrap(), [0; 8]);
    }
}

#[test]
fn filters_get_no_type_size_to_divide_by_zero() {
    // bytedelta with meta 0 takes the type size of the frame, or of a lone chunk.
    for id in [FilterId::BYTEDELTA, FilterId::BYTEDELTA_OLD] {
        let chunk = Raw { filters: [id.0, 0, 0, 0, 0, 0], ..raw() }.bytes();
        let mut ctx = ChunkContext::default();
        ctx.item_size = Some(0);
        assert_eq!(decoder().decode(&chunk, &ctx, &Inline).unwrap(), decode(&chunk).unwrap());
    }
}

#[track_caller]
fn filter_error(error: ChunkError) -> FilterError {
    match error {
        ChunkError::Pipeline { block: 0, source: PipelineError::Filter { source, .. } } => source,
        other => panic!("{other:?}"),
    }
}

/// Filters that go by the shape of a block get none from a chunk by itself, or one that is not that of the block.
#[test]
fn filters_of_arrays_need_one() {
    for id in [FilterId::NDCELL, FilterId::NDMEAN] {
        let chunk = Raw { filters: [id.0, 0, 0, 0, 0, 0], typesize: 4, ..raw() }.bytes();
        let geometry = |block: u32| Geometry { shape: vec![2], chunk_shape: vec![2], block_shape: vec![block] };
        for nd in [None, Some(geometry(0)), Some(geometry(2)), Some(geometry(u32::MAX))] {
            let mut ctx = ChunkContext::default();
            ctx.nd = nd.as_ref();
            let error =
                filter_error(decoder().decode(&chunk, &ctx, &Inline).expect_err("the shape is not that of the block"));
            assert!(
                matches!(error, FilterError::Geometry { .. } | FilterError::Meta { .. }),
                "{id}, {nd:?}: {error:?}"
            );
        }
    }
}

/// Truncation loses nothing when it is undone, whatever its meta byte says.
#[test]
fn truncation_is_not_undone() {
    for id in [FilterId::TRUNC_PREC, FilterId::INT_TRUNC] {
        let chunk = Raw { filters: [id.0, 0, 0, 0, 0, 0], typesize: 3, ..raw() }.bytes();
        for meta in [0, 1, 127, 128, 255] {
            let mut chunk = chunk.clone();
            chunk[24] = meta;
            assert_eq!(decode(&chunk).unwrap(), b"abcdefgh", "{id}");
        }
    }
}

#[test]
fn dictionaries_out_of_bounds() {
    let with = |dict: &[u8]| {
        let start = 36 + dict.len() as i32;
        let body = [dict, &stream(b"abcd")].concat();
        Raw { blosc2_flags: 1, starts: vec![start], ..block(body) }
    };
    assert_eq!(decode(&with(&stream(b"dictionary")).bytes()).unwrap(), b"abcd");
    for len in [0, -1, i32::MIN, 9, 131_073, i32::MAX] {
        assert_eq!(invalid(with(&len.to_le_bytes()).error()), (36, i64::from(len)));
    }
    // A block that starts in the dictionary.
    let raw = Raw { starts: vec![40], ..with(&stream(b"dictionary")) };
    assert_eq!(invalid(raw.error()), (32, 40));
    let raw = Raw { body: vec![1, 0], starts: vec![36], ..with(&[]) };
    assert!(matches!(raw.error(), ChunkError::Truncated { offset: 36, expected: 4, found: 2, .. }));
    // Nothing that Zstandard takes for a dictionary, with streams that ask for one.
    let data: Vec<u8> = (0..60_000u32).map(|i| (i * i / 640) as u8 & 0x1f).collect();
    let params =
        EncodeParams { codec: CodecId::ZSTD, use_dict: true, block_size: Some(2000), ..EncodeParams::default() };
    let mut encoder = ChunkEncoder::new(&params, Registry::linked().unwrap()).unwrap();
    let mut chunk = encoder.encode(&data, &ChunkContext::default(), &Inline).unwrap();
    let header = ChunkHeader::parse(&chunk).unwrap();
    assert!(header.has_dict());
    chunk[32 + 4 * 30 + 4..][..200].fill(0xa5);
    let error = error(&chunk);
    assert!(matches!(error, ChunkError::Stream { block: 0, source: StreamError::Codec { .. }, .. }), "{error:?}");
}

#[test]
fn blocks_of_variable_length() {
    let raw = Raw {
        version: 6,
        flags2: 1,
        nbytes: 5,
        blocksize: 2,
        starts: vec![40, 47],
        body: [stream(b"abc"), stream(b"de")].concat(),
        ..raw()
    };
    assert_eq!(decode(&raw.bytes()).unwrap(), b"abcde");
    assert_eq!(decode(&Raw { version: 5, ..raw.clone() }.bytes()).unwrap(), b"abcde");
    for starts in [vec![40, 40], vec![47, 40], vec![40, 44], vec![43, 47]] {
        assert_eq!(invalid(Raw { starts: starts.clone(), ..raw.clone() }.error()).0, 32, "{starts:?}");
    }
    assert_eq!(invalid(Raw { starts: vec![40, 50], ..raw.clone() }.error()), (36, 50));
    assert_eq!(invalid(Raw { blocksize: 0, ..raw.clone() }.error()).0, 8);
    assert_eq!(invalid(Raw { blocksize: 6, ..raw.clone() }.error()).0, 8);
    for nbytes in [4, 6] {
        let at = invalid(Raw { nbytes, ..raw.clone() }.error()).0;
        assert_eq!(at, if nbytes < 5 { 47 } else { 4 });
    }
    for word in [0, -1, 6, i32::MIN] {
        let mut body = raw.body.clone();
        body[..4].copy_from_slice(&i32::to_le_bytes(word));
        assert_eq!(invalid(Raw { body, ..raw.clone() }.error()), (40, i64::from(word)));
    }
    // A block by itself: its word decides how long it is.
    let MapProgress::Ready(map) = BlockMap::parse(&raw.bytes()).unwrap() else { panic!("the whole chunk") };
    let ctx = ChunkContext::default();
    assert_eq!(decoder().decode_block(&map, 1, &stream(b"de"), None, &ctx).unwrap(), b"de");
    assert!(matches!(
        decoder().decode_block_into(&map, 1, &stream(b"de"), None, &ctx, &mut [0; 3]),
        Err(ChunkError::Destination { expected: 2, found: 3 })
    ));
    assert!(matches!(
        decoder().decode_bytes_into(&raw.bytes(), 0..1, &ctx, &mut [0]),
        Err(ChunkError::BlockKind { .. })
    ));
}

#[test]
fn lazy_and_instrumented_chunks_hold_no_data() {
    assert!(matches!(Raw { blosc2_flags: 8, ..raw() }.error(), ChunkError::Lazy));
    assert!(matches!(Raw { blosc2_flags: 0x80, ..raw() }.error(), ChunkError::Instrumented));
    let chunk = Raw { blosc2_flags: 0x80, ..raw() }.bytes();
    assert!(ChunkHeader::parse(&chunk).unwrap().is_instrumented());
}

#[test]
fn lazy_trailers() {
    let chunk = raw().bytes();
    let MapProgress::Ready(map) = BlockMap::parse(&chunk).unwrap() else { panic!("the whole chunk") };
    let lazy = LazyChunk::new(&map, 3, 1000).unwrap().to_bytes();
    assert_eq!(lazy.len(), 32 + 8 + 12 + 8);
    let parsed = LazyChunk::parse(&lazy).unwrap();
    assert_eq!((parsed.number(), parsed.offset(), parsed.span(1)), (3, 1000, Some(48..56)));
    for len in 0..lazy.len() {
        assert!(matches!(LazyChunk::parse(&lazy[..len]), Err(ChunkError::Truncated { .. })), "{len}");
    }
    for (at, len) in [(32, 4), (36, 4), (40, 4), (44, 8), (52, 4), (56, 4)] {
        let mut lazy = lazy.clone();
        lazy[at..at + len].fill(0xff);
        assert_eq!(invalid(LazyChunk::parse(&lazy).unwrap_err()).0, at, "negative number at {at}");
    }
    let mut long = lazy.clone();
    long[52] = 17;
    assert_eq!(invalid(LazyChunk::parse(&long).unwrap_err()), (52, 17));
    assert_eq!(invalid(LazyChunk::parse(&chunk).unwrap_err()).0, 31);
}

#[test]
fn items_outside_the_chunk() {
    let chunk = Raw { typesize: 4, blocksize: 4, ..raw() }.bytes();
    let ctx = ChunkContext::default();
    assert_eq!(decoder().decode_items(&chunk, 1..2, &ctx).unwrap(), b"efgh");
    assert_eq!(decoder().decode_items(&chunk, 2..2, &ctx).unwrap(), b"");
    #[expect(clippy::reversed_empty_ranges, reason = "the ranges are wrong on purpose")]
    let wrong = [0..3, 2..3, 3..3, 2..1, 0..usize::MAX, usize::MAX - 1..usize::MAX];
    for items in wrong {
        assert!(matches!(
            decoder().decode_items(&chunk, items.clone(), &ctx),
            Err(ChunkError::OutOfRange { what: "items", available: 2, .. })
        ));
    }
}

#[test]
fn blosc1_headers() {
    // 16 bytes of header: the slots come from the flags, and nothing after byte 15 is looked at.
    let raw = Raw { version: 2, flags: DONT_SPLIT | LZ4 | 0x01, starts: vec![24, 32], ..raw() };
    assert_eq!(decode(&raw.bytes()).unwrap(), b"abcdefgh");
    let header = ChunkHeader::parse(&raw.bytes()).unwrap();
    assert_eq!((header.header_len(), header.filters), (16, FilterSlots::SHUFFLE));
    for start in [16, 23, 37] {
        assert_eq!(invalid(Raw { starts: vec![start, 32], ..raw.clone() }.error()), (16, i64::from(start)));
    }
    let stored = Raw { flags: raw.flags | STORED, starts: vec![], body: b"abcdefgh".to_vec(), ..raw };
    assert_eq!(decode(&stored.bytes()).unwrap(), b"abcdefgh");
    assert_eq!(invalid(Raw { nbytes: 7, ..stored }.error()), (12, 24));
}

/// The alpha of Blosc2 had five slots; what its header has in the place of the sixth is no filter.
#[test]
fn the_alpha_had_five_filters() {
    let raw = Raw { version: 3, filters: [0, 0, 0, 0, 0, 99], ..raw() };
    assert_eq!(decode(&raw.bytes()).unwrap(), b"abcdefgh");
    assert!(matches!(Raw { version: 4, ..raw }.error(), ChunkError::Pipeline { .. }));
}
