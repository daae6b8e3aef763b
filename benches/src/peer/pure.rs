//! The crate blosc2-pure-rs.

use blosc2_pure_rs::{CContext, CParams, DContext, DParams};

use super::{ChunkCodec, Slot};
use crate::settings::Settings;
use crate::{Error, Result};

/// Its compression parameters.
///
/// # Errors
/// When a size does not fit the structure.
pub fn cparams(settings: &Settings) -> Result<CParams> {
    let slots = settings.filter.slots(settings.typesize).0;
    Ok(CParams {
        compcode: settings.codec.id().0,
        clevel: settings.level,
        typesize: i32::try_from(settings.typesize).map_err(Error::new)?,
        nthreads: i16::try_from(settings.threads).map_err(Error::new)?,
        blocksize: i32::try_from(settings.block_size.unwrap_or(0)).map_err(Error::new)?,
        filters: slots.map(|slot| slot.id.0),
        filters_meta: slots.map(|slot| slot.meta),
        ..CParams::default()
    })
}

/// Its decompression parameters.
///
/// # Errors
/// When a size does not fit the structure.
pub fn dparams(settings: &Settings) -> Result<DParams> {
    Ok(DParams {
        nthreads: i16::try_from(settings.threads).map_err(Error::new)?,
        typesize: i32::try_from(settings.typesize).map_err(Error::new)?,
        ..DParams::default()
    })
}

/// A compression and a decompression context.
#[derive(Debug)]
pub struct Chunks {
    compress: CContext,
    decompress: DContext,
}

impl Chunks {
    /// Contexts for these settings.
    ///
    /// # Errors
    /// When a size does not fit the structure.
    pub fn new(settings: &Settings) -> Result<Self> {
        Ok(Self { compress: CContext::new(cparams(settings)?), decompress: DContext::new(dparams(settings)?) })
    }

    /// Decodes `count` items from number `start` on into `dst`.
    ///
    /// # Errors
    /// When the crate refuses.
    pub fn items(&mut self, chunk: &[u8], start: usize, count: usize, dst: &mut [u8]) -> Result<()> {
        self.decompress.get_items_into(chunk, start, count, dst).map(drop).map_err(Error::new)
    }
}

impl ChunkCodec for Chunks {
    fn compress(&mut self, src: &[u8], dst: &mut Slot) -> Result<()> {
        // Its way without the copy into a buffer of the caller.
        dst.put(self.compress.compress_chunk(src).map_err(Error::new)?);
        Ok(())
    }

    fn decompress(&mut self, chunk: &[u8], dst: &mut [u8]) -> Result<()> {
        match self.decompress.decompress_chunk_into(chunk, dst).map_err(Error::new)? {
            len if len == dst.len() => Ok(()),
            len => Err(Error::new(format!("blosc2-pure-rs decompressed {len} bytes, expected {}", dst.len()))),
        }
    }
}
