//! Options for writing an array.

use bytes::Bytes;
use futures::io::{AsyncSeek, AsyncWrite};
use oxiblosc_core::nd::{ArrayMeta, NdError, Partition, Tiling, item_size};

use super::{ArrayError, ArraySummary, Element, NdSink};
use crate::sink::WriteOptions;
use crate::target::{MemoryTarget, SeekTarget, SpoolTarget, Target};

/// Options for writing an array: its shape and dtype, its partition into chunks and blocks, and the [`WriteOptions`] of
/// the frame.
///
/// ```
/// use oxiblosc_streaming::{block_on, nd::{ArrayOptions, NdArray}};
/// # use oxiblosc_plugins as _;
///
/// let items: Vec<u8> = (0..600u16).flat_map(u16::to_le_bytes).collect();
/// block_on(async {
///     let options = ArrayOptions::new([20, 30], "<u2").chunks([8, 10]).blocks([4, 10]);
///     let (target, summary) = options.write(items, oxiblosc_streaming::target::MemoryTarget::new()).await?;
///     assert_eq!(summary.shape, [20, 30]);
///
///     let array = NdArray::open(target.into_bytes()).await?;
///     let corner = array.read(&"18:, ::-29".parse()?).await?;
///     assert_eq!(corner.shape(), [2, 2]);
///     assert_eq!(corner.bytes()[..2], 569u16.to_le_bytes());
///     Ok::<(), oxiblosc_streaming::nd::ArrayError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ArrayOptions {
    shape: Vec<u64>,
    growing: bool,
    dtype: String,
    item_size: Option<usize>,
    chunk_shape: Option<Vec<u32>>,
    block_shape: Option<Vec<u32>>,
    partition: Partition,
    write: WriteOptions,
}

impl ArrayOptions {
    /// Most bytes of a slab, all chunks that share the same rows, when chunk shapes are chosen: 64 MiB. A sink holds
    /// one in memory while it fills, and the one before while it is cut.
    pub const SLAB_BYTES: usize = 64 << 20;

    /// An array of a known shape, of items of a NumPy dtype (`<f4`, `|S5`, `[('a', '<i4'), ('b', '<f8')]`).
    pub fn new(shape: impl Into<Vec<u64>>, dtype: impl Into<String>) -> Self {
        Self {
            shape: shape.into(),
            growing: false,
            dtype: dtype.into(),
            item_size: None,
            chunk_shape: None,
            block_shape: None,
            partition: Partition { slab_bytes: Some(Self::SLAB_BYTES), ..Partition::default() },
            write: WriteOptions::default(),
        }
    }

    /// An array of a known shape, of items of a Rust type.
    pub fn of<T: Element>(shape: impl Into<Vec<u64>>) -> Self {
        Self::new(shape, T::DTYPE)
    }

    /// An array of a number of rows that is not known in advance. It has one dimension more than its rows.
    pub fn rows(row_shape: &[u64], dtype: impl Into<String>) -> Self {
        let mut shape = vec![0];
        shape.extend_from_slice(row_shape);
        Self { growing: true, ..Self::new(shape, dtype) }
    }

    /// Options for the frame. The type size, block size and chunk size are always those of the array.
    pub fn frame(mut self, options: WriteOptions) -> Self {
        self.write = options;
        self
    }

    /// Bytes of an item, when the dtype does not determine it (`|O`, or not of NumPy).
    pub fn item_size(mut self, bytes: usize) -> Self {
        self.item_size = Some(bytes);
        self
    }

    /// Length of a chunk along each dimension; chosen by the [`partition`](Self::partition) by default.
    pub fn chunks(mut self, shape: impl Into<Vec<u32>>) -> Self {
        self.chunk_shape = Some(shape.into());
        self
    }

    /// Length of a block along each dimension; chosen by the [`partition`](Self::partition) by default.
    pub fn blocks(mut self, shape: impl Into<Vec<u32>>) -> Self {
        self.block_shape = Some(shape.into());
        self
    }

    /// How shapes are chosen that are not given; see [`Partition`] for the rule. By default for common caches, and
    /// slabs of [`SLAB_BYTES`](Self::SLAB_BYTES).
    pub fn partition(mut self, partition: Partition) -> Self {
        self.partition = partition;
        self
    }

    /// The layout that the array will have. (That of an array of rows has none yet.)
    ///
    /// # Errors
    /// The size of an item is not known, given shapes are invalid, or the array does not fit the format.
    pub fn tiling(&self) -> Result<Tiling, ArrayError> {
        let item_size = match (self.item_size, item_size(&self.dtype)) {
            (Some(given), Some(expected)) if given != expected => {
                return Err(ArrayError::ItemSize { dtype: self.dtype.clone(), expected: Some(expected), found: given });
            }
            (Some(given), _) => given,
            (None, Some(size)) => size,
            (None, None) => {
                return Err(ArrayError::ItemSize { dtype: self.dtype.clone(), expected: None, found: 0 });
            }
        };
        let (chunks, blocks) = (self.chunk_shape.as_deref(), self.block_shape.as_deref());
        let geometry = self.partition.geometry(&self.shape, item_size, chunks, blocks)?;
        // C-Blosc2 allows chunks of length 0 for axes of length 0. Such an array could never grow.
        let lens = geometry.chunk_shape.iter().position(|&len| len == 0);
        if let Some(axis) = lens {
            return Err(NdError::Extent { what: "the chunk length", axis, expected: "at least 1", found: 0 }.into());
        }
        if self.growing && self.shape[1..].contains(&0) {
            let axis = 1 + self.shape[1..].iter().position(|&len| len == 0).unwrap_or(0);
            let expected = "at least 1 because rows without items cannot be counted";
            return Err(NdError::Extent { what: "the length of a row", axis, expected, found: 0 }.into());
        }
        Ok(geometry.tile(item_size)?)
    }

    /// A sink into any target, which takes the items in C order.
    ///
    /// # Errors
    /// As [`tiling`](Self::tiling) and [`WriteOptions::sink`].
    pub fn sink<T: Target>(self, target: T) -> Result<NdSink<T>, ArrayError> {
        let growing = self.growing;
        let (write, meta, tiling) = self.into_frame()?;
        NdSink::new(target, write, meta, &tiling, growing)
    }

    /// The options for the frame of the array.
    pub(crate) fn into_frame(self) -> Result<(WriteOptions, ArrayMeta, Tiling), ArrayError> {
        let tiling = self.tiling()?;
        let mut write = self.write;
        write.params.typesize = tiling.item_size();
        write.params.block_size = Some(tiling.block_bytes());
        let meta = ArrayMeta::new(tiling.geometry().clone(), self.dtype);
        let write = write.chunk_size(tiling.chunk_bytes()).metalayer(ArrayMeta::NAME, meta.to_bytes()?);
        Ok((write, meta, tiling))
    }

    /// A sink into something that can seek; see [`SeekTarget`].
    ///
    /// # Errors
    /// As [`sink`](Self::sink).
    pub fn seekable<W: AsyncWrite + AsyncSeek + Unpin>(self, writer: W) -> Result<NdSink<SeekTarget<W>>, ArrayError> {
        self.sink(SeekTarget::new(writer))
    }

    /// A sink into something that cannot seek; see [`SpoolTarget`].
    ///
    /// # Errors
    /// As [`sink`](Self::sink).
    pub fn spooled<W: AsyncWrite + Unpin>(self, writer: W) -> Result<NdSink<SpoolTarget<W>>, ArrayError> {
        self.sink(SpoolTarget::new(writer))
    }

    /// A sink into memory; see [`MemoryTarget`].
    ///
    /// # Errors
    /// As [`sink`](Self::sink).
    pub fn in_memory(self) -> Result<NdSink<MemoryTarget>, ArrayError> {
        self.sink(MemoryTarget::new())
    }

    /// Writes a whole array, whose items are in C order, and closes the target.
    ///
    /// # Errors
    /// As [`sink`](Self::sink) and [`NdSink::close`].
    pub async fn write<T: Target>(self, items: impl Into<Bytes>, target: T) -> Result<(T, ArraySummary), ArrayError> {
        let mut sink = self.sink(target)?;
        sink.push(items.into()).await?;
        let summary = sink.close().await?;
        Ok((sink.into_target(), summary))
    }
}
