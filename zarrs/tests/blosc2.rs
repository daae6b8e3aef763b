//! The codec `oxiblosc`.

use std::borrow::Cow;
use std::sync::Arc;

use oxiblosc_core::FilterId;
use oxiblosc_core::chunk::ChunkHeader;
use oxiblosc_zarrs::{Blosc2Codec, Blosc2Configuration};
use zarrs::array::{Array, ArrayBuilder, data_type};
use zarrs::storage::store::MemoryStore;
use zarrs_codec::{BytesRepresentation, BytesToBytesCodecTraits, CodecOptions};

fn codec(json: serde_json::Value) -> Result<Blosc2Codec, String> {
    let configuration: Blosc2Configuration = serde_json::from_value(json).map_err(|e| e.to_string())?;
    Blosc2Codec::new(configuration).map_err(|e| e.to_string())
}

#[test]
fn codecs_and_filters() {
    let items: Vec<u8> = (0..100_003_u32).flat_map(|i| (i * 3).to_le_bytes()).collect();
    for name in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] {
        for filters in [&[][..], &["shuffle"], &["delta", "bitshuffle"], &["shuffle", "bytedelta"], &["nofilter"]] {
            for (clevel, typesize, blocksize) in [(5, 4, 0), (0, 4, 0), (1, 8, 4096), (9, 1, 0)] {
                let codec = codec(serde_json::json!({
                    "codec": name, "clevel": clevel, "filters": filters, "typesize": typesize, "blocksize": blocksize,
                }))
                .expect("a codec");
                // Lengths that are no multiple of the type size are chunks of bytes.
                for len in [0, 8, 4088, 4096, 4104, 400_008] {
                    let data = &items[..len.min(items.len() / 8 * 8)];
                    let chunk = codec.encode(Cow::Borrowed(data), &CodecOptions::default()).expect("it encodes");
                    let expected = BytesRepresentation::FixedSize(data.len() as u64);
                    assert!(chunk.len() as u64 <= codec.encoded_representation(&expected).size().expect("a bound"));
                    let found = codec.decode(chunk, &expected, &CodecOptions::default()).expect("it decodes");
                    assert!(*found == *data, "{name} {filters:?} {clevel} {typesize} {blocksize}, {len} bytes");
                }
            }
        }
    }
}

#[test]
fn what_no_codec_can_be_made_of() {
    let refused = |json| codec(json).expect_err("it is no configuration");
    assert!(refused(serde_json::json!({"codec": "lz77"})).contains("lz77"));
    assert!(refused(serde_json::json!({"filters": ["sort"]})).contains("sort"));
    assert!(refused(serde_json::json!({"filters": vec!["shuffle"; 7]})).contains("7 filters, at most 6"));
    assert!(refused(serde_json::json!({"clevel": 10})).contains("expected 0 to 9"));
    assert!(refused(serde_json::json!({"level": 5})).contains("level"));
    refused(serde_json::json!({"typesize": 0}));
}

/// Nothing but the chunk says how far apart the streams of its items are.
#[test]
fn bytedelta_states_its_channels() {
    let codec = codec(serde_json::json!({"filters": ["shuffle", "bytedelta"], "typesize": 4})).expect("a codec");
    let data: Vec<u8> = (0..100_000_u32).flat_map(|i| (i * 3).to_le_bytes()).collect();
    let chunk = codec.encode(Cow::Borrowed(&data), &CodecOptions::default()).expect("it encodes");
    let slots = ChunkHeader::parse(&chunk).expect("a header").filters.0;
    let found: Vec<_> = slots.iter().filter(|slot| slot.id == FilterId::BYTEDELTA).map(|slot| slot.meta).collect();
    assert_eq!(found, [4]);
}

/// A configuration may be left out, as Zarr allows.
#[test]
fn metadata_without_a_configuration() {
    let store = Arc::new(MemoryStore::new());
    let codec = Blosc2Codec::new(Blosc2Configuration::default()).expect("a codec");
    let mut builder = ArrayBuilder::new(vec![300_000], vec![100_000], data_type::int64(), 0_i64);
    let array = builder.bytes_to_bytes_codecs(vec![Arc::new(codec)]).build(store.clone(), "/a").expect("an array");
    let values: Vec<i64> = (0..300_000).map(|i| i * 7).collect();
    array.store_array_subset(&array.subset_all(), &values).expect("it is written");
    let mut metadata = serde_json::to_value(array.metadata()).expect("JSON");
    let codecs = metadata["codecs"].as_array_mut().expect("codecs");
    *codecs.last_mut().expect("ours") = serde_json::json!({"name": "oxiblosc"});
    let metadata = serde_json::from_value(metadata).expect("metadata");
    let array = Array::new_with_metadata(store, "/a", metadata).expect("an array");
    let found: Vec<i64> = array.retrieve_array_subset(&array.subset_all()).expect("it is read");
    assert!(found == values);
}
