//! The conformance kit exchanges frames with C-Blosc2.

use oxiblosc_conformance::{CodecCheck, FilterCheck, Promise, Report};
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::nd::Geometry;
use oxiblosc_core::registry::{Claim, FilterInfo};
use oxiblosc_core::{CodecId, FilterId, Registry, provider};

use crate::environment;

#[track_caller]
fn assert_exchanged(report: &Report) {
    report.assert_passed();
    assert!(report.to_string().contains(Promise::CBlosc2.name()), "{report}");
}

#[test]
fn plugins_that_both_have_are_exchanged() {
    let Ok(python) = environment::python() else { return };
    let registry = Registry::linked().unwrap();
    assert_exchanged(&CodecCheck::new(registry, CodecId::LZ4).python(python).run().unwrap());
    assert_exchanged(&FilterCheck::new(registry, FilterId::SHUFFLE).python(python).run().unwrap());
    let geometry = Geometry { shape: vec![70, 90], chunk_shape: vec![40, 60], block_shape: vec![20, 30] };
    let check = CodecCheck::new(registry, CodecId::NDLZ).metas(&[4, 8]).geometry(geometry, 1);
    assert_exchanged(&check.python(python).run().unwrap());
}

/// Bit shuffle under the id of shuffle: correct in itself.
#[derive(Clone)]
struct Other(Box<dyn Filter>);

impl Filter for Other {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.0.forward(ctx, src, dst)
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.0.backward(ctx, src, dst)
    }
}

#[test]
fn a_plugin_that_c_blosc2_has_another_idea_of_is_found() {
    let Ok(python) = environment::python() else { return };
    let mut registry = Registry::linked().unwrap().clone();
    let bitshuffle = registry.filter(FilterId::BITSHUFFLE).unwrap().instance();
    let info = FilterInfo::new(FilterId::SHUFFLE, "shuffle", FilterTraits::LOSSLESS, provider!());
    registry.add_filter(info.claiming(Claim::Override), Box::new(Other(bitshuffle))).unwrap();
    let check = FilterCheck::new(&registry, FilterId::SHUFFLE);
    check.run().unwrap().assert_passed();
    let report = check.python(python).run().unwrap();
    assert!(report.broken().eq([Promise::CBlosc2.name()]), "{report}");
}
