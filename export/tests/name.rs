//! The short form: a codec that another crate has registered.

use oxiblosc_core::CodecId;
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};

#[derive(Clone)]
struct Never;

impl Codec for Never {
    fn compress(&mut self, _: &CodecContext<'_>, _: &[u8], _: &mut [u8]) -> Result<Option<usize>, CodecError> {
        Ok(None)
    }

    fn decompress(&mut self, _: &CodecContext<'_>, _: &[u8], _: &mut [u8]) -> Result<usize, CodecError> {
        Ok(0)
    }
}

oxiblosc_core::register_codec!(CodecId(233), "never", CodecTraits::PLAIN, || Box::new(Never));
oxiblosc_export::export_codec!("never");

#[test]
fn a_program_may_link_what_it_exports() {
    assert!(oxiblosc_core::Registry::linked().unwrap().codec_by_name("never").is_ok());
}
