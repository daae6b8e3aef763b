//! `oxiblosc info`.

mod chunk;
mod drawing;
mod frame;
mod show;
mod unfinished;

use std::io::{self, Write};

use oxiblosc::frame::{ChecksumState, Fingerprint, MetaValue};
use oxiblosc::nd::ArrayMeta;
use oxiblosc::pipeline::{FilterSlot, FilterSlots};
use oxiblosc::plugin_params::{Params, PluginParams};
use oxiblosc::{CodecId, Pool, ReadOptions, Registry, block_on};
#[cfg(feature = "serve")]
use oxiblosc::{Limits, frame::PartialHeader, source::RangeSource};
use serde_json::Value;

use crate::args::InfoArgs;
use crate::detect::FileKind;
use crate::error::{CliError, one_line};
use crate::input::Input;
#[cfg(feature = "serve")]
use crate::input::Reader;
use crate::needs::Needs;
use crate::terminal;
use crate::writer::write_picture;
#[cfg(feature = "serve")]
pub(crate) use chunk::body;
use drawing::{ChunkSurvey, Style, Subject, Survey};

pub(crate) fn run(args: &InfoArgs, registry: &Registry) -> Result<(), CliError> {
    let input = Input::open(&args.input)?;
    // Programs read what is no terminal, and get a drawing only if they want one.
    let asked = args.draw || args.ratio_map || args.width.is_some();
    let drawn = asked || !args.json && terminal::is_terminal();
    let mut survey = None;
    let mut info = match input.kind {
        FileKind::Frame => match input.unfinished() {
            Some(head) => {
                // Its chunks have to be followed from the first to the last, which nobody waits for unasked.
                if asked || args.svg.is_some() || drawn && input.is_local() {
                    survey = Some(open_ended(&input, registry));
                }
                unfinished::info(&head, registry)
            }
            None => {
                // Nothing is decoded but the index and the metalayers; that needs no threads.
                let reader = input.frame(ReadOptions::new().pool(&Pool::inline()).registry(registry))?;
                if drawn || args.svg.is_some() {
                    survey = Some(
                        block_on(Survey::of(&reader))
                            .map(|survey| Subject::Frame(Box::new(survey)))
                            .map_err(|e| input.failed(e)),
                    );
                }
                block_on(frame::info(&reader, registry))
            }
        },
        FileKind::Chunk => {
            let chunk = input.chunk()?;
            if drawn || args.svg.is_some() {
                survey = Some(ChunkSurvey::of(&chunk).map(Subject::Chunk).map_err(|e| input.failed(e)));
            }
            chunk::info(&chunk, registry).map_err(|e| input.failed(e))?
        }
    };
    let survey = match survey {
        Some(Ok(survey)) => Some(survey),
        Some(Err(error)) if asked || args.svg.is_some() => return Err(error),
        // Who did not ask for a drawing gets all the rest.
        Some(Err(error)) => {
            info.notes.push(format!("it cannot be drawn: {}", one_line(&error)));
            None
        }
        None => None,
    };
    if let (Some(path), Some(survey)) = (&args.svg, &survey) {
        let lines: Vec<_> = info.to_string().lines().map(str::to_owned).collect();
        let svg = drawing::svg(survey, &lines, args.ratio_map);
        write_picture(svg, &args.input, path)?;
    }
    let mut text = if args.json { format!("{:#}\n", info.to_json()) } else { info.to_string() };
    if let Some(survey) = survey.filter(|_| drawn) {
        let width = args.width.map_or_else(terminal::width, usize::from);
        text += &drawing::text(&survey, Style { width, colour: terminal::has_colours() }, args.ratio_map);
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CliError::stdout)
}

/// What `info --json` says about an input, for those who compare two.
///
/// # Errors
/// When it is no frame or chunk.
pub(crate) fn as_json(input: &Input, registry: &Registry) -> Result<Value, CliError> {
    let info = match input.kind {
        FileKind::Frame => {
            let reader = input.frame(ReadOptions::new().pool(&Pool::inline()).registry(registry))?;
            block_on(frame::info(&reader, registry))
        }
        FileKind::Chunk => chunk::info(&input.chunk()?, registry).map_err(|e| input.failed(e))?,
    };
    Ok(info.to_json())
}

/// The same of a frame that is open; of one that is open-ended, without totals.
#[cfg(feature = "serve")]
pub(crate) async fn of_reader(reader: &Reader, registry: &Registry) -> Value {
    let header_len = u64::from(reader.header().header_len);
    let unfinished = match reader.open_end() {
        Some(_) => {
            let bytes = reader.source().read_range(0..header_len).await.ok();
            bytes.and_then(|bytes| PartialHeader::parse(&bytes, &Limits::default()).ok())
        }
        None => None,
    };
    match unfinished {
        Some(head) => unfinished::info(&head, registry).to_json(),
        None => frame::info(reader, registry).await.to_json(),
    }
}

/// An open-ended frame as far as it has been written.
fn open_ended(input: &Input, registry: &Registry) -> Result<Subject, CliError> {
    let options = ReadOptions::new().pool(&Pool::inline()).registry(registry).open_ended(true);
    let reader = input.frame(options)?;
    block_on(Survey::of(&reader)).map(|survey| Subject::Frame(Box::new(survey))).map_err(|e| input.failed(e))
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
