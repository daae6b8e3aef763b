//! The interface between a library and a program that loads it. Both may be built with different compilers, and with
//! different versions of all crates: what crosses has the layout of C and belongs to whoever made it.
//!
//! Whatever changes here changes [`VERSION`], but for [`Head`], which stays.

mod context;
mod description;
mod message;
mod param;
mod slice;

use std::ffi::c_void;

use crate::named::Named;
use crate::provide;

pub(crate) use context::Context;
pub(crate) use description::{Description, Invalid};
pub(crate) use message::Message;
pub(crate) use param::{Declared, Given};
pub(crate) use slice::{Slice, SliceMut};

/// The version of everything in this module.
pub const VERSION: u32 = 2;

/// How the table begins, in this and all other versions.
pub(crate) const MAGIC: [u8; 8] = *b"oxiblosc";

/// The symbol of the table.
pub(crate) const SYMBOL: &str = "oxiblosc_plugin";

/// The beginning of the table, the same in all versions.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
    /// Bytes of the table.
    pub(crate) size: u32,
}

/// What a call came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Status(i32);

impl Status {
    pub(crate) const DONE: Self = Self(0);
    /// The stream does not fit; there is no dictionary, no such parameter; a range cannot be decoded alone.
    pub(crate) const NONE: Self = Self(1);
    /// The message says why.
    pub(crate) const FAILED: Self = Self(-1);
    /// The message is that of the panic.
    pub(crate) const PANICKED: Self = Self(-2);
}

/// Makes an instance, into the place that is given: from nothing, or as a copy of one.
pub(crate) type Make = unsafe extern "C" fn(*const c_void, *mut *mut c_void, *mut Message) -> Status;
/// Drops an instance.
pub(crate) type Free = unsafe extern "C" fn(*mut c_void);
/// Compresses or decompresses, filters or undoes that: from the first buffer to the second, and returns how many bytes.
pub(crate) type Apply =
    unsafe extern "C" fn(*mut c_void, *const Context, Slice<u8>, SliceMut, *mut usize, *mut Message) -> Status;
/// Trains a dictionary from samples: their bytes, the length of one, how many there are.
pub(crate) type Train =
    unsafe extern "C" fn(*mut c_void, Slice<u8>, usize, usize, SliceMut, *mut usize, *mut Message) -> Status;

/// Decompresses a range of a stream: context and stream, where the range begins, the decoded length of the stream, and a
/// buffer of the length of the range.
pub(crate) type ReadRange = unsafe extern "C" fn(
    *mut c_void,
    *const Context,
    Slice<u8>,
    usize,
    usize,
    SliceMut,
    *mut usize,
    *mut Message,
) -> Status;
/// Describes a parameter, by its number.
pub(crate) type Declare = unsafe extern "C" fn(usize, *mut Declared, *mut Message) -> Status;
/// Gives an instance its parameters.
pub(crate) type Configure = unsafe extern "C" fn(*mut c_void, Slice<Given>, *mut Message) -> Status;

/// The functions of the plugin in a library.
#[repr(C)]
#[derive(Debug)]
pub struct Interface {
    pub(crate) head: Head,
    pub(crate) describe: unsafe extern "C" fn(*mut Description, *mut Message) -> Status,
    pub(crate) make: Make,
    pub(crate) clone: Make,
    pub(crate) free: Free,
    pub(crate) write: Apply,
    pub(crate) read: Apply,
    pub(crate) train: Train,
    pub(crate) declare: Declare,
    pub(crate) configure: Configure,
    pub(crate) read_range: ReadRange,
}

impl Interface {
    const HEAD: Head = Head { magic: MAGIC, version: VERSION, size: size_of::<Self>() as u32 };

    /// That of the codec called `T`.
    pub const fn codec<T: Named>() -> Self {
        Self {
            head: Self::HEAD,
            describe: provide::describe_codec::<T>,
            make: provide::make_codec::<T>,
            clone: provide::clone_codec,
            free: provide::free_codec,
            write: provide::compress,
            read: provide::decompress,
            train: provide::train,
            declare: provide::declare_codec::<T>,
            configure: provide::configure_codec,
            read_range: provide::decompress_range,
        }
    }

    /// That of the filter called `T`.
    pub const fn filter<T: Named>() -> Self {
        Self {
            head: Self::HEAD,
            describe: provide::describe_filter::<T>,
            make: provide::make_filter::<T>,
            clone: provide::clone_filter,
            free: provide::free_filter,
            write: provide::forward,
            read: provide::backward,
            train: provide::no_training,
            declare: provide::declare_filter::<T>,
            configure: provide::configure_filter,
            read_range: provide::no_ranges,
        }
    }
}
