//! What a frame takes over from the one that it is made of.

use oxiblosc::chunk::EncodeParams;
use oxiblosc::frame::{Checksums, FrameLayout as Age, FrameParams, Sequential};
use oxiblosc::nd::ArrayMeta;
use oxiblosc::pipeline::FilterSlots;
use oxiblosc::{WriteOptions, block_on};

use crate::args::IntegrityArgs;
use crate::chunk_headers::chunk_headers;
use crate::error::CliError;
use crate::input::{Input, Reader};

/// What the result takes over from the input unless options override it.
pub(crate) struct Defaults {
    pub(crate) params: EncodeParams,
    pub(crate) vouchers: IntegrityArgs,
}

impl Defaults {
    /// The parameters of a frame, as far as known.
    pub(crate) fn of(reader: &Reader) -> Self {
        let FrameParams { encode: mut params, checksums, fingerprint, .. } = FrameParams::from_frame(reader.frame());
        if reader.header().layout == Age::Early && reader.nchunks() > 0 {
            // Headers of 2019 lack the filters; their chunks have them.
            let first = block_on(chunk_headers(reader, 0..1)).ok().and_then(|headers| headers.into_iter().next());
            params.filters = first.and_then(Result::ok).map_or(FilterSlots::SHUFFLE, |header| header.filters);
        }
        Self { params, vouchers: IntegrityArgs { checksums, fingerprint } }
    }
}

/// Adds the metalayers of a frame, except those about the shape, order or checksums of its chunks.
pub(crate) fn with_metalayers(
    reader: &Reader,
    input: &Input,
    mut options: WriteOptions,
) -> Result<WriteOptions, CliError> {
    for (name, content) in reader.metalayers().iter() {
        if ![ArrayMeta::NAME, ArrayMeta::LEGACY_NAME, Sequential::NAME].contains(&&*name) {
            options = options.metalayer(name, content.clone());
        }
    }
    for name in reader.vlmetalayer_names().into_iter().filter(|name| name != Checksums::NAME) {
        if let Some(content) = block_on(reader.vlmetalayer(&name)).map_err(|e| input.failed(e))? {
            options = options.vlmetalayer(name, content);
        }
    }
    Ok(options)
}
