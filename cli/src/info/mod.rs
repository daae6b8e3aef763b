//! `oxiblosc info`.

mod chunk;
mod frame;
mod show;
mod unfinished;

use std::io::{self, Write};

use oxiblosc::frame::{ChecksumState, Fingerprint, MetaValue};
use oxiblosc::nd::ArrayMeta;
use oxiblosc::pipeline::{FilterSlot, FilterSlots};
use oxiblosc::plugin_params::{Params, PluginParams};
use oxiblosc::{CodecId, Pool, ReadOptions, Registry, block_on};

use crate::args::InfoArgs;
use crate::detect::FileKind;
use crate::error::CliError;
use crate::input::Input;
use crate::needs::Needs;

pub(crate) fn run(args: &InfoArgs, registry: &Registry) -> Result<(), CliError> {
    let input = Input::open(&args.input)?;
    let info = match input.kind {
        FileKind::Frame => match input.unfinished() {
            Some(head) => unfinished::info(&head, registry),
            None => {
                // Nothing is decoded but the index and the metalayers; that needs no threads.
                let reader = input.frame(ReadOptions::new().pool(&Pool::inline()).registry(registry))?;
                block_on(frame::info(&reader, registry))
            }
        },
        FileKind::Chunk => chunk::info(&input.chunk()?, registry).map_err(|e| input.failed(e))?,
    };
    let mut out = io::stdout().lock();
    if args.json { writeln!(out, "{:#}", info.to_json()) } else { write!(out, "{info}") }
        .and_then(|()| out.flush())
        .map_err(CliError::stdout)
}

/// Information about a frame or a chunk. What does not apply is `None`.
struct Info {
    kind: &'static str,
    /// Whether a frame is one file or a directory.
    layout: Option<&'static str>,
    version: u8,
    /// Decoded bytes; for an array, those of its items. Unknown for an open-ended frame, like the next ones.
    nbytes: Option<u64>,
    cbytes: Option<u64>,
    typesize: u64,
    chunksize: Option<u64>,
    blocksize: Option<u64>,
    nchunks: Option<u64>,
    codec: Named,
    level: Option<u8>,
    filters: Vec<Named>,
    /// The filters and codecs that it takes to read it, as far as headers say: that of the frame and of its first chunk.
    needs: Needs,
    /// Whether dictionaries are in use.
    dict: bool,
    meta: Layers,
    vlmeta: Layers,
    /// What beta versions had instead of variable-length metalayers.
    usermeta: Option<Result<MetaValue, String>>,
    fingerprint: Option<Fingerprint>,
    /// The state of the checksums.
    checksums: ChecksumState,
    /// Whether the header has its totals.
    sealed: bool,
    /// Shapes and dtype of an n-dimensional array.
    array: Option<ArrayMeta>,
    /// The content of a single chunk.
    chunk: Option<chunk::ChunkKind>,
    /// Notes for the user, in sentences.
    notes: Vec<String>,
}

/// Metalayers with their content, or why it cannot be shown.
type Layers = Vec<(String, Result<MetaValue, String>)>;

/// A filter or codec with its byte of metadata.
struct Named {
    id: u8,
    /// `None` when there is no provider for the id.
    name: Option<&'static str>,
    meta: u8,
    /// The parameters that the frame records for it.
    params: Option<Params>,
}

impl Named {
    fn codec(id: CodecId, meta: u8, recorded: &PluginParams, registry: &Registry) -> Self {
        let name = registry.codec(id).ok().map(|entry| entry.info().name);
        Self { id: id.0, name, meta, params: recorded.of_codec(id).cloned() }
    }

    fn filters(slots: &FilterSlots, recorded: &PluginParams, registry: &Registry) -> Vec<Self> {
        let name = |id| registry.filter(id).ok().map(|entry| entry.info().name);
        let named = |(place, slot): (usize, FilterSlot)| Self {
            id: slot.id.0,
            name: name(slot.id),
            meta: slot.meta,
            params: recorded.of_filter(place as u8, slot.id).cloned(),
        };
        slots.active().map(named).collect()
    }
}
