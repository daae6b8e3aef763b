//! Rust types as items of arrays.

use bytes::Bytes;

use super::{ArrayError, NdBuffer};

/// A type whose values an array can hold: the integers and floats of Rust, `bool`, and `half::f16` with the feature
/// `half`.
///
/// Values are written little-endian; big-endian arrays are read too.
pub trait Element: Copy + 'static {
    /// The NumPy dtype of values that are written.
    const DTYPE: &'static str;

    /// The value with these bytes, in little-endian order.
    fn from_bytes(bytes: &[u8]) -> Self;

    /// Puts the bytes of the value into `out`, which is as long as they are, in little-endian order.
    fn to_bytes(self, out: &mut [u8]);
}

macro_rules! numbers {
    ($($type:ty, $dtype:literal;)*) => {$(
        impl Element for $type {
            const DTYPE: &'static str = $dtype;

            fn from_bytes(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<Self>()];
                array.copy_from_slice(bytes);
                Self::from_le_bytes(array)
            }

            fn to_bytes(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

numbers! {
    u8, "|u1";
    i8, "|i1";
    u16, "<u2";
    i16, "<i2";
    u32, "<u4";
    i32, "<i4";
    u64, "<u8";
    i64, "<i8";
    f32, "<f4";
    f64, "<f8";
}

#[cfg(feature = "half")]
numbers! {
    half::f16, "<f2";
}

impl Element for bool {
    const DTYPE: &'static str = "|b1";

    fn from_bytes(bytes: &[u8]) -> Self {
        bytes != [0]
    }

    fn to_bytes(self, out: &mut [u8]) {
        out.fill(self.into());
    }
}

/// The bytes of values, as arrays hold them.
pub fn items<T: Element>(values: &[T]) -> Bytes {
    let mut out = vec![0; size_of_val(values)];
    for (value, out) in values.iter().zip(out.chunks_exact_mut(size_of::<T>())) {
        value.to_bytes(out);
    }
    out.into()
}

/// The values that these bytes are, as arrays hold them; the inverse of [`items`]. Bytes after the last whole value are
/// ignored.
pub fn values<T: Element>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(T::from_bytes).collect()
}

/// Whether values of type `T` are stored with their bytes reversed in an array of this dtype.
///
/// # Errors
/// [`ArrayError::Dtype`] when the items are not of that type.
pub(crate) fn swapped<T: Element>(dtype: Option<&str>) -> Result<bool, ArrayError> {
    let dtype = dtype.unwrap_or_default();
    let wrong = || ArrayError::Dtype { found: dtype.to_owned(), expected: T::DTYPE };
    Ok(byte_order(dtype, T::DTYPE).ok_or_else(wrong)? == ByteOrder::Big)
}

impl NdBuffer {
    /// The items as values of a Rust type, in C order.
    ///
    /// # Errors
    /// [`ArrayError::Dtype`] when they are of another type.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, ArrayError> {
        if !swapped::<T>(self.dtype.as_deref())? {
            return Ok(values(&self.bytes));
        }
        let items = self.bytes.chunks_exact(size_of::<T>());
        let mut reversed = vec![0; size_of::<T>()];
        let swap = |item: &[u8]| {
            reversed.copy_from_slice(item);
            reversed.reverse();
            T::from_bytes(&reversed)
        };
        Ok(items.map(swap).collect())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

/// The byte order of a dtype that is `expected` but for its byte order.
fn byte_order(dtype: &str, expected: &str) -> Option<ByteOrder> {
    let (order, code) = match dtype.split_at_checked(1)? {
        ("<" | "|" | "=", code) => (ByteOrder::Little, code),
        (">", code) => (ByteOrder::Big, code),
        _ => (ByteOrder::Little, dtype),
    };
    (code == &expected[1..]).then_some(order)
}
