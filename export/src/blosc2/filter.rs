//! A filter, as C-Blosc2 calls it.

use std::ffi::c_int;

use oxiblosc_core::filter::{BlockContext, Filter, FilterError};

use super::layout::{CParams, DParams, MAX_FILTERS};
use super::params::{Encoding, Params, decoding, slots};
use super::{CallError, answer, recorded};
use crate::buffer::buffers;
use crate::idle;
use crate::named::{AnyError, Named, filter};

type Apply = fn(&mut dyn Filter, &BlockContext<'_>, &[u8], &mut [u8]) -> Result<(), FilterError>;

/// `blosc2_filter_forward_cb`: returns 0 or an error code.
///
/// # Safety
/// What C-Blosc2 3 passes to a filter: pointers are null or lead to what their type and the length say.
pub unsafe fn forward<T: Named>(
    input: *const u8,
    output: *mut u8,
    len: i32,
    meta: u8,
    params: *const CParams,
) -> c_int {
    answer(T::NAME, || {
        // SAFETY: the source of the caller or a buffer of the thread, and another buffer, each of a block.
        let (src, dst) = unsafe { buffers((input, len), (output, len))? };
        // SAFETY: the parameters that C-Blosc2 has made for this call.
        let encoding = unsafe { Encoding::read(params)? };
        let about = (&encoding.params, &encoding.slots);
        apply::<T>(about, meta, src, dst, |filter, ctx, src, dst| filter.forward(ctx, src, dst))
    })
}

/// `blosc2_filter_backward_cb`: returns 0 or an error code.
///
/// # Safety
/// What C-Blosc2 3 passes to a filter: pointers are null or lead to what their type and the length say.
pub unsafe fn backward<T: Named>(
    input: *const u8,
    output: *mut u8,
    len: i32,
    meta: u8,
    params: *const DParams,
) -> c_int {
    answer(T::NAME, || {
        // SAFETY: two buffers of the thread, or one and that of the caller, each of a block.
        let (src, dst) = unsafe { buffers((input, len), (output, len))? };
        // SAFETY: the parameters that C-Blosc2 has made for this call.
        let (found, slots) = unsafe { (decoding(params)?, slots(params)) };
        apply::<T>((&found, &slots), meta, src, dst, |filter, ctx, src, dst| filter.backward(ctx, src, dst))
    })
}

fn apply<T: Named>(
    (params, slots): (&Params, &[u8; MAX_FILTERS]),
    meta: u8,
    src: &[u8],
    dst: &mut [u8],
    apply: Apply,
) -> Result<c_int, AnyError> {
    let entry = filter::<T>()?;
    let traits = entry.info().traits;
    if traits.needs_reference {
        return Err(CallError::Reference.into());
    }
    let mut ctx = params.block(traits.positional, traits.needs_array)?;
    ctx.meta = meta;
    let given = recorded::of_filter(params.recorded.as_deref(), (entry.info().id, slots), traits.params)?;
    let make = || {
        let mut filter = entry.instance();
        if !given.is_empty() {
            filter.configure(&given)?;
        }
        Ok(filter)
    };
    idle::with(&idle::FILTER, &given, make, |filter| Ok(apply(filter, &ctx, src, dst)?))?;
    Ok(0)
}
