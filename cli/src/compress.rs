//! `oxiblosc compress`.

use oxiblosc::chunk::EncodeParams;
use oxiblosc::{CodecId, Registry};

use crate::args::{CompressArgs, FrameKind, IntegrityArgs, Shape};
use crate::content::{InputType, write_options};
use crate::error::CliError;
use crate::part;
use crate::raw::{RawInput, ReadEvent};
use crate::writer::{ByteCounts, OutputWriter, WriteJob};

pub(crate) fn run(args: &CompressArgs, registry: &Registry) -> Result<(), CliError> {
    // The command line is checked first: bad usage must not depend on the input.
    args.result.check(&args.encoding)?;
    if args.input.is(&args.output) {
        return Err(CliError::Usage(format!("{}: input and output are the same file", args.input.name())));
    }
    if let Some(part) = args.part {
        return part::run(args, part, registry);
    }
    let base = EncodeParams { codec: CodecId::ZSTD, ..EncodeParams::default() };
    let params = args.encoding.params(base, registry)?;
    let input = RawInput::open(&args.input, args.raw, &args.decoding, args.run.quiet)?;
    let (name, bar) = (input.name.clone(), input.bar.clone());
    let warning = input.warning();
    let written = write(args, params, input, registry);
    bar.finish_and_clear();
    let mut written = written?;
    written.warnings.extend(warning);
    written.print_summary(&name, &args.output.output_name(), args.run.quiet);
    Ok(())
}

fn write(
    args: &CompressArgs,
    params: EncodeParams,
    mut input: RawInput,
    registry: &Registry,
) -> Result<ByteCounts, CliError> {
    let npy = input.npy.as_ref();
    let content = InputType {
        item_size: args.encoding.typesize.map(|size| size as usize).or(npy.map(|header| header.item_size)),
        array: npy.map(|header| (header.descr.clone(), Shape::known(header.shape.clone()))),
    };
    let content = content.with(&args.result)?;
    let params = content.params(params, args.result.format);
    let pool = args.run.pool();
    let options = write_options(params.clone(), &args.result, IntegrityArgs::default(), &pool)?;
    let name = input.name.clone();
    let job = WriteJob {
        encoding: &args.encoding,
        result: &args.result,
        layout: args.result.layout.unwrap_or(FrameKind::Contiguous),
        pool: &pool,
        registry,
        input: &name,
        destination: &args.output,
    };
    let mut writer = OutputWriter::new(&job, &content, params, options)?;
    if job.layout == FrameKind::Open {
        return follow(input, writer);
    }
    while let Some(bytes) = input.next(writer.piece)? {
        writer.push(bytes)?;
    }
    writer.finish()
}

/// Writes the input as it arrives: whenever it pauses, all complete chunks are written out.
fn follow(input: RawInput, mut writer: OutputWriter<'_>) -> Result<ByteCounts, CliError> {
    let mut input = input.ahead()?;
    let mut paused = false;
    loop {
        match input.next(paused)? {
            ReadEvent::Bytes(bytes) => writer.push(bytes)?,
            ReadEvent::Pause => {
                writer.flush()?;
                paused = true;
                continue;
            }
            ReadEvent::End => return writer.finish(),
        }
        paused = false;
    }
}
