//! `oxiblosc compress`.

use oxiblosc::chunk::EncodeParams;
use oxiblosc::{CodecId, Registry};

use crate::args::{CompressArgs, Layout, Shape, Vouchers};
use crate::content::{Content, write_options};
use crate::error::CliError;
use crate::plain::{Next, Plain};
use crate::writer::{Job, Writer, Written};

pub(crate) fn run(args: &CompressArgs, registry: &Registry) -> Result<(), CliError> {
    // The command line is checked first: bad usage must not depend on the input.
    args.result.check(&args.encoding)?;
    if args.input.is(&args.output) {
        return Err(CliError::Usage(format!("{}: input and output are the same file", args.input.name())));
    }
    let base = EncodeParams { codec: CodecId::ZSTD, ..EncodeParams::default() };
    let params = args.encoding.params(base, registry)?;
    let input = Plain::open(&args.input, args.raw, &args.decoding, args.run.quiet)?;
    let (name, bar) = (input.name.clone(), input.bar.clone());
    let written = write(args, params, input, registry);
    bar.finish_and_clear();
    written?.tell(&name, &args.output.output_name(), args.run.quiet);
    Ok(())
}

fn write(
    args: &CompressArgs,
    params: EncodeParams,
    mut input: Plain,
    registry: &Registry,
) -> Result<Written, CliError> {
    let npy = input.npy.as_ref();
    let content = Content {
        item_size: args.encoding.typesize.map(|size| size as usize).or(npy.map(|header| header.item_size)),
        array: npy.map(|header| (header.descr.clone(), Shape::known(header.shape.clone()))),
    };
    let content = content.with(&args.result)?;
    let params = content.params(params, args.result.format);
    let pool = args.run.pool();
    let options = write_options(params.clone(), &args.result, Vouchers::default(), &pool)?;
    let name = input.name.clone();
    let job = Job {
        encoding: &args.encoding,
        result: &args.result,
        layout: args.result.layout.unwrap_or(Layout::Contiguous),
        pool: &pool,
        registry,
        input: &name,
        destination: &args.output,
    };
    let mut writer = Writer::new(&job, &content, params, options)?;
    if job.layout == Layout::Open {
        return follow(input, writer);
    }
    while let Some(bytes) = input.next(writer.piece)? {
        writer.push(bytes)?;
    }
    writer.finish()
}

/// Writes the input as it arrives: whenever it pauses, all complete chunks are written out.
fn follow(input: Plain, mut writer: Writer<'_>) -> Result<Written, CliError> {
    let mut input = input.ahead()?;
    let mut paused = false;
    loop {
        match input.next(paused)? {
            Next::Bytes(bytes) => writer.push(bytes)?,
            Next::Pause => {
                writer.flush()?;
                paused = true;
                continue;
            }
            Next::End => return writer.finish(),
        }
        paused = false;
    }
}
