//! Every built-in filter and codec keeps the promises that plugins of others are held to.

use oxiblosc_conformance::{CodecCheck, FilterCheck};
use oxiblosc_core::{FilterId, Registry};
// The facade links the plugins.
use oxiblosc as _;

#[test]
fn filters_keep_their_promises() {
    let registry = Registry::linked().unwrap();
    for entry in registry.filters() {
        let check = FilterCheck::new(registry, entry.info().id);
        let check = match entry.info().id {
            FilterId::TRUNC_PREC => check.typesizes(&[4, 8]).metas(&[10, 23, 0xfc]),
            FilterId::INT_TRUNC => check.typesizes(&[1, 2, 4, 8]).metas(&[3, 0xfe]),
            FilterId::BYTEDELTA => check.metas(&[0, 1, 4, 7]),
            // These need an array or have no forward direction; their own tests cover them.
            FilterId::NDCELL | FilterId::NDMEAN | FilterId::BYTEDELTA_OLD => continue,
            _ => check,
        };
        check.run().unwrap().assert_passed();
    }
}

#[test]
fn codecs_keep_their_promises() {
    let registry = Registry::linked().unwrap();
    // Those above 31 need the shape of an array; their own tests cover them.
    for entry in registry.codecs().filter(|e| e.info().traits.encode && e.info().id.0 < 32) {
        CodecCheck::new(registry, entry.info().id).run().unwrap().assert_passed();
    }
}
