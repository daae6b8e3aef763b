//! Measures the plugins beside it against the nearest built-in codecs and filters, and prints the tables of
//! `plugins-extra/README.md`.
//!
//! `cargo run --release -p oxiblosc-extra-measure [FOLDER]`: the arrays are those of `conformance/data/arrays`, or of
//! another folder with files of the same names. With `--python PYTHON` it prints the table of `docs/book/src/plugins/ship.md` instead,
//! with the same codecs in the C-Blosc2 of that interpreter; the tests make one, `target/interop-venv/bin/python`.
//! Chunks are encoded in memory by one thread. Times are processor time, the best
//! of several.

mod arrays;
mod peer;
mod settings;

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cpu_time::ThreadTime;
use oxiblosc::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkHeader};
use oxiblosc::{CodecId, FilterId, Inline, Registry};
use oxiblosc_bitround::Precision;
use oxiblosc_timestamps::{Order, TIMESTAMPS};

use arrays::{Column, Kind};
use peer::{Figures, Task};
use settings::Setting;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long each measurement is repeated, in processor time: other programs may run.
const PATIENCE: Duration = Duration::from_millis(400);

/// The relative error that the floats are rounded to.
const BOUND: f64 = 1e-3;

fn main() -> Result<()> {
    oxiblosc_brotli::link();
    let mut arguments = std::env::args_os().skip(1).peekable();
    let python = match arguments.next_if(|argument| argument == "--python") {
        Some(_) => Some(PathBuf::from(arguments.next().ok_or("--python takes an interpreter")?)),
        None => None,
    };
    let folder = arguments.next().map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/data/arrays").into());
    let columns = arrays::load(&folder)?;

    if let Some(python) = python {
        return side_by_side(&python, &columns);
    }
    println!("Codecs: ratio, then MB/s of compression and decompression.\n");
    let settings = settings::codecs();
    heading("array", settings.iter().map(|setting| setting.name));
    for column in &columns {
        row(column, &settings)?;
    }

    for codec in [CodecId::LZ4, CodecId::ZSTD] {
        let settings = timestamp_settings(codec);
        println!("\nFilters for timestamps, with {}: the same figures.\n", settings[0].codec_name()?);
        heading("series", settings.iter().map(|setting| setting.name));
        for column in &arrays::series() {
            row(column, &settings)?;
        }
    }

    println!("\nRounding to a relative error of {BOUND}, with Zstandard at level 5: ratio and largest error.\n");
    heading("array", ["shuffle", "trunc_prec, shuffle", "bitround, shuffle"].into_iter());
    for column in columns.iter().filter(|column| column.kind == Kind::Float) {
        rounding(column)?;
    }
    Ok(())
}

/// A row for each array in oxiblosc, and one in C-Blosc2, with the block size that oxiblosc has chosen.
fn side_by_side(python: &Path, columns: &[Column]) -> Result<()> {
    let settings = settings::codecs();
    let mut tasks = Vec::new();
    let mut ours = Vec::new();
    for column in columns {
        for setting in &settings {
            let params = setting.params(column);
            let chunk = ChunkEncoder::new(&params, Registry::linked()?)?.encode(
                &column.bytes,
                &ChunkContext::default(),
                &Inline,
            )?;
            let block_size = ChunkHeader::parse(&chunk)?.blocksize;
            ours.push(measure(column, setting)?);
            tasks.push(Task { data: &column.bytes, params, block_size });
        }
    }
    let theirs = peer::measure(python, &tasks)?;
    heading("array", settings.iter().map(|setting| setting.name));
    for ((column, ours), theirs) in columns.iter().zip(ours.chunks(settings.len())).zip(theirs.chunks(settings.len())) {
        for (who, figures) in [("oxiblosc", ours), ("C-Blosc2", theirs)] {
            let cells: Vec<_> = figures.iter().map(|figures| cell(column, figures)).collect();
            println!("| {}, {who} | {} |", column.name, cells.join(" | "));
        }
    }
    Ok(())
}

fn timestamp_settings(codec: CodecId) -> Vec<Setting> {
    let (shuffle, first) = ((FilterId::SHUFFLE, 0), (TIMESTAMPS, Order::First.meta()));
    let setting = |name, filters: &[(FilterId, u8)]| Setting::new(name, codec, 5, filters);
    vec![
        setting("shuffle", &[shuffle]),
        setting("bitshuffle", &[(FilterId::BITSHUFFLE, 0)]),
        setting("delta, shuffle", &[(FilterId::DELTA, 0), shuffle]),
        setting("shuffle, bytedelta", &[shuffle, (FilterId::BYTEDELTA, 0)]),
        setting("timestamps 1", &[first]),
        setting("timestamps 2", &[(TIMESTAMPS, Order::Second.meta())]),
    ]
}

fn heading<'a>(first: &str, names: impl Iterator<Item = &'a str>) {
    let names: Vec<&str> = names.collect();
    println!("| {first} | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
}

fn row(column: &Column, settings: &[Setting]) -> Result<()> {
    print!("| {} |", column.name);
    for setting in settings {
        print!(" {} |", cell(column, &measure(column, setting)?));
    }
    println!();
    Ok(())
}

/// Compresses and decompresses one chunk.
fn measure(column: &Column, setting: &Setting) -> Result<Figures> {
    let mut encoder = ChunkEncoder::new(&setting.params(column), Registry::linked()?)?;
    let mut decoder = ChunkDecoder::new(Registry::linked()?);
    let ctx = ChunkContext::default();
    let chunk = encoder.encode(&column.bytes, &ctx, &Inline)?;
    assert!(decoder.decode(&chunk, &ctx, &Inline)? == column.bytes, "{} does not come back", column.name);
    let write = fastest(|| Ok(black_box(encoder.encode(&column.bytes, &ctx, &Inline)?).len()))?;
    let read = fastest(|| Ok(black_box(decoder.decode(&chunk, &ctx, &Inline)?).len()))?;
    Ok(Figures { bytes: chunk.len(), write: write.as_secs_f64(), read: read.as_secs_f64() })
}

/// Ratio, MB/s of compression and of decompression.
fn cell(column: &Column, figures: &Figures) -> String {
    let len = column.bytes.len() as f64;
    let digits = |speed: f64| if speed < 10.0 { 1 } else { 0 };
    let (write, read) = (len / 1e6 / figures.write, len / 1e6 / figures.read);
    format!("{:.2}, {:.*}, {:.*}", len / figures.bytes as f64, digits(write), write, digits(read), read)
}

/// The shortest time of the work, repeated for [`PATIENCE`].
fn fastest(mut work: impl FnMut() -> Result<usize>) -> Result<Duration> {
    let (begun, mut best) = (ThreadTime::now(), Duration::MAX);
    while best == Duration::MAX || begun.elapsed() < PATIENCE {
        let start = ThreadTime::now();
        work()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

fn rounding(column: &Column) -> Result<()> {
    let precision = Precision::for_relative_error(column.typesize, BOUND)?;
    // Cutting bits off needs one more for the same bound.
    let cut = precision.mantissa_bits() + 1;
    let shuffle = (FilterId::SHUFFLE, 0);
    let settings = [
        Setting::new("", CodecId::ZSTD, 5, &[shuffle]),
        Setting::new("", CodecId::ZSTD, 5, &[(FilterId::TRUNC_PREC, cut), shuffle]),
        Setting::new("", CodecId::ZSTD, 5, &[(precision.slot().id, precision.slot().meta), shuffle]),
    ];
    print!("| {} |", column.name);
    for setting in settings {
        let chunk = ChunkEncoder::new(&setting.params(column), Registry::linked()?)?.encode(
            &column.bytes,
            &ChunkContext::default(),
            &Inline,
        )?;
        let back = ChunkDecoder::new(Registry::linked()?).decode(&chunk, &ChunkContext::default(), &Inline)?;
        let (before, after) = (column.floats(&column.bytes), column.floats(&back));
        let errors = before.zip(after).filter(|(x, _)| *x != 0.0).map(|(x, y)| ((y - x) / x).abs());
        let (largest, ratio) = (errors.fold(0.0, f64::max), column.bytes.len() as f64 / chunk.len() as f64);
        print!(" {ratio:.2}, {largest:.1e} |");
    }
    println!();
    Ok(())
}
