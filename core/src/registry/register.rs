//! Registration at compile time: items that the linker collects.

use super::{CodecInfo, FilterInfo};
use crate::codec::Codec;
use crate::filter::Filter;

/// A compile-time filter registration; made by [`register_filter!`](crate::register_filter).
#[derive(Debug)]
pub struct FilterRegistration {
    /// The description of the filter.
    pub info: FilterInfo,
    /// Makes the prototype that workers clone.
    pub new: fn() -> Box<dyn Filter>,
}

/// A compile-time codec registration; made by [`register_codec!`](crate::register_codec).
#[derive(Debug)]
pub struct CodecRegistration {
    /// The description of the codec.
    pub info: CodecInfo,
    /// Makes the prototype that workers clone.
    pub new: fn() -> Box<dyn Codec>,
}

inventory::collect!(FilterRegistration);
inventory::collect!(CodecRegistration);

/// Registers a filter with every program that links the calling crate.
///
/// ```
/// use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
/// use oxiblosc_core::{FilterId, Registry, register_filter};
///
/// #[derive(Clone)]
/// struct Invert;
///
/// impl Filter for Invert {
///     fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
///         dst.iter_mut().zip(src).for_each(|(d, s)| *d = !s);
///         Ok(())
///     }
///     fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
///         self.forward(ctx, src, dst)
///     }
/// }
///
/// register_filter!(FilterId(200), "invert", FilterTraits::LOSSLESS, || Box::new(Invert));
///
/// assert!(Registry::linked()?.filter_by_name("invert").is_ok());
/// # Ok::<(), oxiblosc_core::registry::RegistryError>(())
/// ```
///
/// Ids from 160 to 255 are free for everyone. With `assigned` before the id it is one of 32 to 159 that the Blosc
/// developers have given to the plugin; with `override` the registration replaces a regular one.
#[macro_export]
macro_rules! register_filter {
    (override $id:expr, $name:expr, $traits:expr, $new:expr $(,)?) => {
        $crate::register_filter!(@ $id, $name, $traits, $new, Override);
    };
    (assigned $id:expr, $name:expr, $traits:expr, $new:expr $(,)?) => {
        $crate::register_filter!(@ $id, $name, $traits, $new, Assigned);
    };
    (builtin $id:expr, $name:expr, $traits:expr, $new:expr $(,)?) => {
        $crate::register_filter!(@ $id, $name, $traits, $new, Builtin);
    };
    (@ $id:expr, $name:expr, $traits:expr, $new:expr, $claim:ident) => {
        $crate::private::inventory::submit! {
            $crate::registry::FilterRegistration {
                info: $crate::registry::FilterInfo::new($id, $name, $traits, $crate::provider!())
                    .claiming($crate::registry::Claim::$claim),
                new: $new,
            }
        }
    };
    ($id:expr, $name:expr, $traits:expr, $new:expr $(,)?) => {
        $crate::register_filter!(@ $id, $name, $traits, $new, User);
    };
}

/// The calling crate, as a [`Provider`](crate::plugin::Provider).
#[macro_export]
macro_rules! provider {
    () => {
        &$crate::plugin::Provider { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") }
    };
}

/// Registers a codec with every program that links the calling crate; see
/// [`register_filter!`](crate::register_filter).
///
/// The constructor may take a built-in plugin from [`Registry::builtin`](crate::Registry::builtin) and wrap it:
///
/// ```
/// # use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
/// # use oxiblosc_core::{CodecId, Registry, register_codec};
/// #[derive(Clone)]
/// struct Counting {
///     inner: Box<dyn Codec>,
///     streams: u64,
/// }
///
/// impl Codec for Counting {
///     fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
///         self.streams += 1;
///         self.inner.compress(ctx, src, dst)
///     }
///     fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
///         self.inner.decompress(ctx, src, dst)
///     }
/// }
///
/// register_codec!(CodecId(201), "counting", CodecTraits::PLAIN, || {
///     let zstd = Registry::builtin().and_then(|builtin| builtin.codec(CodecId::ZSTD)).expect("oxiblosc-plugins is linked");
///     Box::new(Counting { inner: zstd.instance(), streams: 0 })
/// });
/// ```
#[macro_export]
macro_rules! register_codec {
    (override $id:expr, $name:expr, $traits:expr, $new:expr $(,)?) => {
        $crate::register_codec!(@ $id, $name, $traits, $new, Override);
    };
    (assigned $id:expr, $name:expr, $traits:expr, $new:expr $(,)?) => {
        $crate::register_codec!(@ $id, $name, $traits, $new, Assigned);
    };
    (builtin $id:expr, $name:expr, $traits:expr, $new:expr $(,)?) => {
        $crate::register_codec!(@ $id, $name, $traits, $new, Builtin);
    };
    (@ $id:expr, $name:expr, $traits:expr, $new:expr, $claim:ident) => {
        $crate::private::inventory::submit! {
            $crate::registry::CodecRegistration {
                info: $crate::registry::CodecInfo::new($id, $name, $traits, $crate::provider!())
                    .claiming($crate::registry::Claim::$claim),
                new: $new,
            }
        }
    };
    ($id:expr, $name:expr, $traits:expr, $new:expr $(,)?) => {
        $crate::register_codec!(@ $id, $name, $traits, $new, User);
    };
}
