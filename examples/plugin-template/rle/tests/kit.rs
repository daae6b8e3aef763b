//! The conformance kit: everything that is asked of a codec, on valid and on damaged data.

use oxiblosc::Registry;
use oxiblosc_conformance::CodecCheck;

#[test]
fn keeps_the_promises_of_a_codec() {
    let registry = Registry::linked().unwrap();
    // The codec has no use for the meta byte. One that has lists its values with `metas`.
    CodecCheck::new(registry, rle::RLE).ignores_meta().run().unwrap().assert_passed();
}
