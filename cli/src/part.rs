//! `oxiblosc compress --part K/N`: one of several processes that write an array together.
//!
//! The parts are cut along the first axis. All but the last have the same number of rows, so that every process knows
//! its place from its own input, and a chunk never crosses a cut: no two processes write the same chunk.

use std::io::{self, IsTerminal};
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::stream::{self, StreamExt, TryStreamExt};
use oxiblosc::chunk::EncodeParams;
use oxiblosc::nd::{ArrayOptions, Tiling, Window};
use oxiblosc::sparse::{Directory, ShareError, SparsePlace};
use oxiblosc::{CodecId, IoMode, Pool, Registry, SharedWriter, block_on};

use crate::args::{CompressArgs, FirstAxis, Format, FrameKind, IntegrityArgs, Shape, Source};
use crate::content::{InputType, array_options, write_options};
use crate::error::{CliError, one_line};
use crate::raw::RawInput;

/// A chunk is not made larger than this to reach the next cut.
const LARGEST_CHUNK: u64 = 64 << 20;

/// Which of how many parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartNumber {
    /// From 1 on.
    number: u64,
    of: u64,
}

impl FromStr for PartNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, of) = text.split_once('/').ok_or("expected K/N, as in 3/16")?;
        let parse = |text: &str| text.trim().parse::<u64>().map_err(|e| format!("{:?}: {e}", text.trim()));
        let (number, of) = (parse(number)?, parse(of)?);
        if (1..=of).contains(&number) {
            Ok(Self { number, of })
        } else {
            Err("parts are counted from 1 to N: expected K/N, as in 3/16".into())
        }
    }
}

/// The rows of an array that a part holds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cut {
    rows: Range<u64>,
    /// Rows of every part but the last.
    step: u64,
}

impl PartNumber {
    /// The cut, if this part of an array of `len` rows has `rows` of them.
    fn cut(self, len: u64, rows: u64) -> Option<Cut> {
        let Self { number, of } = self;
        let step = if number < of || of == 1 { rows } else { (len.checked_sub(rows)?).checked_div(of - 1)? };
        let start = step.checked_mul(number - 1)?;
        let end = step.checked_mul(number)?.min(len);
        // The last part has at least one row, and no more than the others.
        let fits = step.checked_mul(of - 1)? < len && len <= step.checked_mul(of)?;
        (fits && end.checked_sub(start)? == rows).then_some(Cut { rows: start..end, step })
    }
}

/// Where a shared array is written, and made if `create` says so.
pub(crate) fn shared_place(destination: &Source, create: bool) -> Result<Arc<dyn SparsePlace>, CliError> {
    let failed = || CliError::io(destination.output_name());
    match destination {
        Source::Path(path) => {
            let directory = if create { Directory::new(path) } else { Directory::open(path) };
            Ok(Arc::new(directory.map_err(failed())?.io_mode(IoMode::Inline)))
        }
        Source::Remote(object) => object.place().map_err(failed()),
        Source::Standard => Err(CliError::Usage("standard output cannot be written by several processes".into())),
    }
}

pub(crate) fn run(args: &CompressArgs, part: PartNumber, registry: &Registry) -> Result<(), CliError> {
    let usage = |message: &str| Err(CliError::Usage(format!("--part: {message}")));
    if args.result.format != Format::Frame || args.result.layout.is_some_and(|layout| layout != FrameKind::Sparse) {
        return usage("parts are chunks of a sparse frame, leave out --format and --layout");
    }
    if args.result.shape.as_ref().is_some_and(|shape| shape.rows == FirstAxis::AsTheyCome) {
        return usage("--shape is the shape of the whole array, all of which must be known");
    }
    if matches!(args.output, Source::Standard) {
        return usage("standard output cannot be written by several processes");
    }
    let base = EncodeParams { codec: CodecId::ZSTD, ..EncodeParams::default() };
    let params = args.encoding.params(base, registry)?;
    let pool = args.run.pool();
    let mut input = RawInput::open(&args.input, args.raw, &args.decoding, args.run.quiet)?;
    let (content, cut) = whole(args, part, &input)?;
    let params = content.params(params, Format::Frame);
    args.encoding.check(&params, true, registry)?;
    let write = write_options(params, &args.result, IntegrityArgs::default(), &pool)?.registry(registry);
    let Some((dtype, shape)) = &content.array else { return usage("the input is not an array") };
    let options = array_options(dtype, shape, &args.encoding, &args.result, write);
    let options = cut_chunks(args, options, &cut)?;
    let name = args.output.output_name();
    let failed = |error: ShareError| match error {
        // The parts that are there may be as wrong as this one.
        ShareError::PlanDiffers { .. } => CliError::data(&name)(format!(
            "{}; give all parts the same options, and the --shape of the whole array if the last part is shorter; \
             `oxiblosc commit --discard {name}` starts over",
            one_line(&error)
        )),
        error => CliError::data(&name)(error),
    };
    // Only now: it makes a directory.
    let place = shared_place(&args.output, true)?;
    let writer = block_on(SharedWriter::create_array(place, options)).map_err(failed)?;
    let written = write_rows(&writer, &cut, &mut input, &pool, failed);
    input.bar.finish_and_clear();
    written?;
    if !args.run.quiet && io::stderr().is_terminal() {
        let (PartNumber { number, of }, Range { start, end }) = (part, cut.rows);
        eprintln!("{}: part {number}/{of}, rows {start} to {end}, is written", args.output.output_name());
    }
    Ok(())
}

/// The dtype and shape of the whole array, and which part of it the input is.
fn whole(args: &CompressArgs, part: PartNumber, input: &RawInput) -> Result<(InputType, Cut), CliError> {
    let usage = |message: String| Err(CliError::Usage(format!("--part: {message}")));
    let given = args.result.shape.as_ref().map(|shape| &shape.lens);
    let (dtype, lens, rows) = match (&input.npy, &args.result.dtype, given) {
        (Some(npy), None, given) => {
            let Some((&rows, row)) = npy.shape.split_first() else {
                return usage("an array without axes has no parts".into());
            };
            let lens = match given {
                Some(lens) => lens.clone(),
                None => {
                    let len = rows.checked_mul(part.of);
                    let len = len.ok_or_else(|| CliError::Usage("--part: too many rows".into()))?;
                    std::iter::once(len).chain(row.iter().copied()).collect()
                }
            };
            if lens.get(1..) != Some(row) {
                return usage(format!("the shape of the input is {:?}, that of the whole {lens:?}", npy.shape));
            }
            (npy.descr.clone(), lens, rows)
        }
        (Some(_), Some(_), _) => return usage("--dtype: the input is a .npy file, which has its own".into()),
        (None, Some(dtype), Some(lens)) => {
            let Some(&len) = lens.first() else { return usage("an array without axes has no parts".into()) };
            let step = len.div_ceil(part.of);
            let rows = len.saturating_sub(step * (part.number - 1)).min(step);
            (dtype.0.clone(), lens.clone(), rows)
        }
        (None, _, _) => {
            return usage("plain bytes need --dtype, and --shape of the whole array; .npy files need neither".into());
        }
    };
    let PartNumber { number, of } = part;
    let Some(cut) = lens.first().and_then(|&len| part.cut(len, rows)) else {
        let parts = "all parts but the last have the same number of rows, and the last has no more";
        return usage(format!(
            "{rows} rows cannot be part {number} of {of} of an array of the shape {lens:?}: {parts}"
        ));
    };
    let item_size = args.encoding.typesize.map(|size| size as usize).or(input.npy.as_ref().map(|npy| npy.item_size));
    Ok((InputType { item_size, array: Some((dtype, Shape::known(lens))) }, cut))
}

/// Chunks that do not cross a cut. All processes choose the same, whichever part they have.
fn cut_chunks(args: &CompressArgs, options: ArrayOptions, cut: &Cut) -> Result<ArrayOptions, CliError> {
    let usage = |message: String| CliError::Usage(message);
    let tiling = options.tiling().map_err(|e| usage(one_line(&e)))?;
    let mut chunks = tiling.geometry().chunk_shape.clone();
    let Some(first) = chunks.first_mut() else { return Ok(options) };
    if cut.step.is_multiple_of(u64::from(*first)) {
        return Ok(options);
    }
    if args.result.chunks.is_some() {
        let message = format!("--chunks: {first} rows do not divide the {} rows of a part", cut.step);
        return Err(usage(message));
    }
    let row_bytes = (tiling.chunk_bytes() as u64).div_ceil(u64::from(*first)).max(1);
    let most = (LARGEST_CHUNK / row_bytes).max(1);
    let Some(len) = divisor_near(cut.step, u64::from(*first), most).and_then(|len| u32::try_from(len).ok()) else {
        return Ok(options);
    };
    *first = len;
    let options = options.chunks(chunks);
    options.tiling().map_err(|e| usage(one_line(&e)))?;
    Ok(options)
}

/// The divisor of `n`, of at most `most`, whose ratio to `wanted` is nearest to 1.
fn divisor_near(n: u64, wanted: u64, most: u64) -> Option<u64> {
    let small = (1..).take_while(|d| d * d <= n).filter(|d| n.is_multiple_of(*d));
    let all = small.flat_map(|d| [d, n / d]).filter(|&d| d <= most);
    // Cross-multiplied, so that nothing is rounded.
    let far = |d: u64| (u128::from(d.max(wanted)), u128::from(d.min(wanted)));
    all.min_by(|&a, &b| {
        let ((a_more, a_less), (b_more, b_less)) = (far(a), far(b));
        (a_more * b_less).cmp(&(b_more * a_less)).then(a.cmp(&b))
    })
}

/// Writes the rows of a part, one row of chunks after the other.
fn write_rows(
    writer: &SharedWriter<Arc<dyn SparsePlace>>,
    cut: &Cut,
    input: &mut RawInput,
    pool: &Pool,
    failed: impl Fn(ShareError) -> CliError,
) -> Result<(), CliError> {
    let Some(tiling) = writer.tiling() else { return Ok(()) };
    let chunk_rows = tiling.geometry().chunk_shape.first().map_or(1, |&len| u64::from(len).max(1));
    let row_bytes: u64 = tiling.shape().iter().skip(1).product::<u64>() * tiling.item_size() as u64;
    let beside: u64 = tiling.chunk_grid().skip(1).product();
    let mut start = cut.rows.start;
    while start < cut.rows.end {
        let rows = chunk_rows.min(cut.rows.end - start);
        let slab = read_exactly(input, rows * row_bytes)?;
        let first = start / chunk_rows * beside;
        let windows = (first..first + beside).map(|number| {
            let window = tiling.chunk_window(number).map_err(|e| failed(e.into()))?;
            Ok((number, window_of(&slab, tiling, &window, start)))
        });
        let windows = windows.collect::<Result<Vec<_>, CliError>>()?;
        let writes = windows.into_iter().map(|(number, items)| writer.write(number, items));
        block_on(stream::iter(writes).buffer_unordered(2 * pool.threads().max(1)).try_collect::<()>())
            .map_err(&failed)?;
        start += rows;
    }
    match input.next(1)? {
        None => Ok(()),
        Some(_) => Err(CliError::data(&input.name)(format!("it has more than the {} rows of this part", rows(cut)))),
    }
}

fn rows(cut: &Cut) -> u64 {
    cut.rows.end - cut.rows.start
}

/// The next `len` bytes of the input.
fn read_exactly(input: &mut RawInput, len: u64) -> Result<Bytes, CliError> {
    let short = |found: usize| CliError::data(&input.name)(format!("it ends {} bytes early", len - found as u64));
    let Ok(wanted) = usize::try_from(len) else { return Err(short(0)) };
    let first = input.next(wanted)?;
    match first {
        Some(bytes) if bytes.len() == wanted => return Ok(bytes),
        None if wanted == 0 => return Ok(Bytes::new()),
        _ => {}
    }
    let found = first.map_or(0, |bytes| bytes.len());
    Err(CliError::data(&input.name)(format!("it ends {} bytes early", wanted - found)))
}

/// The items of a window in C order, out of a slab of whole rows that begins at the row `start`.
fn window_of(slab: &Bytes, tiling: &Tiling, window: &Window, start: u64) -> Bytes {
    let item = tiling.item_size() as u64;
    // Axes at the end that the window spans entirely are one run of bytes with the axis before them.
    let mut run_axis = window.shape.len() - 1;
    while run_axis > 0 && window.shape[run_axis] == tiling.shape()[run_axis] {
        run_axis -= 1;
    }
    let strides: Vec<u64> = (0..window.shape.len()).map(|axis| tiling.shape()[axis + 1..].iter().product()).collect();
    let run = window.shape[run_axis..].iter().product::<u64>() * item;
    let outer = &window.shape[..run_axis];
    let runs: u64 = outer.iter().product();
    let origin: u64 = window.origin.iter().zip(&strides).map(|(at, stride)| at * stride).sum();
    let origin = (origin - start * strides[0]) * item;
    if runs == 1 {
        return slab.slice(origin as usize..(origin + run) as usize);
    }
    let mut items = BytesMut::with_capacity((runs * run) as usize);
    let mut at = vec![0; outer.len()];
    for _ in 0..runs {
        let offset: u64 = at.iter().zip(&strides).map(|(at, stride)| at * stride).sum::<u64>() * item + origin;
        items.extend_from_slice(&slab[offset as usize..(offset + run) as usize]);
        for axis in (0..outer.len()).rev() {
            at[axis] += 1;
            if at[axis] < outer[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
    items.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        assert_eq!("3/16".parse(), Ok(PartNumber { number: 3, of: 16 }));
        for bad in ["", "3", "0/16", "17/16", "0/0", "a/2", "-1/2", "1/2/3"] {
            assert!(bad.parse::<PartNumber>().is_err(), "{bad}");
        }
    }

    #[test]
    fn cuts() {
        let cut = |number, of, len, rows| PartNumber { number, of }.cut(len, rows).map(|cut| (cut.rows, cut.step));
        assert_eq!(cut(1, 3, 50, 20), Some((0..20, 20)));
        assert_eq!(cut(3, 3, 50, 10), Some((40..50, 20)));
        assert_eq!(cut(2, 2, 2, 1), Some((1..2, 1)));
        assert_eq!(cut(1, 1, 7, 7), Some((0..7, 7)));
        // Too few rows, too many, none for the last part, and more in the last part than in the others.
        for (number, of, len, rows) in
            [(1, 3, 50, 16), (1, 3, 50, 25), (1, 3, 40, 20), (3, 3, 50, 20), (3, 3, 50, 50), (1, 1, 7, 6), (1, 2, 0, 0)]
        {
            assert_eq!(cut(number, of, len, rows), None, "{number}/{of} of {len}: {rows}");
        }
    }

    #[test]
    fn divisors() {
        assert_eq!(divisor_near(1000, 300, 1000), Some(250));
        assert_eq!(divisor_near(1009, 512, 2000), Some(1009));
        assert_eq!(divisor_near(1009, 512, 1000), Some(1));
        assert_eq!(divisor_near(7, 7, 7), Some(7));
    }
}
