//! Structures of C-Blosc2, as far as they are read here.
//!
//! Source: `blosc2.h` of C-Blosc2 3.0.0 to 3.3.5, in which they are the same. Later versions may add fields at the end:
//! the inline functions of that header, which are compiled into the plugins of others, read them in the same way.

use std::ffi::{c_char, c_int, c_void};

/// `BLOSC2_MAX_FILTERS`
pub(super) const MAX_FILTERS: usize = 6;
/// `BLOSC2_MAX_METALAYERS`
pub(super) const MAX_METALAYERS: usize = 16;

/// The head of `blosc2_cparams`. What follows is not even initialised by C-Blosc2.
#[repr(C)]
#[derive(Debug)]
pub struct CParams {
    pub(super) compcode: u8,
    pub(super) compcode_meta: u8,
    pub(super) clevel: u8,
    pub(super) use_dict: c_int,
    pub(super) typesize: i32,
    pub(super) nthreads: i16,
    pub(super) blocksize: i32,
    pub(super) splitmode: i32,
    pub(super) schunk: *const Schunk,
    pub(super) filters: [u8; MAX_FILTERS],
    pub(super) filters_meta: [u8; MAX_FILTERS],
}

/// `blosc2_dparams`
#[repr(C)]
#[derive(Debug)]
pub struct DParams {
    pub(super) nthreads: i16,
    pub(super) schunk: *const Schunk,
    pub(super) postfilter: *const c_void,
    pub(super) postparams: *const c_void,
    pub(super) typesize: i32,
}

/// The head of `blosc2_schunk`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Schunk {
    pub(super) version: u8,
    pub(super) compcode: u8,
    pub(super) compcode_meta: u8,
    pub(super) clevel: u8,
    pub(super) splitmode: u8,
    pub(super) typesize: i32,
    pub(super) blocksize: i32,
    pub(super) chunksize: i32,
    pub(super) flags2: u8,
    pub(super) use_dict: u8,
    pub(super) filters: [u8; MAX_FILTERS],
    pub(super) filters_meta: [u8; MAX_FILTERS],
    pub(super) nchunks: i64,
    pub(super) current_nchunk: i64,
    pub(super) nbytes: i64,
    pub(super) cbytes: i64,
    pub(super) data: *const *const u8,
    pub(super) data_len: usize,
    pub(super) storage: *const c_void,
    pub(super) frame: *const c_void,
    pub(super) cctx: *const c_void,
    pub(super) dctx: *const c_void,
    pub(super) metalayers: [*const Metalayer; MAX_METALAYERS],
    pub(super) nmetalayers: u16,
}

/// `blosc2_metalayer`
#[repr(C)]
#[derive(Debug)]
pub(super) struct Metalayer {
    pub(super) name: *const c_char,
    pub(super) content: *const u8,
    pub(super) content_len: i32,
}

/// The head of a chunk: 32 bytes, as each chunk has that a codec or filter of others has made (README_CHUNK_FORMAT).
pub(super) const HEADER_LEN: usize = 32;

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// As a C compiler has them.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_layouts_are_those_of_c() {
        assert_eq!((offset_of!(CParams, typesize), offset_of!(CParams, blocksize)), (8, 16));
        assert_eq!((offset_of!(CParams, schunk), offset_of!(CParams, filters)), (24, 32));
        assert_eq!((offset_of!(DParams, schunk), offset_of!(DParams, typesize)), (8, 32));
        assert_eq!((offset_of!(Schunk, typesize), offset_of!(Schunk, nchunks)), (8, 40));
        assert_eq!((offset_of!(Schunk, metalayers), offset_of!(Schunk, nmetalayers)), (120, 248));
    }
}
