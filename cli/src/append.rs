//! `oxiblosc append`.

use std::io::{self, Read};
use std::path::Path;

use bytes::{Buf, Bytes};
use oxiblosc::blocking::{FrameEditor, NdEditor};
use oxiblosc::edit::{EditError, EditOptions};
use oxiblosc::frame::FrameLayout;
use oxiblosc::nd::{ArrayError, ArrayMeta, ArrayOptions, ResizePlan};
use oxiblosc::{Pool, ReadOptions, Registry};

use crate::args::{AppendArgs, Source};
use crate::detect::FileKind;
use crate::error::CliError;
use crate::input::{Input, Reader};
use crate::progress::Progress;
use crate::raw::RawInput;
use crate::rollback::{RollbackDirectory, RollbackFile};
use crate::writer::warn;

/// The input of a frame is taken in pieces of this size.
const PIECE: usize = 4 << 20;

pub(crate) fn run(args: &AppendArgs, registry: &Registry) -> Result<(), CliError> {
    if args.frame.is(&args.input) {
        // The input would grow as fast as it is read.
        return Err(CliError::Usage(format!("cannot append {} to itself", args.frame.name())));
    }
    if matches!(args.frame, Source::Standard) {
        return Err(not_editable(&args.frame, "append to"));
    }
    let reader = editable(&args.frame, "append to", registry, &Progress::hidden())?;
    let editor = edit(args, &reader, EditOptions::new().registry(registry).pool(&args.run.pool()))?;
    let mut input = RawInput::open(&args.input, false, &args.decoding, args.run.quiet)?;
    let array = ArrayMeta::find(editor.metalayers()).is_some();
    let done = if array { rows(args, editor, &mut input) } else { items(args, editor, &mut input) };
    input.bar.finish_and_clear();
    if let (Ok(()), Some(warning), false) = (&done, input.warning(), args.run.quiet) {
        warn(&args.frame.output_name(), warning);
    }
    done
}

/// Opens the frame to append to.
fn edit(args: &AppendArgs, reader: &Reader, options: EditOptions) -> Result<FrameEditor, CliError> {
    let failed = || CliError::io(args.frame.name());
    let editor = match &args.frame {
        Source::Path(path) if reader.frame().is_sparse() => {
            FrameEditor::sparse(RollbackDirectory::open(path).map_err(failed())?, options)
        }
        Source::Path(path) => {
            let file = RollbackFile::open(path, reader.header().frame_len).map_err(failed())?;
            FrameEditor::with_file(file, options)
        }
        Source::Remote(object) if reader.frame().is_sparse() => {
            FrameEditor::sparse(object.place().map_err(failed())?, options)
        }
        other => return Err(not_editable(other, "append to")),
    };
    editor.map_err(CliError::data(args.frame.name()))
}

/// The path of a frame to be changed.
pub(crate) fn path_of<'a>(frame: &'a Source, what: &str) -> Result<&'a Path, CliError> {
    match frame {
        Source::Path(path) => Ok(path),
        other => Err(not_editable(other, what)),
    }
}

fn not_editable(frame: &Source, what: &str) -> CliError {
    let reason = match frame {
        Source::Remote(_) => {
            "a single object cannot be changed in place; `oxiblosc recompress --layout sparse` makes a sparse frame of \
             it, which can"
        }
        _ => "give a file, a directory, or the URL of a sparse frame",
    };
    CliError::Usage(format!("cannot {what} {}: {reason}", frame.name()))
}

/// Opens a frame to be changed, which must be in the current layout. Reading it advances `bar`.
pub(crate) fn editable(frame: &Source, what: &str, registry: &Registry, bar: &Progress) -> Result<Reader, CliError> {
    let mut input = Input::open(frame)?;
    if input.kind == FileKind::Chunk {
        return Err(CliError::data(&input.name)(format!("cannot {what} a single chunk, only a frame")));
    }
    input.watch(bar);
    let reader = input.frame(ReadOptions::new().pool(&Pool::inline()).registry(registry))?;
    if reader.header().layout != FrameLayout::Current {
        let reason = format!("cannot {what} an early frame; `oxiblosc recompress` makes one of today of it");
        return Err(CliError::data(&input.name)(reason));
    }
    Ok(reader)
}

fn items(args: &AppendArgs, mut editor: FrameEditor, input: &mut RawInput) -> Result<(), CliError> {
    let failed = CliError::data(args.frame.name());
    let typesize = editor.typesize();
    if let Some(npy) = input.npy.as_ref().filter(|npy| npy.item_size != typesize) {
        let reason = format!("items of {} bytes, those of {} have {typesize}", npy.item_size, args.frame.name());
        return Err(CliError::data(&input.name)(reason));
    }
    let mut pieces = Pieces { input, rest: Bytes::new(), failed: None };
    let appended = editor.append_from(&mut pieces);
    if let Some(error) = pieces.failed.take() {
        return Err(error);
    }
    let appended = appended.map_err(CliError::data(args.frame.name()))?;
    let part = appended % typesize.max(1) as u64;
    if part > 0 {
        let reason = format!("ends after {part} bytes of an item of {typesize}; nothing has been appended");
        return Err(CliError::data(&input.name)(reason));
    }
    loop {
        match editor.commit() {
            // One of those that commit at the same time wins, so there is an end to this.
            Err(EditError::Conflict) => editor.rebase().map_err(CliError::data(args.frame.name()))?,
            result => return result.map_err(failed),
        }
    }
}

fn rows(args: &AppendArgs, editor: FrameEditor, input: &mut RawInput) -> Result<(), CliError> {
    let failed = |error: ArrayError| CliError::data(args.frame.name())(error);
    let mut editor = NdEditor::new(editor).map_err(failed)?;
    // Refuses an array without axes, which has no rows.
    ResizePlan::append(editor.tiling(), 0, 0).map_err(|e| failed(e.into()))?;
    check_npy(&editor, input)?;
    let (tiling, shape) = (editor.tiling(), editor.shape());
    let row_bytes = shape[1..].iter().fold(editor.item_size() as u64, |bytes, &len| bytes.saturating_mul(len));
    let chunk_rows = u64::from(tiling.geometry().chunk_shape[0]).max(1);
    let slab_bytes = chunk_rows.saturating_mul(row_bytes);
    // As many rows as make complete chunks, and as many chunks as a slab of the usual size has.
    let slabs = (ArrayOptions::SLAB_BYTES as u64 / slab_bytes.max(1)).max(1);
    let mut filled = shape[0] % chunk_rows;
    loop {
        // First what the last chunks have room for. If rows have no bytes, ask for one, which must not exist.
        let wanted = (slabs * chunk_rows - filled).saturating_mul(row_bytes).max(1);
        let bytes = input.next(usize::try_from(wanted).map_err(|_| too_large(input))?)?;
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else { break };
        editor.append(0, &bytes).map_err(|error| match error {
            error @ ArrayError::PartialRow { .. } => CliError::data(&input.name)(error),
            error => failed(error),
        })?;
        filled = 0;
    }
    if let Some(npy) = input.npy.as_ref().filter(|_| row_bytes == 0) {
        // Rows without bytes cannot be counted, but a .npy file states their number.
        let count = if npy.shape.len() == editor.shape().len() { npy.shape[0] } else { 1 };
        let (longer, _) = ResizePlan::append(editor.tiling(), 0, count).map_err(|e| failed(e.into()))?;
        editor.resize(longer.after().shape()).map_err(failed)?;
    }
    loop {
        match editor.commit() {
            // One of those that commit at the same time wins, so there is an end to this.
            Err(ArrayError::Edit(EditError::Conflict)) => editor.rebase().map_err(failed)?,
            result => return result.map_err(failed),
        }
    }
}

fn too_large(input: &RawInput) -> CliError {
    CliError::data(&input.name)("a row of chunks is larger than memory")
}

/// Checks that the items and rows of a .npy file are like those of the array.
fn check_npy(editor: &NdEditor, input: &RawInput) -> Result<(), CliError> {
    let Some(npy) = &input.npy else { return Ok(()) };
    let differ = |what: &str, expected: String, found: String| {
        Err(CliError::data(&input.name)(format!("{what} {found}, but the array has {expected}")))
    };
    if let Some(dtype) = editor.dtype().filter(|dtype| *dtype != npy.descr) {
        return differ("dtype", dtype.into(), npy.descr.clone());
    }
    if npy.item_size != editor.item_size() {
        return differ("items of size", editor.item_size().to_string(), npy.item_size.to_string());
    }
    let row = &editor.shape()[1..];
    // Several rows, or one.
    if npy.shape.get(1..) != Some(row) && npy.shape != row {
        return differ("shape", format!("rows of shape {row:?}"), format!("{:?}", npy.shape));
    }
    Ok(())
}

/// The input as a reader for the editor. Its error is kept.
struct Pieces<'a> {
    input: &'a mut RawInput,
    rest: Bytes,
    failed: Option<CliError>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            match self.input.next(PIECE) {
                Ok(piece) => self.rest = piece.unwrap_or_default(),
                Err(error) => {
                    self.failed = Some(error);
                    return Err(io::ErrorKind::Other.into());
                }
            }
        }
        let len = self.rest.len().min(buffer.len());
        self.rest.copy_to_slice(&mut buffer[..len]);
        Ok(len)
    }
}
