//! The registry as a plugin author and a user of plugins meet it.

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::plugin::{PluginKind, Provider};
use oxiblosc_core::registry::{Claim, CodecInfo, FilterInfo, RegistryError};
use oxiblosc_core::{CodecId, FilterId, IdRange, Registry, register_codec, register_filter};

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

static ONE: Provider = Provider { name: "crate-one", version: "1.2.3" };
static TWO: Provider = Provider { name: "crate-two", version: "0.4.5" };

fn filter(id: u8, name: &'static str, provider: &'static Provider) -> FilterInfo {
    FilterInfo::new(FilterId(id), name, FilterTraits::LOSSLESS, provider)
}

fn codec(id: u8, name: &'static str, provider: &'static Provider) -> CodecInfo {
    CodecInfo::new(CodecId(id), name, CodecTraits::PLAIN, provider)
}

#[test]
fn an_id_needs_the_claim_of_its_range() {
    let claims = [Claim::User, Claim::Assigned, Claim::Override, Claim::Builtin];
    for (id, allowed) in [
        // Nobody provides 7, so that there is nothing to override.
        (7, [false, false, false, true]),
        (31, [false, false, false, true]),
        (32, [false, true, true, true]),
        (159, [false, true, true, true]),
        (160, [true, false, true, true]),
        (255, [true, false, true, true]),
    ] {
        for (claim, allowed) in claims.into_iter().zip(allowed) {
            let mut registry = Registry::empty();
            let added = registry.add_filter(filter(id, "name", &ONE).claiming(claim), Box::new(Copy));
            let also = registry.add_codec(codec(id, "name", &ONE).claiming(claim), Box::new(Copy));
            assert_eq!((added.is_ok(), also.is_ok()), (allowed, allowed), "{claim:?} {id}");
            if allowed {
                assert_eq!(registry.filter(FilterId(id)).unwrap().info().name, "name");
                assert_eq!(registry.codec_by_name("name").unwrap().info().id, CodecId(id));
            } else {
                assert!(matches!(also, Err(RegistryError::ReservedId { plugin, .. }) if plugin.id == id));
                assert!(registry.is_empty());
            }
        }
    }
    // 0 is a codec (BloscLZ) but an empty filter slot.
    let mut registry = Registry::empty();
    registry.add_codec(codec(0, "zero", &ONE).claiming(Claim::Builtin), Box::new(Copy)).unwrap();
    let error = registry.add_filter(filter(0, "zero", &ONE).claiming(Claim::Builtin), Box::new(Copy)).unwrap_err();
    assert!(error.to_string().contains("empty slot"), "{error}");
}

#[test]
fn a_name_is_one_that_can_be_selected() {
    for (name, valid) in [
        ("", false),
        ("none", false),
        ("None", false),
        ("7", false),
        ("7z", false),
        ("two words", false),
        ("a,b", false),
        ("a=b", false),
        ("a:b", false),
        ("é", false),
        ("x", true),
        ("my-codec_2", true),
    ] {
        let added = Registry::empty().add_codec(codec(200, name, &ONE), Box::new(Copy));
        assert_eq!(added.is_ok(), valid, "{name:?}");
        assert!(valid || matches!(added, Err(RegistryError::Name { .. })));
    }
}

#[test]
fn two_providers_of_one_id_are_both_named() {
    let mut registry = Registry::empty();
    registry.add_codec(codec(170, "one", &ONE), Box::new(Copy)).unwrap();
    let message = registry.add_codec(codec(170, "two", &TWO), Box::new(Copy)).unwrap_err().to_string();
    for part in ["crate-one 1.2.3", "crate-two 0.4.5", "170", "\"one\"", "\"two\""] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(registry.codec(CodecId(170)).unwrap().info().name, "one", "a refused entry changes nothing");
}

#[test]
fn two_ids_under_one_name_clash() {
    let mut registry = Registry::empty();
    registry.add_filter(filter(170, "same", &ONE), Box::new(Copy)).unwrap();
    let error = registry.add_filter(filter(171, "same", &TWO), Box::new(Copy)).unwrap_err();
    let RegistryError::Clash(conflict) = error else { panic!("{error}") };
    assert_eq!((conflict.first.id, conflict.second.id), (170, 171));
}

#[test]
fn an_override_takes_over_once() {
    let mut registry = Registry::empty();
    registry.add_codec(codec(1, "lz4", &ONE).claiming(Claim::Builtin), Box::new(Copy)).unwrap();
    registry.add_codec(codec(1, "lz4", &TWO).claiming(Claim::Override), Box::new(Copy)).unwrap();
    assert_eq!(registry.codec(CodecId(1)).unwrap().info().provider, &TWO);
    let error = registry.add_codec(codec(1, "lz4", &ONE).claiming(Claim::Override), Box::new(Copy)).unwrap_err();
    assert!(error.to_string().contains("crate-two"), "{error}");
}

#[test]
fn an_empty_registry_says_how_to_fix_it() {
    let message = Registry::empty().codec(CodecId::ZSTD).err().unwrap().to_string();
    assert!(message.contains("use oxiblosc_plugins as _;"), "{message}");
}

#[test]
fn an_unknown_id_says_what_to_write() {
    let mut registry = Registry::empty();
    registry.add_codec(codec(161, "mine", &ONE), Box::new(Copy)).unwrap();
    for (id, range, advice) in [
        (9, IdRange::Blosc, "later version of Blosc"),
        (99, IdRange::Registered, "use that_crate as _;"),
        (200, IdRange::User, "crate-one 1.2.3"),
    ] {
        let error = registry.codec(CodecId(id)).err().unwrap();
        let expected = RegistryError::Unknown { kind: PluginKind::Codec, id, range, linked: ONE.to_string().into() };
        assert_eq!(error, expected);
        let message = error.to_string();
        assert!(message.contains(&id.to_string()) && message.contains(advice), "{message}");
    }
    let message = registry.codec_by_name("lz5").err().unwrap().to_string();
    assert!(message.contains("lz5") && message.contains("mine"), "{message}");
}

#[test]
fn clones_share_entries_and_change_apart() {
    let mut one = Registry::empty();
    one.add_codec(codec(161, "a", &ONE), Box::new(Copy)).unwrap();
    let mut two = one.clone();
    two.add_codec(codec(162, "b", &ONE), Box::new(Copy)).unwrap();
    assert!(one.codec(CodecId(162)).is_err());
    assert!(two.codec(CodecId(161)).is_ok());
}

// What this program registers, well and badly.
register_codec!(CodecId(210), "clash_a", CodecTraits::PLAIN, || Box::new(Copy));
register_codec!(CodecId(210), "clash_b", CodecTraits::PLAIN, || Box::new(Copy));
register_codec!(CodecId(211), "mended", CodecTraits::PLAIN, || Box::new(Copy));
register_codec!(CodecId(211), "mended_too", CodecTraits::PLAIN, || Box::new(Copy));
register_codec!(override CodecId(211), "mended", CodecTraits::PLAIN, || Box::new(Copy));
register_codec!(CodecId(212), "same", CodecTraits::PLAIN, || Box::new(Copy));
register_codec!(CodecId(213), "same", CodecTraits::PLAIN, || Box::new(Copy));
register_codec!(CodecId(5), "zstd2", CodecTraits::PLAIN, || Box::new(Copy));
register_codec!(assigned CodecId(100), "assigned", CodecTraits::PLAIN, || Box::new(Copy));
register_codec!(CodecId(214), "none", CodecTraits::PLAIN, || Box::new(Copy));
register_codec!(CodecId(215), "wrapped", CodecTraits::PLAIN, || {
    Registry::builtin().unwrap().codec(CodecId::ZSTD).unwrap().instance()
});
register_filter!(FilterId(210), "panics", FilterTraits::LOSSLESS, || panic!("cannot be made"));
register_filter!(FilterId(211), "asks_for_itself", FilterTraits::LOSSLESS, || {
    Registry::linked().unwrap().filter(FilterId(210)).unwrap().instance()
});
register_filter!(FilterId(212), "good", FilterTraits::LOSSLESS, || Box::new(Copy));

#[test]
fn a_linked_plugin_that_cannot_be_used_costs_nothing_but_itself() {
    oxiblosc_plugins::link();
    let linked = Registry::linked().unwrap();
    let codec = |id| linked.codec(CodecId(id)).map(|entry| entry.info().name);
    let filter = |id| linked.filter(FilterId(id)).map(|entry| entry.info().name);
    assert_eq!((codec(1), codec(5), codec(100)), (Ok("lz4"), Ok("zstd"), Ok("assigned")));
    assert_eq!((codec(211), codec(212), codec(213), codec(215)), (Ok("mended"), Ok("same"), Ok("same"), Ok("wrapped")));
    assert_eq!((filter(1), filter(212)), (Ok("shuffle"), Ok("good")));

    // Neither side of a clash is used, by id or by name.
    for error in [
        linked.codec(CodecId(210)).err(),
        linked.codec_by_name("clash_a").err(),
        linked.codec_by_name("clash_b").err(),
        linked.codec_by_name("same").err(),
    ] {
        assert!(matches!(error, Some(RegistryError::Clash(_))), "{error:?}");
    }
    assert!(matches!(linked.codec_by_name("zstd2"), Err(RegistryError::ReservedId { .. })));
    assert!(matches!(linked.codec(CodecId(214)), Err(RegistryError::Name { .. })));
    for (id, text) in [(210, "cannot be made"), (211, "BeingCollected")] {
        let Err(RegistryError::Constructor { plugin, panic }) = linked.filter(FilterId(id)) else { panic!("{id}") };
        assert!(plugin.id == id && panic.message().contains(text), "{panic}");
    }
    assert_eq!(linked.problems().count(), 6, "{:#?}", linked.problems().collect::<Vec<_>>());

    // A program can put in order what its crates have not.
    let mut registry = linked.clone();
    registry.add_codec(CodecInfo::new(CodecId(210), "chosen", CodecTraits::PLAIN, &ONE), Box::new(Copy)).unwrap();
    assert_eq!(registry.codec(CodecId(210)).unwrap().info().name, "chosen");
}

#[test]
fn the_builtin_plugins_are_blosc_s_own() {
    oxiblosc_plugins::link();
    let builtin = Registry::builtin().unwrap();
    assert!(builtin.codec(CodecId::ZSTD).is_ok() && builtin.filter(FilterId::SHUFFLE).is_ok());
    assert!(builtin.codec(CodecId(212)).is_err() && builtin.filter(FilterId(212)).is_err());
    assert_eq!(builtin.problems().count(), 0);
}
