//! `oxiblosc compress`.

use oxiblosc::core::chunk::EncodeParams;
use oxiblosc::core::{CodecId, Registry};

use crate::args::{CompressArgs, Shape, Vouchers};
use crate::content::{Content, write_options};
use crate::error::CliError;
use crate::plain::Plain;
use crate::writer::{Job, Writer, Written};

pub(crate) fn run(args: &CompressArgs, registry: &Registry) -> Result<(), CliError> {
    // What the command line asks for comes first: bad usage must not depend on the input.
    args.result.check(&args.encoding)?;
    if args.input.is(&args.output) {
        return Err(CliError::Usage(format!("{}: input and output are the same file", args.input.name())));
    }
    let base = EncodeParams { codec: CodecId::ZSTD, ..EncodeParams::default() };
    let params = args.encoding.params(base, registry)?;
    let mut input = Plain::open(&args.input, args.raw, &args.decoding, args.run.quiet)?;
    let written = write(args, params, &mut input, registry);
    input.bar.finish_and_clear();
    written?.tell(&input.name, &args.output.output_name(), args.run.quiet);
    Ok(())
}

fn write(
    args: &CompressArgs,
    params: EncodeParams,
    input: &mut Plain,
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
        pool: &pool,
        registry,
        input: &name,
        destination: &args.output,
    };
    let mut writer = Writer::new(&job, &content, params, options)?;
    while let Some(bytes) = input.next(writer.piece)? {
        writer.push(bytes)?;
    }
    writer.finish()
}
