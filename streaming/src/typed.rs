//! Items as values of Rust types, in frames and arrays.

use std::ops::Range;

use oxiblosc_core::nd::Selection;

use crate::compute::block_on;
use crate::error::{ReadError, WriteError};
use crate::nd::{ArrayError, Element, NdArray, NdSink, items, values};
use crate::reader::FrameReader;
use crate::sink::FrameSink;
use crate::source::RangeSource;
use crate::target::Target;
use crate::{blocking, nd};

/// Values are made into bytes in pieces, so that a long slice does not take its memory twice.
const PIECE_BYTES: usize = 4 << 20;

/// Values of a piece: as many as make whole chunks, which a sink takes without copying them.
fn piece_len<T>(chunk_size: usize) -> usize {
    let chunks = (PIECE_BYTES / chunk_size.max(1)).max(1);
    (chunks.saturating_mul(chunk_size) / size_of::<T>().max(1)).max(1)
}

impl<S: RangeSource + 'static> FrameReader<S> {
    /// The items `range` as values of a type that is as long as an item. Only the blocks that hold them are read.
    ///
    /// A frame says how long its items are and not what they are: they are taken to be little-endian, and it is not
    /// noticed if they are integers that are read as floats. An array knows its dtype, see [`NdArray::read_as`].
    ///
    /// ```
    /// # use oxiblosc_plugins as _;
    /// use oxiblosc_core::chunk::EncodeParams;
    /// use oxiblosc_streaming::{FrameReader, WriteOptions, block_on};
    ///
    /// block_on(async {
    ///     let params = EncodeParams { typesize: 4, ..EncodeParams::default() };
    ///     let mut sink = WriteOptions::new(params).in_memory()?;
    ///     sink.write_items(&[1.5f32, -2.0, 1e10]).await?;
    ///     sink.close().await?;
    ///     let reader = FrameReader::open(sink.into_target().into_bytes()).await?;
    ///     assert_eq!(reader.items_as::<f32>(1..3).await?, [-2.0, 1e10]);
    ///     assert!(reader.items_as::<f64>(1..3).await.is_err());
    ///     Ok::<(), Box<dyn std::error::Error>>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ReadError::ItemSize`] when items are not as long as a `T`, and as [`items`](Self::items).
    pub async fn items_as<T: Element>(&self, range: Range<u64>) -> Result<Vec<T>, ReadError> {
        if self.typesize() != size_of::<T>() {
            return Err(ReadError::ItemSize { found: self.typesize(), expected: size_of::<T>(), dtype: T::DTYPE });
        }
        Ok(values(&self.items(range).await?))
    }
}

impl<T: Target> FrameSink<T> {
    /// Takes values of a type that is as long as an item, little-endian.
    ///
    /// Dropping the future loses the values that the sink has not taken; [`nbytes`](Self::nbytes) says how many it has.
    /// [`write_bytes`](Self::write_bytes) with [`items`] keeps them.
    ///
    /// # Errors
    /// [`WriteError::ItemSize`] when [`EncodeParams::typesize`](oxiblosc_core::chunk::EncodeParams::typesize) is another
    /// length, and as [`write_bytes`](Self::write_bytes). [`nbytes`](Self::nbytes) says how much has been taken then.
    pub async fn write_items<E: Element>(&mut self, values: &[E]) -> Result<(), WriteError> {
        if self.typesize() != size_of::<E>() {
            return Err(WriteError::ItemSize { found: self.typesize(), expected: size_of::<E>(), dtype: E::DTYPE });
        }
        for piece in values.chunks(piece_len::<E>(self.chunk_size())) {
            let mut bytes = items(piece);
            while !bytes.is_empty() {
                self.write_bytes(&mut bytes).await?;
            }
        }
        Ok(())
    }
}

impl<S: RangeSource + 'static> NdArray<S> {
    /// The selected items as values, in C order.
    ///
    /// # Errors
    /// [`ArrayError::Dtype`] when the items are of another type, and as [`read`](Self::read).
    pub async fn read_as<T: Element>(&self, selection: &Selection) -> Result<Vec<T>, ArrayError> {
        self.read(selection).await?.to_vec()
    }

    /// One item as a value; negative indices count from the end.
    ///
    /// # Errors
    /// [`ArrayError::Dtype`] when the items are of another type, and as [`item`](Self::item).
    pub async fn item_as<T: Element>(&self, index: &[i64]) -> Result<T, ArrayError> {
        let swapped = nd::swapped::<T>(self.dtype())?;
        let mut bytes = self.item(index).await?.to_vec();
        if swapped {
            bytes.reverse();
        }
        Ok(T::from_bytes(&bytes))
    }
}

impl<T: Target> NdSink<T> {
    /// Takes values in C order, in the byte order of the array.
    ///
    /// Dropping the future loses the values that the sink has not taken; [`rows`](Self::rows) says how many rows it has.
    ///
    /// # Errors
    /// [`ArrayError::Dtype`] when the items of the array are of another type, and as [`push`](Self::push).
    pub async fn write_items<E: Element>(&mut self, values: &[E]) -> Result<(), ArrayError> {
        let swapped = nd::swapped::<E>(self.dtype())?;
        for piece in values.chunks(piece_len::<E>(1 << 20)) {
            let mut bytes = items(piece);
            if swapped {
                let mut reversed = Vec::from(bytes);
                reversed.chunks_exact_mut(size_of::<E>()).for_each(<[u8]>::reverse);
                bytes = reversed.into();
            }
            while !bytes.is_empty() {
                self.write_bytes(&mut bytes).await?;
            }
        }
        Ok(())
    }
}

impl<S: RangeSource + 'static> blocking::FrameReader<S> {
    /// The items `range` as values; the twin of [`FrameReader::items_as`].
    ///
    /// # Errors
    /// As that.
    pub fn items_as<T: Element>(&self, range: Range<u64>) -> Result<Vec<T>, ReadError> {
        block_on(self.as_async().items_as(range))
    }
}

impl<T: Target> blocking::FrameWriter<T> {
    /// Takes values of a type that is as long as an item; the twin of [`FrameSink::write_items`].
    ///
    /// # Errors
    /// As that.
    pub fn write_items<E: Element>(&mut self, values: &[E]) -> Result<(), WriteError> {
        block_on(self.sink().write_items(values))
    }
}

impl<S: RangeSource + 'static> blocking::NdArray<S> {
    /// The selected items as values; the twin of [`NdArray::read_as`].
    ///
    /// # Errors
    /// As that.
    pub fn read_as<T: Element>(&self, selection: &Selection) -> Result<Vec<T>, ArrayError> {
        block_on(self.as_async().read_as(selection))
    }

    /// One item as a value; the twin of [`NdArray::item_as`].
    ///
    /// # Errors
    /// As that.
    pub fn item_as<T: Element>(&self, index: &[i64]) -> Result<T, ArrayError> {
        block_on(self.as_async().item_as(index))
    }
}

impl<T: Target> blocking::NdWriter<T> {
    /// Takes values in C order; the twin of [`NdSink::write_items`].
    ///
    /// # Errors
    /// As that.
    pub fn write_items<E: Element>(&mut self, values: &[E]) -> Result<(), ArrayError> {
        block_on(self.sink().write_items(values))
    }
}
