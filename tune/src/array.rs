//! Codecs for arrays: they need the shape of a block, so that they are tried on an array.

use bytes::Bytes;
use oxiblosc::chunk::EncodeParams;
use oxiblosc::nd::{ArrayOptions, Selection};
use oxiblosc::{Chain, Pool, ReadOptions, Registry, WriteOptions, blocking};

/// The beginning of an array, which is an array itself.
pub(crate) struct ArraySample {
    shape: Vec<u64>,
    dtype: String,
    item_size: usize,
    pub(crate) data: Bytes,
}

/// What was made of a sample.
#[derive(Default)]
pub(crate) struct Encoded {
    frame: Bytes,
    /// Bytes of its chunks.
    pub(crate) cbytes: usize,
}

impl ArraySample {
    /// As much of the array as `piece` has from its beginning: whole rows along the first axis, or along a later one if
    /// rows are longer than the piece. `None` if there are no items.
    pub(crate) fn new(shape: &[u64], dtype: &str, item_size: usize, piece: &Bytes) -> Option<Self> {
        let (mut shape, mut row) = (shape.to_vec(), item_size as u64);
        for len in shape.iter_mut().rev() {
            // Where rows before have been cut, there is one of them.
            let fits = (piece.len() as u64).checked_div(row)?.min(*len);
            row = row.checked_mul((*len).max(1))?;
            *len = fits.max(1);
        }
        let bytes = shape.iter().try_fold(item_size as u64, |bytes, &len| bytes.checked_mul(len))?;
        let data = piece.get(..usize::try_from(bytes).ok()?)?;
        (!data.is_empty()).then(|| Self { shape, dtype: dtype.to_owned(), item_size, data: piece.slice_ref(data) })
    }

    /// Writes the sample in chunks and blocks as they are chosen for arrays.
    ///
    /// # Errors
    /// What the plugins say.
    pub(crate) fn encode(&self, params: EncodeParams, registry: &Registry, pool: &Pool) -> Result<Encoded, String> {
        let write = WriteOptions::new(params).registry(registry).pool(pool);
        let options = ArrayOptions::new(self.shape.clone(), self.dtype.as_str()).item_size(self.item_size);
        let mut writer = blocking::NdWriter::in_memory(options.frame(write)).map_err(text)?;
        writer.push(self.data.clone()).map_err(text)?;
        let summary = writer.finish().map_err(text)?;
        let cbytes = usize::try_from(summary.frame.cbytes).map_err(text)?;
        Ok(Encoded { frame: writer.into_bytes().into(), cbytes })
    }

    /// Reads the sample back.
    ///
    /// # Errors
    /// What the plugins say.
    pub(crate) fn decode(&self, encoded: &Encoded, registry: &Registry, pool: &Pool) -> Result<Vec<u8>, String> {
        let options = ReadOptions::new().registry(registry).pool(pool);
        let reader = blocking::FrameReader::with_options(encoded.frame.clone(), options).map_err(text)?;
        let array = blocking::NdArray::from_frame(&reader).map_err(text)?;
        Ok(array.read(&Selection::all()).map_err(text)?.into_bytes().to_vec())
    }
}

fn text(error: impl std::error::Error + 'static) -> String {
    Chain(&error).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(shape: &[u64], item_size: usize, piece: usize) -> Option<Vec<u64>> {
        ArraySample::new(shape, &format!("|S{item_size}"), item_size, &vec![0; piece].into()).map(|sample| sample.shape)
    }

    #[test]
    fn samples_have_as_many_rows_as_there_are() {
        assert_eq!(shape(&[100, 30, 20], 2, 12_000), Some(vec![10, 30, 20]));
        assert_eq!(shape(&[100, 30, 20], 2, 1 << 20), Some(vec![100, 30, 20]));
        // A piece of a row, and of a row of a row.
        assert_eq!(shape(&[100, 30, 20], 2, 999), Some(vec![1, 24, 20]));
        assert_eq!(shape(&[100, 30, 20], 2, 39), Some(vec![1, 1, 19]));
        assert_eq!(shape(&[100], 8, 81), Some(vec![10]));
        assert_eq!(shape(&[], 8, 8), Some(vec![]));
        assert_eq!(shape(&[100], 8, 7), None);
        assert_eq!(shape(&[0, 5], 1, 10), Some(vec![1, 5]));
    }
}
