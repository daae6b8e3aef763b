//! N-dimensional arrays in files.

use std::ffi::CString;
use std::ops::Range;
use std::path::Path;
use std::ptr;

use oxiblosc_core::nd::Geometry;

use super::ffi::{Api, NdArray, Storage};
use super::schunk::c_path;
use super::{CBlosc2, check};
use crate::settings::Settings;
use crate::{Error, Result};

/// An array in a file.
#[derive(Debug)]
pub struct Array {
    api: Api,
    array: *mut NdArray,
}

/// Numbers as C wants them.
fn integers<T: TryInto<i64> + Copy>(numbers: &[T]) -> Result<Vec<i64>> {
    numbers.iter().map(|&n| n.try_into().map_err(|_| Error::new("a number does not fit 64 bits"))).collect()
}

fn shapes(geometry: &Geometry) -> Result<[Vec<i32>; 2]> {
    let shape = |of: &[u32]| of.iter().map(|&n| i32::try_from(n).map_err(Error::new)).collect::<Result<_>>();
    Ok([shape(&geometry.chunk_shape)?, shape(&geometry.block_shape)?])
}

impl CBlosc2 {
    /// Writes `items` into a file that must not exist.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn create_array(
        &self,
        path: &Path,
        geometry: &Geometry,
        dtype: &str,
        settings: &Settings,
        items: &[u8],
    ) -> Result<()> {
        let (mut cparams, mut dparams) = (self.cparams(settings)?, self.dparams(settings)?);
        let (path, dtype) = (c_path(path)?, CString::new(dtype).map_err(Error::new)?);
        let storage = Storage {
            contiguous: true,
            urlpath: path.as_ptr().cast_mut(),
            cparams: &mut cparams,
            dparams: &mut dparams,
            io: ptr::null_mut(),
        };
        let shape = integers(&geometry.shape)?;
        let [chunks, blocks] = shapes(geometry)?;
        let ndim = i8::try_from(geometry.ndim()).map_err(Error::new)?;
        let len = i64::try_from(items.len()).map_err(Error::new)?;
        let mut array = ptr::null_mut();
        // SAFETY: the three shapes have `ndim` numbers; the library copies what pointers lead to before it returns,
        // except the context, which it made and frees itself. The items are `len` bytes.
        let code = unsafe {
            let ctx = (self.api.b2nd_create_ctx)(
                &storage,
                ndim,
                shape.as_ptr(),
                chunks.as_ptr(),
                blocks.as_ptr(),
                dtype.as_ptr(),
                0,
                ptr::null(),
                0,
            );
            if ctx.is_null() {
                return Err(Error::new("C-Blosc2 made no array context"));
            }
            let code = (self.api.b2nd_from_cbuffer)(ctx, &mut array, items.as_ptr().cast(), len);
            (self.api.b2nd_free_ctx)(ctx);
            code
        };
        check("from_cbuffer", code)?;
        drop(Array { api: self.api, array });
        Ok(())
    }

    /// Opens an array in a file.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn open_array(&self, path: &Path) -> Result<Array> {
        let path = c_path(path)?;
        let mut array = ptr::null_mut();
        // SAFETY: a string and a place for a pointer that live until the call returns.
        let code = unsafe { (self.api.b2nd_open)(path.as_ptr(), &mut array) };
        check("b2nd_open", code)?;
        Ok(Array { api: self.api, array })
    }
}

fn bounds(window: &[Range<u64>]) -> Result<[Vec<i64>; 3]> {
    let list = |of: fn(&Range<u64>) -> u64| integers(&window.iter().map(of).collect::<Vec<_>>());
    Ok([list(|r| r.start)?, list(|r| r.end)?, list(|r| r.end - r.start)?])
}

impl Array {
    /// Reads a window into `dst`, which has its size.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn read(&mut self, window: &[Range<u64>], dst: &mut [u8]) -> Result<()> {
        let [start, stop, shape] = bounds(window)?;
        let len = i64::try_from(dst.len()).map_err(Error::new)?;
        // SAFETY: bounds and shape have as many numbers as the array has dimensions, which the library checks nothing
        // of: the callers of this program use windows of the array's own rank. The buffer is `len` bytes.
        let code = unsafe {
            (self.api.b2nd_get_slice_cbuffer)(
                self.array,
                start.as_ptr(),
                stop.as_ptr(),
                dst.as_mut_ptr().cast(),
                shape.as_ptr(),
                len,
            )
        };
        check("get_slice_cbuffer", code).map(drop)
    }

    /// Reads the items whose index along each axis is in a list.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn read_orthogonal(&mut self, lists: &mut [Vec<i64>], dst: &mut [u8]) -> Result<()> {
        let mut sizes: Vec<i64> = integers(&lists.iter().map(Vec::len).collect::<Vec<_>>())?;
        let mut shape = sizes.clone();
        let mut pointers: Vec<*mut i64> = lists.iter_mut().map(Vec::as_mut_ptr).collect();
        let len = i64::try_from(dst.len()).map_err(Error::new)?;
        // SAFETY: as in `read`; each pointer leads to as many numbers as `sizes` says.
        let code = unsafe {
            (self.api.b2nd_get_orthogonal_selection)(
                self.array,
                pointers.as_mut_ptr(),
                sizes.as_mut_ptr(),
                dst.as_mut_ptr().cast(),
                shape.as_mut_ptr(),
                len,
            )
        };
        check("get_orthogonal_selection", code).map(drop)
    }

    /// Overwrites a window with `src`, which has its size.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn write(&mut self, window: &[Range<u64>], src: &[u8]) -> Result<()> {
        let [start, stop, shape] = bounds(window)?;
        let len = i64::try_from(src.len()).map_err(Error::new)?;
        // SAFETY: as in `read`; the source is `len` bytes.
        let code = unsafe {
            (self.api.b2nd_set_slice_cbuffer)(
                src.as_ptr().cast(),
                shape.as_ptr(),
                len,
                start.as_ptr(),
                stop.as_ptr(),
                self.array,
            )
        };
        check("set_slice_cbuffer", code).map(drop)
    }
}

impl Array {
    /// Appends items along an axis: as many as fill whole hyperplanes of it.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn append(&mut self, axis: usize, items: &[u8]) -> Result<()> {
        let (len, axis) = (i64::try_from(items.len()).map_err(Error::new)?, i8::try_from(axis).map_err(Error::new)?);
        // SAFETY: the array is live, the items are `len` bytes.
        let code = unsafe { (self.api.b2nd_append)(self.array, items.as_ptr().cast(), len, axis) };
        check("append", code).map(drop)
    }

    /// Changes the shape; items that are new are zero.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn resize(&mut self, shape: &[u64]) -> Result<()> {
        let shape = integers(shape)?;
        // SAFETY: the shape has as many numbers as the array has dimensions; no start means at the end.
        let code = unsafe { (self.api.b2nd_resize)(self.array, shape.as_ptr(), ptr::null()) };
        check("resize", code).map(drop)
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: made by the library, freed once.
        unsafe { (self.api.b2nd_free)(self.array) };
    }
}
