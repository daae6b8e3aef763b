//! Parameters for encoding, as Python passes them.

use oxiblosc::chunk::ChunkFormat;
use oxiblosc::pipeline::{FilterSlot, FilterSlots, SLOTS};
use oxiblosc::{EncodeParams, FilterId, Registry, SplitMode, WriteOptions};
use pyo3::prelude::*;

use crate::registry::{Name, registry};
use crate::{error, process};

/// The dictionary that the Python side makes of keyword arguments. Everything has a default.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Encoding {
    codec: Name,
    codec_meta: u8,
    clevel: u8,
    filters: Vec<Name>,
    filters_meta: Vec<u8>,
    typesize: usize,
    blocksize: usize,
    splitmode: u8,
    use_dict: bool,
    nthreads: usize,
    checksums: bool,
    blosc1: bool,
    chunksize: usize,
}

/// What other software gets wrong with these parameters, in a frame or a single chunk, for an array or plain bytes. The
/// words are those of `oxiblosc compress`, in `cli/src/writer.rs`.
#[pyfunction]
pub(crate) fn warnings(
    py: Python<'_>,
    encoding: Encoding,
    in_frame: bool,
    of_array: bool,
) -> PyResult<Vec<&'static str>> {
    let (params, _) = encoding.params(py)?;
    let mut warnings = Vec::new();
    // A bytedelta without metadata gets the type size.
    let overflows = |slot: FilterSlot| match (slot.id, slot.meta) {
        (FilterId::BYTEDELTA, 0) => params.typesize > 127,
        (_, meta) => meta > 127,
    };
    if in_frame && params.filters.active().any(|(_, slot)| overflows(slot)) {
        warnings.push("python-blosc2 cannot open it: filter metadata is negative or above 127");
    }
    let deltas = params.filters.active().filter(|(_, slot)| slot.id == FilterId::DELTA).count();
    if deltas > 1 {
        warnings.push("C-Blosc2 does not correctly decode data with several delta filters");
    }
    if deltas == 1 && in_frame && of_array {
        warnings.push("python-blosc2 does not correctly decode parts of arrays with a delta filter");
    }
    Ok(warnings)
}

impl Encoding {
    /// The parameters, and the registry that they are for.
    pub(crate) fn params(&self, py: Python<'_>) -> PyResult<(EncodeParams, Registry)> {
        let registry = registry(py)?;
        if self.filters.len() > SLOTS || self.filters_meta.len() > SLOTS {
            return Err(error::invalid(py, format!("there are {} filters, at most {SLOTS} fit", self.filters.len())));
        }
        let mut filters = FilterSlots::NONE;
        // Fewer filters go to the last slots, as in python-blosc2.
        let first = SLOTS - self.filters.len();
        for (i, name) in self.filters.iter().enumerate() {
            let meta = self.filters_meta.get(i).copied().unwrap_or(0);
            filters.0[first + i] = FilterSlot { id: name.filter(py, &registry)?, meta };
        }
        let split = match self.splitmode {
            1 => SplitMode::Always,
            2 => SplitMode::Never,
            3 => SplitMode::Auto,
            4 => SplitMode::ForwardCompat,
            other => return Err(error::invalid(py, format!("splitmode is {other}, expected 1 to 4"))),
        };
        let params = EncodeParams {
            codec: self.codec.codec(py, &registry)?,
            codec_meta: self.codec_meta,
            level: self.clevel,
            typesize: self.typesize,
            filters,
            block_size: (self.blocksize > 0).then_some(self.blocksize),
            split,
            use_dict: self.use_dict,
            format: if self.blosc1 { ChunkFormat::Blosc1 } else { ChunkFormat::Blosc2 },
            ..EncodeParams::default()
        };
        Ok((params, registry))
    }

    pub(crate) fn pool(&self) -> oxiblosc::Pool {
        process::pool(Some(self.nthreads))
    }

    pub(crate) fn write_options(&self, py: Python<'_>) -> PyResult<WriteOptions> {
        let (params, registry) = self.params(py)?;
        let mut options = WriteOptions::new(params).registry(&registry).pool(&self.pool()).checksums(self.checksums);
        if self.chunksize > 0 {
            options = options.chunk_size(self.chunksize);
        }
        Ok(options)
    }
}
