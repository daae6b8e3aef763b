//! C-Blosc2, loaded at run time from the python-blosc2 wheel.

mod array;
pub mod ffi;
mod schunk;
pub(crate) mod venv;

use std::ffi::c_void;

use super::{ChunkCodec, Slot};
use crate::settings::Settings;
use crate::{Error, Result};
pub use array::Array;
use ffi::{Api, CParams, Context, DParams};
pub use schunk::SuperChunk;

/// The library.
#[derive(Debug, Clone, Copy)]
pub struct CBlosc2 {
    pub(crate) api: Api,
}

/// What a call to libblosc2 came to: its return value, or an error when that is negative.
pub(crate) fn check(what: &str, code: impl Into<i64>) -> Result<usize> {
    let code = code.into();
    usize::try_from(code).map_err(|_| Error::new(format!("{what} of C-Blosc2 returned {code}")))
}

/// A length as libblosc2 wants it.
pub(crate) fn int(len: usize) -> Result<i32> {
    i32::try_from(len).map_err(|_| Error::new(format!("{len} bytes are too many for C-Blosc2")))
}

impl CBlosc2 {
    /// Loads the library, installing the wheel first when it is missing.
    ///
    /// # Errors
    /// When it can be neither found nor installed, or is of another version.
    pub fn load() -> Result<Self> {
        Ok(Self { api: Api::load(&venv::library()?)? })
    }

    /// Compression parameters.
    ///
    /// # Errors
    /// When a size does not fit the structure.
    pub fn cparams(&self, settings: &Settings) -> Result<CParams> {
        let slots = settings.filter.slots(settings.typesize).0;
        Ok(CParams {
            compcode: settings.codec.id().0,
            clevel: settings.level,
            typesize: int(settings.typesize)?,
            nthreads: i16::try_from(settings.threads).map_err(Error::new)?,
            blocksize: int(settings.block_size.unwrap_or(0))?,
            filters: slots.map(|slot| slot.id.0),
            filters_meta: slots.map(|slot| slot.meta),
            ..CParams::default()
        })
    }

    /// Decompression parameters.
    ///
    /// # Errors
    /// When a size does not fit the structure.
    pub fn dparams(&self, settings: &Settings) -> Result<DParams> {
        Ok(DParams {
            nthreads: i16::try_from(settings.threads).map_err(Error::new)?,
            typesize: int(settings.typesize)?,
            ..DParams::default()
        })
    }

    /// A compressor and decompressor of chunks.
    ///
    /// # Errors
    /// When the library refuses the settings.
    pub fn chunks(&self, settings: &Settings) -> Result<Chunks> {
        let (cparams, dparams) = (self.cparams(settings)?, self.dparams(settings)?);
        // SAFETY: parameters are passed by value and hold no pointers.
        let (compress, decompress) =
            unsafe { ((self.api.blosc2_create_cctx)(cparams), (self.api.blosc2_create_dctx)(dparams)) };
        let chunks = Chunks { api: self.api, compress, decompress };
        if compress.is_null() || decompress.is_null() {
            return Err(Error::new("C-Blosc2 made no context"));
        }
        Ok(chunks)
    }
}

/// A compression and a decompression context.
#[derive(Debug)]
pub struct Chunks {
    api: Api,
    compress: *mut Context,
    decompress: *mut Context,
}

impl Drop for Chunks {
    fn drop(&mut self) {
        for context in [self.compress, self.decompress] {
            if !context.is_null() {
                // SAFETY: made by the library, freed once.
                unsafe { (self.api.blosc2_free_ctx)(context) };
            }
        }
    }
}

impl Chunks {
    /// Decodes `count` items from number `start` on into `dst`.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn items(&mut self, chunk: &[u8], start: usize, count: usize, dst: &mut [u8]) -> Result<()> {
        // SAFETY: pointers and lengths of live slices; the context is live and not shared.
        let code = unsafe {
            (self.api.blosc2_getitem_ctx)(
                self.decompress,
                chunk.as_ptr().cast(),
                int(chunk.len())?,
                int(start)?,
                int(count)?,
                dst.as_mut_ptr().cast(),
                int(dst.len())?,
            )
        };
        check("getitem", code).map(drop)
    }
}

impl ChunkCodec for Chunks {
    fn compress(&mut self, src: &[u8], dst: &mut Slot) -> Result<()> {
        let room = dst.room(src.len() + ffi::MAX_OVERHEAD);
        // SAFETY: source and destination are live slices, and the library writes at most the length it is given; the
        // context is live and not shared.
        let code = unsafe {
            (self.api.blosc2_compress_ctx)(
                self.compress,
                src.as_ptr().cast(),
                int(src.len())?,
                room.as_mut_ptr().cast::<c_void>(),
                int(room.len())?,
            )
        };
        let len = check("compress", code)?;
        if len == 0 {
            return Err(Error::new("C-Blosc2 could not compress into the buffer"));
        }
        dst.set_len(len);
        Ok(())
    }

    fn decompress(&mut self, chunk: &[u8], dst: &mut [u8]) -> Result<()> {
        // SAFETY: pointers and lengths of live slices; the context is live and not shared.
        let code = unsafe {
            (self.api.blosc2_decompress_ctx)(
                self.decompress,
                chunk.as_ptr().cast(),
                int(chunk.len())?,
                dst.as_mut_ptr().cast(),
                int(dst.len())?,
            )
        };
        match check("decompress", code)? {
            len if len == dst.len() => Ok(()),
            len => Err(Error::new(format!("C-Blosc2 decompressed {len} bytes, expected {}", dst.len()))),
        }
    }
}
