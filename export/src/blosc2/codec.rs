//! A codec, as C-Blosc2 calls it.

use std::ffi::{c_int, c_void};

use oxiblosc_core::codec::{Codec, CodecContext, CodecError};
use oxiblosc_core::plugin_params::Params;
use oxiblosc_core::registry::CodecEntry;

use super::layout::{CParams, DParams};
use super::params::{Encoding, Header, decoding};
use super::{answer, recorded};
use crate::buffer::buffers;
use crate::idle;
use crate::named::{AnyError, Named, codec};

/// `blosc2_codec_encoder_cb`: returns the bytes written, 0 when the result does not fit, or an error code.
///
/// # Safety
/// What C-Blosc2 3 passes to an encoder: pointers are null or lead to what their type and length say.
pub unsafe fn encode<T: Named>(
    (input, input_len): (*const u8, i32),
    (output, output_len): (*mut u8, i32),
    meta: u8,
    params: *const CParams,
) -> c_int {
    answer(T::NAME, || {
        // SAFETY: C-Blosc2 compresses from one buffer of the thread into another.
        let (src, dst) = unsafe { buffers((input, input_len), (output, output_len))? };
        // SAFETY: the parameters that C-Blosc2 has made for this call.
        let encoding = unsafe { Encoding::read(params)? };
        let entry = codec::<T>()?;
        let info = entry.info();
        if !info.traits.encode {
            return Err(CodecError::DecodeOnly.into());
        }
        let block = encoding.params.block(info.traits.positional, info.traits.needs_array)?;
        let mut ctx = CodecContext::new(block, encoding.level);
        (ctx.meta, ctx.version, ctx.filter) = (meta, info.traits.version, encoding.last_filter);
        let room = dst.len();
        let given = recorded::of_codec(encoding.params.recorded.as_deref(), info.id, info.traits.params)?;
        match idle::with(
            &idle::CODEC,
            &given,
            || configured(entry, &given),
            |codec| Ok(codec.compress(&ctx, src, dst)?),
        )? {
            None => Ok(0),
            Some(found) if !(1..=room).contains(&found) => Err(CodecError::Written { found, room }.into()),
            // It fits into the buffer, whose length is an `i32`.
            Some(found) => Ok(found as c_int),
        }
    })
}

/// `blosc2_codec_decoder_cb`: returns the bytes written, or an error code.
///
/// # Safety
/// What C-Blosc2 3 passes to a decoder: pointers are null or lead to what their type and length say.
pub unsafe fn decode<T: Named>(
    (input, input_len): (*const u8, i32),
    (output, output_len): (*mut u8, i32),
    meta: u8,
    params: *const DParams,
    chunk: *const c_void,
) -> c_int {
    answer(T::NAME, || {
        // SAFETY: C-Blosc2 decompresses from the chunk into a buffer of the thread, or that of the caller.
        let (src, dst) = unsafe { buffers((input, input_len), (output, output_len))? };
        // SAFETY: the parameters that C-Blosc2 has made for this call.
        let params = unsafe { decoding(params)? };
        // SAFETY: the chunk that is being decoded.
        let header = unsafe { Header::read(chunk)? };
        let entry = codec::<T>()?;
        let info = entry.info();
        let known = info.traits.version;
        if header.version > known {
            return Err(CodecError::Version { found: header.version, known }.into());
        }
        let block = params.block(info.traits.positional, info.traits.needs_array)?;
        let mut ctx = CodecContext::decoding(block);
        (ctx.meta, ctx.version, ctx.filter) = (meta, header.version, header.last_filter);
        let expected = dst.len();
        let given = recorded::of_codec(params.recorded.as_deref(), info.id, info.traits.params)?;
        match idle::with(
            &idle::CODEC,
            &given,
            || configured(entry, &given),
            |codec| Ok(codec.decompress(&ctx, src, dst)?),
        )? {
            found if found == expected => Ok(output_len),
            found => Err(CodecError::Length { expected, found }.into()),
        }
    })
}

/// An instance with these parameters.
fn configured(entry: &CodecEntry, given: &Params) -> Result<Box<dyn Codec>, AnyError> {
    let mut codec = entry.instance();
    if !given.is_empty() {
        codec.configure(given)?;
    }
    Ok(codec)
}
