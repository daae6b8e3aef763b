//! The side of the program: a plugin of a library as a [`Codec`] or [`Filter`].

use std::ffi::c_void;
use std::ops::Range;
use std::ptr::{self, NonNull};

use oxiblosc_core::codec::{Codec, CodecContext, CodecError};
use oxiblosc_core::filter::{BlockContext, Filter, FilterError};
use oxiblosc_core::plugin::Panicked;
use oxiblosc_core::plugin_params::Params;

use crate::interface::{Apply, Context, Given, Interface, Make, Message, Slice, SliceMut, Status};

/// Why a call of a library did not come to its end.
#[derive(Debug)]
pub(crate) enum Fault {
    Failed(String),
    Panicked(Panicked),
}

impl From<Fault> for CodecError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Failed(text) => Self::Other(text.into()),
            Fault::Panicked(panic) => Self::Panicked(panic),
        }
    }
}

impl From<Fault> for FilterError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Failed(text) => Self::Other(text.into()),
            Fault::Panicked(panic) => Self::Panicked(panic),
        }
    }
}

/// Calls a library: whether there is a result, or its error.
pub(crate) fn call(function: impl FnOnce(&mut Message) -> Status) -> Result<bool, Fault> {
    let mut message = Message::new();
    match function(&mut message) {
        Status::DONE => Ok(true),
        Status::NONE => Ok(false),
        Status::PANICKED => Err(Fault::Panicked(Panicked::with_message(message.get()))),
        _ => Err(Fault::Failed(message.get())),
    }
}

/// An instance that lives in a library.
struct Instance {
    interface: &'static Interface,
    instance: NonNull<c_void>,
}

// SAFETY: it is a box of `dyn Codec` or `dyn Filter`, which are `Send`.
unsafe impl Send for Instance {}
// SAFETY: likewise, and they are `Sync`.
unsafe impl Sync for Instance {}

impl Instance {
    fn made(interface: &'static Interface, make: Make, from: *const c_void) -> Result<Self, Fault> {
        let mut made = ptr::null_mut();
        // SAFETY: `from` is an instance of the library, or the function makes one from nothing; the rest is ours.
        call(|message| unsafe { make(from, &raw mut made, message) })?;
        let instance = NonNull::new(made).ok_or_else(|| Fault::Failed("the library has made nothing".into()))?;
        Ok(Self { interface, instance })
    }

    fn apply(&mut self, apply: Apply, ctx: &Context, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, Fault> {
        let mut written = 0;
        let (src, dst) = (Slice::new(src), SliceMut::new(dst));
        // SAFETY: an instance of the library, to which this is the only reference; the rest is borrowed for the call.
        let done = call(|message| unsafe { apply(self.instance.as_ptr(), ctx, src, dst, &raw mut written, message) })?;
        Ok(done.then_some(written))
    }

    fn configure(&mut self, params: &Params) -> Result<(), Fault> {
        let list = Given::list(params);
        // SAFETY: an instance of the library, to which this is the only reference; the list is there for the call.
        call(|message| unsafe { (self.interface.configure)(self.instance.as_ptr(), Slice::new(&list), message) })?;
        Ok(())
    }
}

impl Clone for Instance {
    /// Panics where the plugin does, as its own `clone` would.
    fn clone(&self) -> Self {
        match Self::made(self.interface, self.interface.clone, self.instance.as_ptr()) {
            Ok(clone) => clone,
            Err(Fault::Failed(text)) => panic!("{text}"),
            Err(Fault::Panicked(panic)) => panic!("{}", panic.message()),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: an instance of the library, which is not used again.
        unsafe { (self.interface.free)(self.instance.as_ptr()) }
    }
}

/// A codec in a library.
#[derive(Clone)]
pub(crate) struct RemoteCodec(Instance);

impl RemoteCodec {
    pub(crate) fn new(interface: &'static Interface) -> Result<Self, Fault> {
        Instance::made(interface, interface.make, ptr::null()).map(Self)
    }
}

impl Codec for RemoteCodec {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        Ok(self.0.apply(self.0.interface.write, &Context::of_stream(ctx), src, dst)?)
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        Ok(self.0.apply(self.0.interface.read, &Context::of_stream(ctx), src, dst)?.unwrap_or(0))
    }

    fn decompress_range(
        &mut self,
        ctx: &CodecContext<'_>,
        src: &[u8],
        range: Range<usize>,
        len: usize,
        dst: &mut [u8],
    ) -> Result<Option<usize>, CodecError> {
        let Self(Instance { interface, instance }) = self;
        let (ctx, mut written) = (Context::of_stream(ctx), 0);
        let (src, dst) = (Slice::new(src), SliceMut::new(dst));
        // SAFETY: an instance of the library, to which this is the only reference; the rest is borrowed for the call.
        let done = call(|message| unsafe {
            (interface.read_range)(instance.as_ptr(), &ctx, src, range.start, len, dst, &raw mut written, message)
        })?;
        Ok(done.then_some(written))
    }

    fn configure(&mut self, params: &Params) -> Result<(), CodecError> {
        Ok(self.0.configure(params)?)
    }

    fn train_dict(
        &mut self,
        samples: &[u8],
        sample_len: usize,
        sample_count: usize,
        max_len: usize,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        let Self(Instance { interface, instance }) = self;
        let mut dict = vec![0; max_len];
        let mut len = 0;
        let (samples, place) = (Slice::new(samples), SliceMut::new(&mut dict));
        // SAFETY: an instance of the library, to which this is the only reference; the rest is borrowed for the call.
        let done = call(|message| unsafe {
            (interface.train)(instance.as_ptr(), samples, sample_len, sample_count, place, &raw mut len, message)
        })?;
        dict.truncate(len);
        Ok(done.then_some(dict))
    }
}

/// A filter in a library.
#[derive(Clone)]
pub(crate) struct RemoteFilter(Instance);

impl RemoteFilter {
    pub(crate) fn new(interface: &'static Interface) -> Result<Self, Fault> {
        Instance::made(interface, interface.make, ptr::null()).map(Self)
    }
}

impl Filter for RemoteFilter {
    fn configure(&mut self, params: &Params) -> Result<(), FilterError> {
        Ok(self.0.configure(params)?)
    }

    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.0.apply(self.0.interface.write, &Context::of_block(ctx), src, dst)?;
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.0.apply(self.0.interface.read, &Context::of_block(ctx), src, dst)?;
        Ok(())
    }
}
