//! The side of the library: what the functions of its [`Interface`](crate::interface::Interface) do.
//!
//! An instance crosses as a pointer to a box, because a box of a trait object is two pointers wide.

use std::ffi::c_void;

use oxiblosc_core::Chain;
use oxiblosc_core::codec::Codec;
use oxiblosc_core::filter::Filter;
use oxiblosc_core::plugin::{Panicked, guarded};
use oxiblosc_core::plugin_params::{ParamInfo, Params};

use crate::interface::{Context, Declared, Description, Given, Message, Slice, SliceMut, Status};
use crate::named::{AnyError, Named, codec, filter};

/// Runs a call of the other side; panics stay on this one.
///
/// # Safety
/// `message` is that of the caller, which nobody else uses.
unsafe fn answer(message: *mut Message, call: impl FnOnce() -> Result<Status, AnyError>) -> Status {
    let say = |text: &str| {
        // SAFETY: by the contract.
        unsafe { (*message).set(text) };
    };
    // What an error says is made by the plugin, too.
    let run = || Ok(call().map_err(|error| Chain(&*error).to_string()));
    match guarded::<_, Panicked>(run) {
        Ok(Ok(status)) => status,
        Ok(Err(text)) => {
            say(&text);
            Status::FAILED
        }
        Err(panic) => {
            say(panic.message());
            Status::PANICKED
        }
    }
}

/// # Safety
/// `out` and `message` are places of the caller.
pub(crate) unsafe extern "C" fn describe_codec<T: Named>(out: *mut Description, message: *mut Message) -> Status {
    let call = || {
        let description = Description::of_codec(codec::<T>()?.info());
        // SAFETY: a place of the caller.
        unsafe { out.write(description) };
        Ok(Status::DONE)
    };
    // SAFETY: by the contract.
    unsafe { answer(message, call) }
}

/// # Safety
/// `out` and `message` are places of the caller.
pub(crate) unsafe extern "C" fn describe_filter<T: Named>(out: *mut Description, message: *mut Message) -> Status {
    let call = || {
        let description = Description::of_filter(filter::<T>()?.info());
        // SAFETY: a place of the caller.
        unsafe { out.write(description) };
        Ok(Status::DONE)
    };
    // SAFETY: by the contract.
    unsafe { answer(message, call) }
}

/// Passes what `make` makes to the other side.
///
/// # Safety
/// `out` and `message` are places of the caller.
unsafe fn hand_over<P>(
    out: *mut *mut c_void,
    message: *mut Message,
    make: impl FnOnce() -> Result<P, AnyError>,
) -> Status {
    let call = || {
        let instance = Box::into_raw(Box::new(make()?));
        // SAFETY: a place of the caller.
        unsafe { out.write(instance.cast()) };
        Ok(Status::DONE)
    };
    // SAFETY: by the contract.
    unsafe { answer(message, call) }
}

/// # Safety
/// `out` and `message` are places of the caller.
pub(crate) unsafe extern "C" fn make_codec<T: Named>(
    _: *const c_void,
    out: *mut *mut c_void,
    message: *mut Message,
) -> Status {
    // SAFETY: by the contract.
    unsafe { hand_over(out, message, || Ok(codec::<T>()?.instance())) }
}

/// # Safety
/// `out` and `message` are places of the caller.
pub(crate) unsafe extern "C" fn make_filter<T: Named>(
    _: *const c_void,
    out: *mut *mut c_void,
    message: *mut Message,
) -> Status {
    // SAFETY: by the contract.
    unsafe { hand_over(out, message, || Ok(filter::<T>()?.instance())) }
}

/// # Safety
/// `from` is a codec of this library, `out` and `message` are places of the caller.
pub(crate) unsafe extern "C" fn clone_codec(
    from: *const c_void,
    out: *mut *mut c_void,
    message: *mut Message,
) -> Status {
    // SAFETY: made by `hand_over`, and not freed yet.
    let codec = unsafe { &*from.cast::<Box<dyn Codec>>() };
    // SAFETY: by the contract.
    unsafe { hand_over(out, message, || Ok(codec.clone())) }
}

/// # Safety
/// `from` is a filter of this library, `out` and `message` are places of the caller.
pub(crate) unsafe extern "C" fn clone_filter(
    from: *const c_void,
    out: *mut *mut c_void,
    message: *mut Message,
) -> Status {
    // SAFETY: made by `hand_over`, and not freed yet.
    let filter = unsafe { &*from.cast::<Box<dyn Filter>>() };
    // SAFETY: by the contract.
    unsafe { hand_over(out, message, || Ok(filter.clone())) }
}

/// Drops an instance. A panic goes nowhere: there is nobody to tell.
///
/// # Safety
/// `instance` was made by `hand_over` as a box of `P`, and is not used again.
unsafe fn free<P>(instance: *mut c_void) {
    // SAFETY: by the contract.
    let instance = unsafe { Box::from_raw(instance.cast::<P>()) };
    let _ = guarded::<(), Panicked>(|| {
        drop(instance);
        Ok(())
    });
}

/// # Safety
/// `instance` is a codec of this library, and not used again.
pub(crate) unsafe extern "C" fn free_codec(instance: *mut c_void) {
    // SAFETY: by the contract.
    unsafe { free::<Box<dyn Codec>>(instance) }
}

/// # Safety
/// `instance` is a filter of this library, and not used again.
pub(crate) unsafe extern "C" fn free_filter(instance: *mut c_void) {
    // SAFETY: by the contract.
    unsafe { free::<Box<dyn Filter>>(instance) }
}

/// Calls an instance of type `P` with buffers.
///
/// # Safety
/// `instance` is a `P` of this library, which nobody else uses; all other pointers lead to what the caller has put
/// there for this call.
unsafe fn apply<P>(
    instance: *mut c_void,
    (ctx, src, dst): (*const Context, Slice<u8>, SliceMut),
    (written, message): (*mut usize, *mut Message),
    call: impl FnOnce(&mut P, &Context, &[u8], &mut [u8]) -> Result<Option<usize>, AnyError>,
) -> Status {
    // SAFETY: made by `hand_over`, not freed yet, and the caller has the only reference to it.
    let plugin = unsafe { &mut *instance.cast::<P>() };
    // SAFETY: by the contract.
    let (ctx, src, dst) = unsafe { (&*ctx, src.get(), dst.get()) };
    let call = || {
        let found = call(plugin, ctx, src, dst)?;
        // SAFETY: a place of the caller.
        unsafe { written.write(found.unwrap_or(0)) };
        Ok(if found.is_some() { Status::DONE } else { Status::NONE })
    };
    // SAFETY: by the contract.
    unsafe { answer(message, call) }
}

macro_rules! applies {
    ($name:ident, $kind:ty, $context:ident, |$plugin:ident, $ctx:ident, $src:ident, $dst:ident| $call:expr) => {
        /// # Safety
        /// As [`apply`], for an instance of the kind.
        pub(crate) unsafe extern "C" fn $name(
            instance: *mut c_void,
            ctx: *const Context,
            src: Slice<u8>,
            dst: SliceMut,
            written: *mut usize,
            message: *mut Message,
        ) -> Status {
            let call = |$plugin: &mut Box<$kind>, ctx: &Context, $src: &[u8], $dst: &mut [u8]| {
                // SAFETY: the caller has made it for this call.
                let $ctx = &unsafe { ctx.$context() };
                Ok($call)
            };
            // SAFETY: by the contract.
            unsafe { apply(instance, (ctx, src, dst), (written, message), call) }
        }
    };
}

applies!(compress, dyn Codec, stream, |codec, ctx, src, dst| codec.compress(ctx, src, dst)?);
applies!(decompress, dyn Codec, stream, |codec, ctx, src, dst| Some(codec.decompress(ctx, src, dst)?));
applies!(forward, dyn Filter, block, |filter, ctx, src, dst| filter
    .forward(ctx, src, dst)
    .map(|()| Some(dst.len()))?);
applies!(backward, dyn Filter, block, |filter, ctx, src, dst| filter
    .backward(ctx, src, dst)
    .map(|()| Some(dst.len()))?);

/// # Safety
/// `instance` is a codec of this library, which nobody else uses; all other pointers lead to what the caller has put
/// there for this call.
pub(crate) unsafe extern "C" fn train(
    instance: *mut c_void,
    samples: Slice<u8>,
    sample_len: usize,
    sample_count: usize,
    dst: SliceMut,
    written: *mut usize,
    message: *mut Message,
) -> Status {
    // SAFETY: made by `hand_over`, not freed yet, and the caller has the only reference to it.
    let codec = unsafe { &mut *instance.cast::<Box<dyn Codec>>() };
    // SAFETY: by the contract.
    let (samples, dst) = unsafe { (samples.get(), dst.get()) };
    let call = || {
        let Some(dict) = codec.train_dict(samples, sample_len, sample_count, dst.len())? else {
            return Ok(Status::NONE);
        };
        let room = dst.len();
        let place = dst.get_mut(..dict.len());
        place
            .ok_or_else(|| format!("the dictionary has {} bytes, expected up to {room}", dict.len()))?
            .copy_from_slice(&dict);
        // SAFETY: a place of the caller.
        unsafe { written.write(dict.len()) };
        Ok(Status::DONE)
    };
    // SAFETY: by the contract.
    unsafe { answer(message, call) }
}

/// # Safety
/// `out` and `message` are places of the caller.
unsafe fn declare(
    number: usize,
    out: *mut Declared,
    message: *mut Message,
    params: impl FnOnce() -> Result<&'static [ParamInfo], AnyError>,
) -> Status {
    let call = || {
        let Some(info) = params()?.get(number) else { return Ok(Status::NONE) };
        // SAFETY: a place of the caller.
        unsafe { out.write(Declared::new(info)) };
        Ok(Status::DONE)
    };
    // SAFETY: by the contract.
    unsafe { answer(message, call) }
}

/// # Safety
/// `out` and `message` are places of the caller.
pub(crate) unsafe extern "C" fn declare_codec<T: Named>(
    number: usize,
    out: *mut Declared,
    message: *mut Message,
) -> Status {
    // SAFETY: by the contract.
    unsafe { declare(number, out, message, || Ok(codec::<T>()?.info().traits.params)) }
}

/// # Safety
/// `out` and `message` are places of the caller.
pub(crate) unsafe extern "C" fn declare_filter<T: Named>(
    number: usize,
    out: *mut Declared,
    message: *mut Message,
) -> Status {
    // SAFETY: by the contract.
    unsafe { declare(number, out, message, || Ok(filter::<T>()?.info().traits.params)) }
}

/// Calls an instance of type `P` with parameters.
///
/// # Safety
/// `instance` is a `P` of this library, which nobody else uses; all other pointers lead to what the caller has put
/// there for this call.
unsafe fn configure<P>(
    instance: *mut c_void,
    given: Slice<Given>,
    message: *mut Message,
    call: impl FnOnce(&mut P, &Params) -> Result<(), AnyError>,
) -> Status {
    // SAFETY: made by `hand_over`, not freed yet, and the caller has the only reference to it.
    let plugin = unsafe { &mut *instance.cast::<P>() };
    let call = || {
        // SAFETY: by the contract.
        let params = unsafe { Given::params(given.get()) }.ok_or("a parameter is not UTF-8")?;
        call(plugin, &params)?;
        Ok(Status::DONE)
    };
    // SAFETY: by the contract.
    unsafe { answer(message, call) }
}

/// # Safety
/// As [`configure`], for a codec.
pub(crate) unsafe extern "C" fn configure_codec(
    instance: *mut c_void,
    given: Slice<Given>,
    message: *mut Message,
) -> Status {
    let call = |codec: &mut Box<dyn Codec>, params: &Params| Ok(codec.configure(params)?);
    // SAFETY: by the contract.
    unsafe { configure(instance, given, message, call) }
}

/// # Safety
/// As [`configure`], for a filter.
pub(crate) unsafe extern "C" fn configure_filter(
    instance: *mut c_void,
    given: Slice<Given>,
    message: *mut Message,
) -> Status {
    let call = |filter: &mut Box<dyn Filter>, params: &Params| Ok(filter.configure(params)?);
    // SAFETY: by the contract.
    unsafe { configure(instance, given, message, call) }
}

/// # Safety
/// As [`apply`], for a codec.
pub(crate) unsafe extern "C" fn decompress_range(
    instance: *mut c_void,
    ctx: *const Context,
    src: Slice<u8>,
    start: usize,
    len: usize,
    dst: SliceMut,
    written: *mut usize,
    message: *mut Message,
) -> Status {
    let call = |codec: &mut Box<dyn Codec>, ctx: &Context, src: &[u8], dst: &mut [u8]| {
        // SAFETY: the caller has made it for this call.
        let ctx = &unsafe { ctx.stream() };
        let end = start.checked_add(dst.len()).filter(|&end| end <= len).ok_or("the range exceeds the stream")?;
        Ok(codec.decompress_range(ctx, src, start..end, len, dst)?)
    };
    // SAFETY: by the contract.
    unsafe { apply(instance, (ctx, src, dst), (written, message), call) }
}

/// Filters have no streams.
///
/// # Safety
/// None: nothing is looked at.
pub(crate) unsafe extern "C" fn no_ranges(
    _: *mut c_void,
    _: *const Context,
    _: Slice<u8>,
    _: usize,
    _: usize,
    _: SliceMut,
    _: *mut usize,
    _: *mut Message,
) -> Status {
    Status::NONE
}

/// Filters have no dictionaries.
///
/// # Safety
/// None: nothing is looked at.
pub(crate) unsafe extern "C" fn no_training(
    _: *mut c_void,
    _: Slice<u8>,
    _: usize,
    _: usize,
    _: SliceMut,
    _: *mut usize,
    _: *mut Message,
) -> Status {
    Status::NONE
}
