//! The registry as a plugin author and a user of plugins meet it.

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::registry::{CodecInfo, FilterInfo, PluginKind, RegistryError};
use oxiblosc_core::{CodecId, FilterId, IdRange, Registry};

#[derive(Clone)]
struct Copy;

impl Filter for Copy {
    fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        dst.copy_from_slice(src);
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.forward(ctx, src, dst)
    }
}

impl Codec for Copy {
    fn compress(&mut self, _: &CodecContext<'_>, _: &[u8], _: &mut [u8]) -> Result<Option<usize>, CodecError> {
        Ok(None)
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        dst.copy_from_slice(src);
        Ok(dst.len())
    }
}

fn filter(id: u8, name: &'static str, provider: &'static str, overrides: bool) -> FilterInfo {
    FilterInfo { id: FilterId(id), name, provider, traits: FilterTraits::LOSSLESS, overrides }
}

fn codec(id: u8, name: &'static str, provider: &'static str, overrides: bool) -> CodecInfo {
    CodecInfo { id: CodecId(id), name, provider, traits: CodecTraits::PLAIN, overrides }
}

#[test]
fn every_id_range_can_be_registered_and_looked_up() {
    let mut registry = Registry::empty();
    for (id, name) in [(7, "blosc"), (32, "first registered"), (159, "last registered"), (160, "first"), (255, "last")]
    {
        registry.add_filter(filter(id, name, "a", false), Box::new(Copy)).unwrap();
        registry.add_codec(codec(id, name, "a", false), Box::new(Copy)).unwrap();
        assert_eq!(registry.filter(FilterId(id)).unwrap().info().name, name);
        assert_eq!(registry.codec_by_name(name).unwrap().info().id, CodecId(id));
    }
    // 0 is a codec (BloscLZ) but an empty filter slot.
    registry.add_codec(codec(0, "zero", "a", false), Box::new(Copy)).unwrap();
    assert!(matches!(
        registry.add_filter(filter(0, "zero", "a", false), Box::new(Copy)),
        Err(RegistryError::ReservedId { kind: PluginKind::Filter, id: 0, .. })
    ));
}

#[test]
fn two_providers_of_one_id_are_both_named() {
    let mut registry = Registry::empty();
    registry.add_codec(codec(170, "one", "crate-one", false), Box::new(Copy)).unwrap();
    let error = registry.add_codec(codec(170, "two", "crate-two", false), Box::new(Copy)).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("crate-one") && message.contains("crate-two") && message.contains("170"), "{message}");
    assert_eq!(registry.codec(CodecId(170)).unwrap().info().name, "one", "a refused entry changes nothing");
}

#[test]
fn two_ids_under_one_name_clash() {
    let mut registry = Registry::empty();
    registry.add_filter(filter(170, "same", "crate-one", false), Box::new(Copy)).unwrap();
    let error = registry.add_filter(filter(171, "same", "crate-two", false), Box::new(Copy)).unwrap_err();
    assert!(matches!(error, RegistryError::Clash { id: 171, first_id: 170, .. }), "{error}");
}

#[test]
fn an_override_takes_over_once() {
    let mut registry = Registry::empty();
    registry.add_codec(codec(1, "lz4", "builtin", false), Box::new(Copy)).unwrap();
    registry.add_codec(codec(1, "lz4", "faster", true), Box::new(Copy)).unwrap();
    assert_eq!(registry.codec(CodecId(1)).unwrap().info().provider, "faster");
    let error = registry.add_codec(codec(1, "lz4", "fastest", true), Box::new(Copy)).unwrap_err();
    assert!(error.to_string().contains("faster"), "{error}");
}

#[test]
fn an_empty_registry_says_how_to_fix_it() {
    let message = Registry::empty().codec(CodecId::ZSTD).err().unwrap().to_string();
    assert!(message.contains("use oxiblosc_plugins as _;"), "{message}");
}

#[test]
fn an_unknown_id_names_its_range() {
    let mut registry = Registry::empty();
    registry.add_codec(codec(1, "lz4", "builtin", false), Box::new(Copy)).unwrap();
    for (id, range) in [(9, IdRange::Blosc), (99, IdRange::Registered), (200, IdRange::User)] {
        let error = registry.codec(CodecId(id)).err().unwrap();
        assert_eq!(error, RegistryError::Unknown { kind: PluginKind::Codec, id, range });
        assert!(error.to_string().contains(&id.to_string()));
    }
    let message = registry.codec_by_name("lz5").err().unwrap().to_string();
    assert!(message.contains("lz5") && message.contains("lz4"), "{message}");
}

#[test]
fn clones_share_entries_and_change_apart() {
    let mut one = Registry::empty();
    one.add_codec(codec(1, "lz4", "builtin", false), Box::new(Copy)).unwrap();
    let mut two = one.clone();
    two.add_codec(codec(2, "lz4hc", "builtin", false), Box::new(Copy)).unwrap();
    assert!(one.codec(CodecId(2)).is_err());
    assert!(two.codec(CodecId(1)).is_ok());
}
