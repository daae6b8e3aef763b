//! The codec `blosc` against that of zarrs, which is C-Blosc.

use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;

use oxiblosc_zarrs::{BloscCodec, BloscConfiguration, Compressor, ConfigurationError, Shuffle};
use zarrs::array::codec::{BloscCodec as TheirCodec, BloscCodecConfiguration};
use zarrs::array::{Array, ArrayBuilder, data_type};
use zarrs::storage::store::MemoryStore;
use zarrs_codec::{BytesRepresentation, BytesToBytesCodecTraits, CodecMetadataOptions, CodecOptions, CodecTraits};
use zarrs_plugin::ZarrVersion;

const COMPRESSORS: [(&str, Compressor); 5] = [
    ("blosclz", Compressor::BloscLz),
    ("lz4", Compressor::Lz4),
    ("lz4hc", Compressor::Lz4Hc),
    ("zlib", Compressor::Zlib),
    ("zstd", Compressor::Zstd),
];

const SHUFFLES: [(&str, Shuffle); 3] =
    [("noshuffle", Shuffle::NoShuffle), ("shuffle", Shuffle::Shuffle), ("bitshuffle", Shuffle::BitShuffle)];

/// Both codecs, of one JSON.
fn codecs(cname: &str, shuffle: &str, clevel: u8, typesize: usize, blocksize: usize) -> (Arc<BloscCodec>, TheirCodec) {
    let json = serde_json::json!({
        "cname": cname, "clevel": clevel, "shuffle": shuffle, "typesize": typesize, "blocksize": blocksize,
    });
    let configuration: BloscConfiguration = serde_json::from_value(json.clone()).expect("a configuration");
    let theirs: BloscCodecConfiguration = serde_json::from_value(json.clone()).expect("a configuration of zarrs");
    let ours = BloscCodec::new(configuration).expect("a codec");
    let stored = ours.configuration(ZarrVersion::V3, &CodecMetadataOptions::default()).expect("a configuration");
    assert_eq!(serde_json::to_value(stored).expect("JSON"), json);
    (Arc::new(ours), TheirCodec::new_with_configuration(&theirs).expect("a codec of zarrs"))
}

/// Numbers that grow, with a little noise; bytes beyond the last whole item too.
fn data(len: usize) -> Vec<u8> {
    let noise = |i: u32| i.wrapping_mul(2_654_435_761) >> 29;
    (0..len.div_ceil(4) as u32).flat_map(|i| (i / 3 + noise(i)).to_le_bytes()).take(len).collect()
}

fn encode(codec: &dyn BytesToBytesCodecTraits, data: &[u8]) -> Vec<u8> {
    codec.encode(Cow::Borrowed(data), &CodecOptions::default()).expect("it encodes").into_owned()
}

fn decode(codec: &dyn BytesToBytesCodecTraits, chunk: &[u8], len: usize) -> Result<Vec<u8>, String> {
    let expected = BytesRepresentation::FixedSize(len as u64);
    let decoded = codec.decode(Cow::Borrowed(chunk), &expected, &CodecOptions::default());
    decoded.map(Cow::into_owned).map_err(|e| e.to_string())
}

#[test]
fn each_decodes_what_the_other_encodes() {
    for (cname, _) in COMPRESSORS {
        for (shuffle, _) in SHUFFLES {
            for (clevel, typesize, blocksize) in [(5, 4, 0), (1, 8, 4096), (9, 2, 0), (0, 4, 0), (5, 1, 10_000)] {
                let (ours, theirs) = codecs(cname, shuffle, clevel, typesize, blocksize);
                for len in [0, 1, 3, 127, 4095, 4096, 4097, 300_001, 1 << 20] {
                    let what = || format!("{cname} {shuffle} {clevel} {typesize} {blocksize}, {len} bytes");
                    let data = data(len);
                    let chunk = encode(&*ours, &data);
                    let most = ours.encoded_representation(&BytesRepresentation::FixedSize(len as u64)).size();
                    assert!(chunk.len() as u64 <= most.expect("a bound"), "{}", what());
                    assert!(decode(&*ours, &chunk, len).expect("it decodes") == data, "{}", what());
                    let found = decode(&theirs, &chunk, len);
                    // An empty chunk is an error of zarrs even if C-Blosc has made it.
                    assert!(len == 0 || found.as_ref() == Ok(&data), "{}: {:?}", what(), found.err());
                    let chunk = encode(&theirs, &data);
                    assert!(decode(&*ours, &chunk, len).expect("it decodes") == data, "{}", what());
                }
            }
        }
    }
}

/// Noise makes chunks as large as they get.
#[test]
fn noise_stays_within_the_bound() {
    let mut state = 1_u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let data: Vec<u8> = (0..1_000_003).map(|_| byte()).collect();
    for (cname, _) in COMPRESSORS {
        for blocksize in [0, 256] {
            let (ours, theirs) = codecs(cname, "shuffle", 5, 8, blocksize);
            let chunk = encode(&*ours, &data);
            let most = ours.encoded_representation(&BytesRepresentation::FixedSize(data.len() as u64)).size();
            assert!(chunk.len() as u64 <= most.expect("a bound"), "{cname} {blocksize}: {}", chunk.len());
            assert!(decode(&theirs, &chunk, data.len()).expect("C-Blosc decodes") == data);
        }
    }
}

/// C-Blosc has it, and this engine reads it.
#[test]
fn snappy_is_read() {
    let json = r#"{"cname": "snappy", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}"#;
    let theirs: BloscCodecConfiguration = serde_json::from_str(json).expect("a configuration of zarrs");
    let theirs = TheirCodec::new_with_configuration(&theirs).expect("a codec of zarrs");
    let ours = BloscCodec::new(serde_json::from_str(json).expect("a configuration")).expect("a codec");
    let data = data(300_001);
    assert!(decode(&ours, &encode(&theirs, &data), data.len()).expect("it decodes") == data);
    let error = ours.encode(Cow::Borrowed(&data), &CodecOptions::default()).expect_err("nobody writes it").to_string();
    assert!(error.contains("snappy"), "{error}");
}

#[test]
fn damaged_chunks_are_errors() {
    let (ours, theirs) = codecs("zstd", "shuffle", 5, 4, 0);
    let data = data(300_000);
    let chunk = encode(&theirs, &data);
    for len in [0, 1, 15, 16, 40, chunk.len() / 2, chunk.len() - 1] {
        decode(&*ours, &chunk[..len], data.len()).expect_err("it is cut off");
    }
    let said = decode(&*ours, &chunk, data.len() + 4).expect_err("it holds less");
    assert!(said.contains("300000") && said.contains("300004"), "{said}");
    // What a header claims does not decide what is allocated.
    let mut large = chunk.clone();
    large[4..8].copy_from_slice(&0x7FFF_0000_u32.to_le_bytes());
    decode(&*ours, &large, data.len()).expect_err("it claims more");
    for at in 0..chunk.len().min(2000) {
        let mut damaged = chunk.clone();
        damaged[at] ^= 0xFF;
        // An error or other bytes; the length is right whatever happens.
        if let Ok(found) = decode(&*ours, &damaged, data.len()) {
            assert_eq!(found.len(), data.len());
        }
    }
}

#[test]
fn what_no_codec_can_be_made_of() {
    let made = |json: &str| BloscCodec::new(serde_json::from_str(json).expect("JSON"));
    let error = made(r#"{"cname": "lz4", "clevel": 10}"#).expect_err("a level").to_string();
    assert_eq!(error, "clevel is 10, expected 0 to 9");
    let error = made(r#"{"cname": "lz4", "clevel": 5, "shuffle": "shuffle"}"#).expect_err("no type size");
    assert!(matches!(error, ConfigurationError::Field { field: "typesize", .. }), "{error}");
    for wrong in [r#"{"cname": "zip", "clevel": 5}"#, r#"{"cname": "lz4"}"#, r#"{"cname": "lz4", "clevel": 5, "x": 1}"#]
    {
        serde_json::from_str::<BloscConfiguration>(wrong).expect_err(wrong);
    }
}

/// Items and chunks of an array that chunks do not divide.
const SHAPE: [u64; 2] = [1001, 700];

fn array(store: &Arc<MemoryStore>, codec: Arc<dyn BytesToBytesCodecTraits>) -> Array<MemoryStore> {
    let chunks = [NonZeroU64::new(300), NonZeroU64::new(256)].map(Option::unwrap).to_vec();
    let mut builder = ArrayBuilder::new(SHAPE.to_vec(), chunks, data_type::float32(), 0.0_f32);
    builder.bytes_to_bytes_codecs(vec![codec]);
    builder.build(Arc::clone(store), "/a").expect("an array")
}

/// Whoever has written an array, it is opened with this engine, and zarrs reads what it writes.
#[test]
fn arrays_go_both_ways() {
    let values: Vec<f32> = (0..SHAPE[0] * SHAPE[1]).map(|i| (i % 5003) as f32 * 0.5).collect();
    let handle = oxiblosc_zarrs::register();
    for (cname, _) in COMPRESSORS {
        let (ours, theirs) = codecs(cname, "bitshuffle", 5, 4, 0);
        let theirs: Arc<dyn BytesToBytesCodecTraits> = Arc::new(theirs);
        let ours: Arc<dyn BytesToBytesCodecTraits> = ours;
        for (writer, reader) in [(&ours, &theirs), (&theirs, &ours)] {
            let store = Arc::new(MemoryStore::new());
            let written = array(&store, Arc::clone(writer));
            written.store_metadata().expect("it is stored");
            written.store_array_subset(&written.subset_all(), &values).expect("it is written");
            let opened = Array::open(Arc::clone(&store), "/a").expect("it opens");
            let codecs = opened.codecs();
            assert!(codecs.bytes_to_bytes_codecs()[0].as_any().is::<BloscCodec>(), "{codecs:?}");
            for array in [opened, array(&store, Arc::clone(reader))] {
                let found: Vec<f32> = array.retrieve_array_subset(&array.subset_all()).expect("it is read");
                assert!(found == values, "{cname}");
                let part: Vec<f32> = array.retrieve_array_subset(&[299..302, 255..258]).expect("it is read");
                let expected: Vec<f32> =
                    (299..302_usize).flat_map(|y| &values[y * 700 + 255..y * 700 + 258]).copied().collect();
                assert_eq!(part, expected, "{cname}");
            }
        }
    }
    assert!(zarrs_codec::unregister_codec_v3(&handle));
}
