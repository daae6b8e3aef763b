//! Conversions from and to arrays of the `ndarray` crate.

use bytes::Bytes;
use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};
use oxiblosc_core::nd::NdError;

use super::element::{Element, items};
use super::{ArrayError, ArrayOptions, ArraySummary, NdBuffer};
use crate::target::Target;

impl NdBuffer {
    /// The items as an array of Rust values.
    ///
    /// # Errors
    /// [`ArrayError::Dtype`] when they are of another type.
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>, ArrayError> {
        // Lossless: the items are in memory, or there are none.
        let shape: Vec<usize> = self.shape.iter().map(|&len| usize::try_from(len).unwrap_or(usize::MAX)).collect();
        let array = ArrayD::from_shape_vec(IxDyn(&shape), self.to_vec()?);
        // The axes of an array without items may be longer than ndarray counts.
        array.map_err(|_| NdError::TooLarge { what: "the selection", limit: isize::MAX as u64, found: None }.into())
    }
}

/// The items of an array or view in C order, whatever its own order is.
pub fn items_of<T: Element, S: Data<Elem = T>, D: Dimension>(array: &ArrayBase<S, D>) -> Bytes {
    match array.as_slice() {
        Some(values) => items(values),
        None => items(&array.iter().copied().collect::<Vec<T>>()),
    }
}

impl ArrayOptions {
    /// An array of the shape and type of `array`.
    pub fn like<T: Element, S: Data<Elem = T>, D: Dimension>(array: &ArrayBase<S, D>) -> Self {
        let shape: Vec<u64> = array.shape().iter().map(|&len| len as u64).collect();
        Self::new(shape, T::DTYPE)
    }

    /// Writes `array` with these options and closes the target.
    ///
    /// ```
    /// use ndarray::{Array2, s};
    /// use oxiblosc_streaming::block_on;
    /// use oxiblosc_streaming::nd::{ArrayOptions, NdArray};
    /// use oxiblosc_streaming::target::MemoryTarget;
    /// # use oxiblosc_plugins as _;
    ///
    /// let image = Array2::from_shape_fn((480, 640), |(y, x)| (x ^ y) as u16);
    /// block_on(async {
    ///     let half = image.slice(s![.., ..;2]);
    ///     let (target, _) = ArrayOptions::like(&half).write_ndarray(&half, MemoryTarget::new()).await?;
    ///     let array = NdArray::open(target.into_bytes()).await?;
    ///     let corner = array.read(&":2, :2".parse()?).await?.to_ndarray::<u16>()?;
    ///     assert_eq!(corner, half.slice(s![..2, ..2]).into_dyn());
    ///     Ok::<(), oxiblosc_streaming::nd::ArrayError>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub async fn write_ndarray<T: Element, S: Data<Elem = T>, D: Dimension, W: Target>(
        self,
        array: &ArrayBase<S, D>,
        target: W,
    ) -> Result<(W, ArraySummary), ArrayError> {
        self.write(items_of(array), target).await
    }
}
