//! The functions and structures of libblosc2 that are used here, declared by hand.
//!
//! Source: `blosc2.h` and `b2nd.h` of C-Blosc2 3.3.5, as shipped in `blosc2/include` of the python-blosc2 4.14.1 wheel.
//! [`Api::load`] compares the version and the default values that the library returns with the declarations, so a
//! layout that does not match shows before anything is called with it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;

use crate::{Error, Result};

/// The version whose headers these declarations were taken from.
pub const VERSION: &str = "3.3.5";
/// `BLOSC2_MAX_OVERHEAD`: what a chunk may be longer than its data.
pub const MAX_OVERHEAD: usize = 32;
/// `BLOSC2_MAX_FILTERS`
const MAX_FILTERS: usize = 6;
/// `BLOSC_FORWARD_COMPAT_SPLIT`
const FORWARD_COMPAT_SPLIT: i32 = 4;

/// `blosc2_cparams`
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CParams {
    /// Codec.
    pub compcode: u8,
    /// Codec metadata.
    pub compcode_meta: u8,
    /// Level.
    pub clevel: u8,
    /// Train a dictionary.
    pub use_dict: c_int,
    /// Bytes of an item.
    pub typesize: i32,
    /// Threads.
    pub nthreads: i16,
    /// Bytes of a block, 0 for automatic.
    pub blocksize: i32,
    /// Split mode.
    pub splitmode: i32,
    /// Super-chunk.
    pub schunk: *mut c_void,
    /// Filters.
    pub filters: [u8; MAX_FILTERS],
    /// Filter metadata.
    pub filters_meta: [u8; MAX_FILTERS],
    /// Prefilter function.
    pub prefilter: *mut c_void,
    /// Its parameters.
    pub preparams: *mut c_void,
    /// Parameters of the tuner.
    pub tuner_params: *mut c_void,
    /// The tuner.
    pub tuner_id: c_int,
    /// Instrumented codec.
    pub instr_codec: bool,
    /// Parameters of the codec.
    pub codec_params: *mut c_void,
    /// Parameters of the filters.
    pub filter_params: [*mut c_void; MAX_FILTERS],
}

impl Default for CParams {
    /// `BLOSC2_CPARAMS_DEFAULTS`
    fn default() -> Self {
        let null = std::ptr::null_mut();
        Self {
            compcode: 0,
            compcode_meta: 0,
            clevel: 5,
            use_dict: 0,
            typesize: 8,
            nthreads: 1,
            blocksize: 0,
            splitmode: FORWARD_COMPAT_SPLIT,
            schunk: null,
            filters: [0, 0, 0, 0, 0, 1],
            filters_meta: [0; MAX_FILTERS],
            prefilter: null,
            preparams: null,
            tuner_params: null,
            tuner_id: 0,
            instr_codec: false,
            codec_params: null,
            filter_params: [null; MAX_FILTERS],
        }
    }
}

/// `blosc2_dparams`
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DParams {
    /// Threads.
    pub nthreads: i16,
    /// Super-chunk.
    pub schunk: *mut c_void,
    /// Postfilter function.
    pub postfilter: *mut c_void,
    /// Its parameters.
    pub postparams: *mut c_void,
    /// Bytes of an item.
    pub typesize: i32,
}

impl Default for DParams {
    /// `BLOSC2_DPARAMS_DEFAULTS`
    fn default() -> Self {
        let null = std::ptr::null_mut();
        Self { nthreads: 1, schunk: null, postfilter: null, postparams: null, typesize: 8 }
    }
}

/// `blosc2_storage`
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// One buffer or file instead of one per chunk.
    pub contiguous: bool,
    /// Path; null for memory.
    pub urlpath: *mut c_char,
    /// Compression parameters.
    pub cparams: *mut CParams,
    /// Decompression parameters.
    pub dparams: *mut DParams,
    /// Input and output functions; null for files.
    pub io: *mut c_void,
}

/// `blosc2_context`
pub type Context = c_void;
/// The head of `blosc2_schunk`, up to the last field that is needed; only ever behind a pointer.
#[repr(C)]
#[derive(Debug)]
pub struct Schunk {
    version: u8,
    compcode: u8,
    compcode_meta: u8,
    clevel: u8,
    splitmode: u8,
    /// Bytes of an item.
    pub typesize: i32,
    blocksize: i32,
    /// Bytes of a chunk.
    pub chunksize: i32,
    flags2: u8,
    use_dict: u8,
    filters: [u8; MAX_FILTERS],
    filters_meta: [u8; MAX_FILTERS],
    /// Number of chunks.
    pub nchunks: i64,
    current_nchunk: i64,
    /// Decoded bytes.
    pub nbytes: i64,
    cbytes: i64,
    data: *mut c_void,
    data_len: usize,
    /// Where it is stored, and how.
    pub storage: *mut Storage,
    frame: *mut c_void,
    cctx: *mut Context,
    /// The context of all reads.
    pub dctx: *mut Context,
}
/// `b2nd_context_t`
pub type NdContext = c_void;
/// `b2nd_array_t`
pub type NdArray = c_void;
/// `blosc2_shuffle` and its three siblings: type size, block size, source, destination.
pub type ShuffleFn = unsafe extern "C" fn(i32, i32, *const c_void, *mut c_void) -> i32;

/// Declares [`Api`]: a field per function, and a loader that finds the symbol of the same name.
macro_rules! api {
    ($($name:ident: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The functions, by their names in the library.
        #[derive(Debug, Clone, Copy)]
        #[allow(missing_docs, reason = "each is documented in blosc2.h or b2nd.h under its own name")]
        pub struct Api { $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)* }

        impl Api {
            fn resolve(library: &'static libloading::Library) -> Result<Self> {
                Ok(Self {
                    $($name: {
                        // SAFETY: the signature is that of the header named at the top of this file.
                        let symbol = unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) };
                        *symbol.map_err(Error::new)?
                    },)*
                })
            }
        }
    };
}

api! {
    blosc2_init: fn();
    blosc2_get_version_string: fn() -> *const c_char;
    blosc2_get_blosc2_cparams_defaults: fn() -> CParams;
    blosc2_get_blosc2_dparams_defaults: fn() -> DParams;
    blosc2_create_cctx: fn(CParams) -> *mut Context;
    blosc2_create_dctx: fn(DParams) -> *mut Context;
    blosc2_free_ctx: fn(*mut Context);
    blosc2_compress_ctx: fn(*mut Context, *const c_void, i32, *mut c_void, i32) -> c_int;
    blosc2_decompress_ctx: fn(*mut Context, *const c_void, i32, *mut c_void, i32) -> c_int;
    blosc2_getitem_ctx: fn(*mut Context, *const c_void, i32, c_int, c_int, *mut c_void, i32) -> c_int;
    blosc2_shuffle: fn(i32, i32, *const c_void, *mut c_void) -> i32;
    blosc2_unshuffle: fn(i32, i32, *const c_void, *mut c_void) -> i32;
    blosc2_bitshuffle: fn(i32, i32, *const c_void, *mut c_void) -> i32;
    blosc2_bitunshuffle: fn(i32, i32, *const c_void, *mut c_void) -> i32;
    blosc2_schunk_new: fn(*mut Storage) -> *mut Schunk;
    blosc2_schunk_open: fn(*const c_char) -> *mut Schunk;
    blosc2_schunk_free: fn(*mut Schunk) -> c_int;
    blosc2_schunk_append_buffer: fn(*mut Schunk, *const c_void, i32) -> i64;
    blosc2_schunk_decompress_chunk: fn(*mut Schunk, i64, *mut c_void, i32) -> c_int;
    blosc2_schunk_get_slice_buffer: fn(*mut Schunk, i64, i64, *mut c_void) -> c_int;
    b2nd_create_ctx: fn(*const Storage, i8, *const i64, *const i32, *const i32, *const c_char, i8, *const c_void, i32)
        -> *mut NdContext;
    b2nd_free_ctx: fn(*mut NdContext) -> c_int;
    b2nd_from_cbuffer: fn(*mut NdContext, *mut *mut NdArray, *const c_void, i64) -> c_int;
    b2nd_open: fn(*const c_char, *mut *mut NdArray) -> c_int;
    b2nd_free: fn(*mut NdArray) -> c_int;
    b2nd_get_slice_cbuffer: fn(*const NdArray, *const i64, *const i64, *mut c_void, *const i64, i64) -> c_int;
    b2nd_get_orthogonal_selection:
        fn(*const NdArray, *mut *mut i64, *mut i64, *mut c_void, *mut i64, i64) -> c_int;
    b2nd_append: fn(*mut NdArray, *const c_void, i64, i8) -> c_int;
    b2nd_resize: fn(*mut NdArray, *const i64, *const i64) -> c_int;
    b2nd_set_slice_cbuffer: fn(*const c_void, *const i64, i64, *const i64, *const i64, *mut NdArray) -> c_int;
}

impl Api {
    /// Loads the library, initialises it and checks that it is the one that is declared here.
    ///
    /// # Errors
    /// When the library does not load, lacks a function, or is of another version.
    pub fn load(path: &Path) -> Result<Self> {
        // SAFETY: the initialisers of libblosc2 do not depend on anything that this program does.
        let library = unsafe { libloading::Library::new(path) };
        // Never unloaded: its worker threads may run until the process ends.
        let library = Box::leak(Box::new(library.map_err(Error::new)?));
        let api = Self::resolve(library)?;
        // SAFETY: takes nothing, and returns a string constant.
        let version = unsafe { CStr::from_ptr((api.blosc2_get_version_string)()) }.to_string_lossy();
        if version != VERSION {
            return Err(Error::new(format!("{} is version {version}, expected {VERSION}", path.display())));
        }
        // SAFETY: both take nothing and return a structure by value; a layout that is too short here could corrupt
        // the stack, but the version has just been checked to be the one these layouts were taken from.
        let (cparams, dparams) = unsafe {
            (api.blosc2_init)();
            ((api.blosc2_get_blosc2_cparams_defaults)(), (api.blosc2_get_blosc2_dparams_defaults)())
        };
        if cparams != CParams::default() || dparams != DParams::default() {
            return Err(Error::new(format!("defaults differ from the header: {cparams:?} {dparams:?}")));
        }
        Ok(api)
    }
}
