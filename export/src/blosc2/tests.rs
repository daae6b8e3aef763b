//! Calls as C-Blosc2 makes them, and calls that it should not make.

use std::ffi::{CString, c_int, c_void};
use std::{mem, ptr};

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::nd::{ArrayMeta, Geometry};
use oxiblosc_core::{CodecId, FilterId, register_codec, register_filter};

use super::layout::{CParams, DParams, HEADER_LEN, MAX_FILTERS, MAX_METALAYERS, Metalayer, Schunk};
use super::{CODEC_SUPPORT, FAILURE, INVALID_PARAM, codec, filter};
use crate::named::Named;

/// A codec and a filter that write down what they are told; the codec says that it has written as much as its meta.
#[derive(Clone)]
struct Listener;

impl Codec for Listener {
    fn compress(&mut self, ctx: &CodecContext<'_>, _: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        note(&format!("{:?} {} {} {}", ctx.level, ctx.version, ctx.meta, ctx.filter.0), &ctx.block, dst);
        Ok((ctx.meta != 0).then_some(ctx.meta.into()))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, _: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        note(&format!("{:?} {} {} {}", ctx.level, ctx.version, ctx.meta, ctx.filter.0), &ctx.block, dst);
        Ok(ctx.meta.into())
    }
}

impl Filter for Listener {
    fn forward(&mut self, ctx: &BlockContext<'_>, _: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        assert!(ctx.meta != 13, "thirteen");
        note(&ctx.meta.to_string(), ctx, dst);
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.forward(ctx, src, dst)
    }
}

fn note(first: &str, block: &BlockContext<'_>, dst: &mut [u8]) {
    assert!(dst.iter().all(|&byte| byte == 0));
    let BlockContext { typesize, item_size, offset, .. } = block;
    let shapes = block.nd.map(|nd| (nd.chunk_shape, nd.block_shape));
    let text = format!("{first} | {typesize} {item_size:?} {offset:?} {shapes:?}");
    dst[..text.len()].copy_from_slice(text.as_bytes());
}

macro_rules! listeners {
    ($($exported:ident $id:literal $name:literal $codec:expr, $filter:expr;)*) => {$(
        struct $exported;

        impl Named for $exported {
            const NAME: &'static str = $name;
        }

        register_codec!(CodecId($id), $name, $codec, || Box::new(Listener));
        register_filter!(FilterId($id), $name, $filter, || Box::new(Listener));
    )*};
}

listeners! {
    Plain 240 "plain" CodecTraits::PLAIN.with_version(2), FilterTraits::LOSSLESS;
    Positional 241 "positional" CodecTraits::PLAIN.positional(), FilterTraits::LOSSLESS.positional();
    ForArrays 242 "for_arrays" CodecTraits::PLAIN.for_arrays(), FilterTraits::LOSSLESS.for_arrays();
    Referring 243 "referring" CodecTraits::PLAIN.decode_only(), FilterTraits::LOSSLESS.with_reference();
}

struct Nowhere;

impl Named for Nowhere {
    const NAME: &'static str = "nowhere";
}

fn cparams(typesize: i32, schunk: *const Schunk) -> CParams {
    CParams {
        compcode: 240,
        compcode_meta: 0,
        clevel: 7,
        use_dict: 0,
        typesize,
        nthreads: 1,
        blocksize: 0,
        splitmode: 1,
        schunk,
        filters: [1, 35, 0, 0, 0, 0],
        filters_meta: [0; MAX_FILTERS],
    }
}

fn dparams(typesize: i32, schunk: *const Schunk) -> DParams {
    DParams { nthreads: 1, schunk, postfilter: ptr::null(), postparams: ptr::null(), typesize }
}

/// What a call returned, and what the plugin has written down.
fn called(call: impl FnOnce((*const u8, i32), (*mut u8, i32)) -> c_int) -> (c_int, String) {
    let (input, mut output) = ([1; 200], [0xAA; 200]);
    let code = call((input.as_ptr(), 200), (output.as_mut_ptr(), 200));
    let text = output.iter().take_while(|&&byte| byte != 0 && byte != 0xAA).copied().collect();
    (code, String::from_utf8(text).expect("text"))
}

fn encode<T: Named>(meta: u8, params: &CParams) -> (c_int, String) {
    // SAFETY: two arrays, and parameters whose super-chunk is null or made below.
    called(|input, output| unsafe { codec::encode::<T>(input, output, meta, params) })
}

fn decode<T: Named>(meta: u8, version: u8, params: &DParams) -> (c_int, String) {
    let mut chunk = [0; HEADER_LEN];
    (chunk[1], chunk[16]) = (version, 1);
    let chunk: *const c_void = chunk.as_ptr().cast();
    // SAFETY: as in `encode`, and the header of a chunk.
    called(|input, output| unsafe { codec::decode::<T>(input, output, meta, params, chunk) })
}

fn forward<T: Named>(meta: u8, params: &CParams) -> (c_int, String) {
    // SAFETY: as in `encode`.
    called(|(input, len), (output, _)| unsafe { filter::forward::<T>(input, output, len, meta, params) })
}

fn backward<T: Named>(meta: u8, params: &DParams) -> (c_int, String) {
    // SAFETY: as in `encode`.
    called(|(input, len), (output, _)| unsafe { filter::backward::<T>(input, output, len, meta, params) })
}

#[test]
fn a_plugin_is_told_what_c_says() {
    let (cparams, dparams) = (cparams(4, ptr::null()), dparams(4, ptr::null()));
    assert_eq!(encode::<Plain>(9, &cparams), (9, "Some(7) 2 9 35 | 4 Some(4) None None".into()));
    assert_eq!(encode::<Plain>(0, &cparams).0, 0);
    assert_eq!(decode::<Plain>(200, 1, &dparams), (200, "None 1 200 1 | 4 Some(4) None None".into()));
    assert_eq!(forward::<Plain>(5, &cparams), (0, "5 | 4 Some(4) None None".into()));
    assert_eq!(backward::<Plain>(5, &dparams), (0, "5 | 4 Some(4) None None".into()));
}

#[test]
fn the_super_chunk_has_the_item_size_and_the_shapes() {
    let geometry = Geometry { shape: vec![9, 40], chunk_shape: vec![6, 20], block_shape: vec![3, 10] };
    let content = ArrayMeta::new(geometry, "|S300").to_bytes().expect("shapes");
    let names = [CString::from(c"other"), CString::from(c"b2nd")];
    let layers = names.each_ref().map(|name| Metalayer {
        name: name.as_ptr(),
        content: content.as_ptr(),
        content_len: content.len() as i32,
    });
    // SAFETY: numbers and pointers, for which zeros are values.
    let mut schunk: Schunk = unsafe { mem::zeroed() };
    schunk.typesize = 300;
    schunk.metalayers = [ptr::null(); MAX_METALAYERS];
    (schunk.metalayers[0], schunk.metalayers[1]) = (&raw const layers[0], &raw const layers[1]);
    for (count, shapes) in [(2, "Some(([6, 20], [3, 10]))"), (1, "None"), (0, "None")] {
        schunk.nmetalayers = count;
        let expected = format!("3 | 1 Some(300) None {shapes}");
        for _ in 0..2 {
            assert_eq!(forward::<Plain>(3, &cparams(1, &schunk)), (0, expected.clone()));
            assert_eq!(backward::<Plain>(3, &dparams(1, &schunk)), (0, expected.clone()));
        }
        let code = forward::<ForArrays>(3, &cparams(1, &schunk)).0;
        assert_eq!(code, if count == 2 { 0 } else { CODEC_SUPPORT });
    }
    assert_eq!(forward::<Plain>(3, &cparams(1, ptr::null())).1, "3 | 1 None None None");
}

#[test]
fn a_plugin_that_needs_more_than_c_says_fails() {
    let (cparams, dparams) = (cparams(4, ptr::null()), dparams(4, ptr::null()));
    assert_eq!(encode::<Positional>(9, &cparams).0, CODEC_SUPPORT);
    assert_eq!(decode::<Positional>(200, 1, &dparams).0, CODEC_SUPPORT);
    assert_eq!(encode::<ForArrays>(9, &cparams).0, CODEC_SUPPORT);
    assert_eq!(decode::<ForArrays>(200, 1, &dparams).0, CODEC_SUPPORT);
    assert_eq!(forward::<Positional>(9, &cparams).0, CODEC_SUPPORT);
    assert_eq!(backward::<Referring>(9, &dparams).0, CODEC_SUPPORT);
}

#[test]
fn impossible_calls_are_errors() {
    let (good, dgood) = (cparams(4, ptr::null()), dparams(4, ptr::null()));
    for typesize in [0, -1, 256, i32::MIN] {
        assert_eq!(encode::<Plain>(9, &cparams(typesize, ptr::null())).0, INVALID_PARAM);
        assert_eq!(backward::<Plain>(9, &dparams(typesize, ptr::null())).0, INVALID_PARAM);
    }
    // SAFETY: null is refused, and so are lengths below 0.
    let codes = unsafe {
        [
            called(|_, output| codec::encode::<Plain>((ptr::null(), 200), output, 9, &good)).0,
            called(|input, _| codec::encode::<Plain>(input, (ptr::null_mut(), 200), 9, &good)).0,
            called(|(input, _), output| codec::encode::<Plain>((input, -200), output, 9, &good)).0,
            called(|input, output| codec::encode::<Plain>(input, output, 9, ptr::null())).0,
            called(|input, output| codec::decode::<Plain>(input, output, 200, &dgood, ptr::null())).0,
            called(|input, output| codec::decode::<Plain>(input, output, 200, ptr::null(), ptr::null())).0,
            called(|_, (output, _)| filter::forward::<Plain>(ptr::null(), output, 200, 9, &good)).0,
            called(|(input, _), (output, _)| filter::forward::<Plain>(input, output, -1, 9, &good)).0,
            called(|(input, _), (output, _)| filter::backward::<Plain>(input, output, 200, 9, ptr::null())).0,
        ]
    };
    assert_eq!(codes, [INVALID_PARAM; 9]);
}

#[test]
fn what_a_plugin_does_wrong_is_an_error() {
    let (cparams, dparams) = (cparams(4, ptr::null()), dparams(4, ptr::null()));
    // It claims to have written more than there is room for, or less than the block.
    assert_eq!(encode::<Plain>(201, &cparams).0, FAILURE);
    assert_eq!(decode::<Plain>(199, 1, &dparams).0, FAILURE);
    assert_eq!(decode::<Plain>(200, 3, &dparams).0, FAILURE, "a later version of the format");
    assert_eq!(encode::<Referring>(9, &cparams).0, FAILURE, "it only reads");
    assert_eq!(forward::<Plain>(13, &cparams).0, FAILURE, "a panic");
    assert_eq!(forward::<Plain>(12, &cparams).0, 0);
    assert_eq!(encode::<Nowhere>(9, &cparams).0, FAILURE, "nobody has registered it");
    assert_eq!(backward::<Nowhere>(9, &dparams).0, FAILURE);
}
