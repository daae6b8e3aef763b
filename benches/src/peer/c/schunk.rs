//! Super-chunks: frames written to and read from files.

use std::ffi::CString;
use std::path::Path;

use super::ffi::{Api, Schunk, Storage};
use super::{CBlosc2, check, int};
use crate::settings::Settings;
use crate::{Error, Result};

/// A path as C wants it.
pub(crate) fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.to_str().ok_or_else(|| Error::new("the path is not UTF-8"))?).map_err(Error::new)
}

/// A frame in a file.
#[derive(Debug)]
pub struct SuperChunk {
    api: Api,
    schunk: *mut Schunk,
}

impl CBlosc2 {
    /// Starts a contiguous frame in a file that must not exist.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn create_frame(&self, path: &Path, settings: &Settings) -> Result<SuperChunk> {
        let (mut cparams, mut dparams) = (self.cparams(settings)?, self.dparams(settings)?);
        let path = c_path(path)?;
        let mut storage = Storage {
            contiguous: true,
            urlpath: path.as_ptr().cast_mut(),
            cparams: &mut cparams,
            dparams: &mut dparams,
            io: std::ptr::null_mut(),
        };
        // SAFETY: the library copies what the pointers lead to before it returns.
        let schunk = unsafe { (self.api.blosc2_schunk_new)(&mut storage) };
        SuperChunk::new(self.api, schunk)
    }

    /// Opens a frame in a file, to be read with this many threads.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn open_frame(&self, path: &Path, threads: usize) -> Result<SuperChunk> {
        let path = c_path(path)?;
        // SAFETY: a string that lives until the call returns.
        let schunk = unsafe { (self.api.blosc2_schunk_open)(path.as_ptr()) };
        let opened = SuperChunk::new(self.api, schunk)?;
        if threads > 1 {
            // The open functions take no parameters; python-blosc2 replaces the context in the same way.
            //
            // SAFETY: the super-chunk is live, not shared, and laid out as the header of this version says; the old
            // context is freed once and its place taken by the new one.
            unsafe {
                let dparams = (*(*schunk).storage).dparams;
                (*dparams).nthreads = i16::try_from(threads).map_err(Error::new)?;
                (self.api.blosc2_free_ctx)((*schunk).dctx);
                (*schunk).dctx = (self.api.blosc2_create_dctx)(*dparams);
                if (*schunk).dctx.is_null() {
                    return Err(Error::new("C-Blosc2 made no context"));
                }
            }
        }
        Ok(opened)
    }
}

impl SuperChunk {
    fn new(api: Api, schunk: *mut Schunk) -> Result<Self> {
        if schunk.is_null() {
            return Err(Error::new("C-Blosc2 made no super-chunk"));
        }
        Ok(Self { api, schunk })
    }

    /// Appends one chunk.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn append(&mut self, chunk: &[u8]) -> Result<()> {
        // SAFETY: pointer and length of a live slice; the super-chunk is live and not shared.
        let code =
            unsafe { (self.api.blosc2_schunk_append_buffer)(self.schunk, chunk.as_ptr().cast(), int(chunk.len())?) };
        check("append_buffer", code).map(drop)
    }

    /// Decodes chunk `number` into `dst`.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn chunk(&mut self, number: usize, dst: &mut [u8]) -> Result<()> {
        let number = i64::try_from(number).map_err(Error::new)?;
        // SAFETY: pointer and length of a live slice; the super-chunk is live and not shared.
        let code = unsafe {
            (self.api.blosc2_schunk_decompress_chunk)(self.schunk, number, dst.as_mut_ptr().cast(), int(dst.len())?)
        };
        check("decompress_chunk", code).map(drop)
    }

    /// Decodes the items from number `start` on that fill `dst`.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn items(&mut self, start: usize, typesize: usize, dst: &mut [u8]) -> Result<()> {
        let count = dst.len() / typesize;
        let (start, stop) =
            (i64::try_from(start).map_err(Error::new)?, i64::try_from(start + count).map_err(Error::new)?);
        // SAFETY: the buffer has room for `stop - start` items; the super-chunk is live and not shared.
        let code =
            unsafe { (self.api.blosc2_schunk_get_slice_buffer)(self.schunk, start, stop, dst.as_mut_ptr().cast()) };
        check("get_slice_buffer", code).map(drop)
    }
}

impl Drop for SuperChunk {
    fn drop(&mut self) {
        // SAFETY: made by the library, freed once.
        unsafe { (self.api.blosc2_schunk_free)(self.schunk) };
    }
}
