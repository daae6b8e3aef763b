//! Slices with a layout that both sides know.

use std::{ptr, slice};

/// A slice, or none.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slice<T> {
    start: *const T,
    len: usize,
}

impl<T> Clone for Slice<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slice<T> {}

impl<T> Slice<T> {
    pub(crate) const NONE: Self = Self { start: ptr::null(), len: 0 };

    pub(crate) const fn new(slice: &[T]) -> Self {
        Self { start: slice.as_ptr(), len: slice.len() }
    }

    /// The slice, or an empty one for none.
    ///
    /// # Safety
    /// It was made from a slice that lives as long as the result, or is [`Slice::NONE`].
    pub(crate) unsafe fn get<'a>(self) -> &'a [T] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: the parts of a slice, by the contract.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }

    /// The slice, if there is one.
    ///
    /// # Safety
    /// As [`Slice::get`].
    pub(crate) unsafe fn some<'a>(self) -> Option<&'a [T]> {
        // SAFETY: by the contract.
        (!self.start.is_null()).then(|| unsafe { self.get() })
    }
}

impl<T> From<Option<&[T]>> for Slice<T> {
    fn from(slice: Option<&[T]>) -> Self {
        slice.map_or(Self::NONE, Slice::new)
    }
}

/// A buffer to write to.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct SliceMut {
    start: *mut u8,
    len: usize,
}

impl SliceMut {
    pub(crate) fn new(slice: &mut [u8]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len() }
    }

    /// The buffer.
    ///
    /// # Safety
    /// It was made from a slice that lives as long as the result, and that nobody else uses meanwhile.
    pub(crate) unsafe fn get<'a>(self) -> &'a mut [u8] {
        // SAFETY: the parts of a slice, by the contract.
        unsafe { slice::from_raw_parts_mut(self.start, self.len) }
    }
}
