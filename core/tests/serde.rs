//! Parameters survive serde, in formats for people and in others.
#![cfg(feature = "serde")]

use oxiblosc_core::chunk::{ChunkFormat, EncodeParams, SplitMode};
use oxiblosc_core::pipeline::{FilterSlot, FilterSlots};
use oxiblosc_core::plugin_params::{Params, PluginParams};
use oxiblosc_core::{CodecId, FilterId, Limits};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// The value comes back from JSON, and from CBOR, which is not for people.
fn survives<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let json = serde_json::to_string(value).expect("JSON");
    assert_eq!(serde_json::from_str::<T>(&json).expect(&json), *value);
    let mut cbor = Vec::new();
    ciborium::into_writer(value, &mut cbor).expect("CBOR");
    assert_eq!(ciborium::from_reader::<T, _>(&cbor[..]).expect("CBOR"), *value);
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("JSON")
}

#[test]
fn names() {
    assert_eq!(json(&CodecId::ZSTD), r#""zstd""#);
    assert_eq!(json(&CodecId(200)), "200");
    assert_eq!(json(&FilterSlots::SHUFFLE), r#"["shuffle"]"#);
    assert_eq!(json(&FilterSlots::NONE), "[]");
    let from_the_first = FilterSlots::from_list(&[(FilterId::TRUNC_PREC, 10), (FilterId(201), 255)]).expect("two");
    let expected = r#"["trunc_prec=10","201=255","none","none","none","none"]"#;
    assert_eq!(json(&from_the_first), expected);
    assert_eq!(json(&SplitMode::ForwardCompat), r#""forward""#);
    assert_eq!(json(&ChunkFormat::Blosc1), r#""blosc1""#);
    let params = EncodeParams {
        codec: CodecId(200),
        plugin_params: PluginParams::default().codec(CodecId(200), Params::default().with("delta", 2)),
        ..EncodeParams::default()
    };
    let expected = concat!(
        r#"{"codec":200,"codec_meta":0,"level":5,"typesize":1,"filters":["shuffle"],"block_size":null,"#,
        r#""split":"forward","use_dict":false,"format":"blosc2","#,
        r#""plugin_params":{"codec":[200,{"delta":"2"}],"filters":[]}}"#
    );
    assert_eq!(json(&params), expected);
}

/// Every name is that of the registry, and every name of the registry that Blosc has is known.
#[test]
fn names_of_the_registry() {
    oxiblosc_plugins::link();
    let registry = oxiblosc_core::Registry::builtin().expect("a registry");
    for entry in registry.codecs() {
        assert_eq!(json(&entry.info().id), format!("{:?}", entry.info().name));
    }
    for entry in registry.filters() {
        assert_eq!(json(&entry.info().id), format!("{:?}", entry.info().name));
    }
}

#[test]
fn what_people_write() {
    let params: EncodeParams = serde_json::from_str(r#"{"codec": "lz4", "typesize": 4}"#).expect("the rest is default");
    assert_eq!(params, EncodeParams { codec: CodecId::LZ4, typesize: 4, ..EncodeParams::default() });
    let slots: FilterSlots = serde_json::from_str(r#"["delta", "1"]"#).expect("names and ids");
    assert_eq!(slots.0[4..].iter().map(|slot| slot.id).collect::<Vec<_>>(), [FilterId::DELTA, FilterId::SHUFFLE]);
    let limits: Limits = serde_json::from_str(r#"{"chunk_bytes": 1000}"#).expect("the rest is default");
    let mut expected = Limits::default();
    expected.chunk_bytes = 1000;
    assert_eq!(limits, expected);

    let error = |text: &str| serde_json::from_str::<EncodeParams>(text).expect_err(text).to_string();
    assert!(error(r#"{"codec": "lz5"}"#).contains("expected the name of a codec or an id"), "a name nobody has");
    assert!(error(r#"{"codec": 256}"#).contains("expected the name of a codec or an id"), "too large");
    assert!(error(r#"{"kodek": 1}"#).contains("unknown field `kodek`"), "a misspelt key");
    assert!(error(r#"{"filters": ["none","none","none","none","none","none","none"]}"#).contains("at most six"));
    assert!(error(r#"{"filters": ["trunc_prec=256"]}"#).contains("byte of metadata"));
    assert!(error(r#"{"plugin_params": {"filters": [[6, "shuffle", {"a": "b"}]]}}"#).contains("a slot, 0 to 5"));
}

fn params() -> impl Strategy<Value = Params> {
    let pairs = prop::collection::btree_map("[a-z_]{1,8}", "\\PC{0,12}", 0..4);
    pairs.prop_map(|pairs| pairs.iter().fold(Params::default(), |params, (name, value)| params.with(name, value)))
}

prop_compose! {
    fn encode_params()(
        codec: u8, codec_meta: u8, level: u8, typesize: u32, slots: [(u8, u8); 6], block_size: Option<u32>,
        split in prop::sample::select(vec![
            SplitMode::Always, SplitMode::Never, SplitMode::Auto, SplitMode::ForwardCompat,
        ]),
        format in prop::sample::select(vec![ChunkFormat::Blosc2, ChunkFormat::Blosc1, ChunkFormat::Early]),
        use_dict: bool, of_codec in params(), of_filter in params(), slot in 0u8..6,
    ) -> EncodeParams {
        EncodeParams {
            codec: CodecId(codec), codec_meta, level, typesize: typesize as usize,
            filters: FilterSlots(slots.map(|(id, meta)| FilterSlot { id: FilterId(id), meta })),
            block_size: block_size.map(|size| size as usize), split, use_dict, format,
            plugin_params: PluginParams::default().codec(CodecId(codec), of_codec).filter(slot, FilterId(9), of_filter),
        }
    }
}

proptest! {
    #[test]
    fn everything_survives(params in encode_params()) {
        survives(&params);
        survives(&params.codec);
        survives(&params.filters);
        survives(&params.filters.0[0]);
    }

    #[test]
    fn limits_survive(chunk_bytes: u32, chunks: u64, result_bytes: u64) {
        let mut limits = Limits::FORMAT;
        (limits.chunk_bytes, limits.chunks, limits.result_bytes) = (chunk_bytes as usize, chunks, result_bytes);
        survives(&limits);
    }
}
