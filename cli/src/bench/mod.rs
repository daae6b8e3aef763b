//! `oxiblosc bench`.

mod data;
mod measure;

use std::io::{self, Write};
use std::thread;

use oxiblosc::Registry;
use serde_json::{Value, json};

use crate::args::BenchArgs;
use crate::error::CliError;
use crate::progress;
use crate::units::{ratio, show_bytes, show_rate, show_seconds};
use data::Data;
use measure::{Bench, Timing};

/// What has been measured with a number of threads.
struct Column {
    threads: usize,
    memcpy: Timing,
    compress: Timing,
    decompress: Timing,
    /// Reading one item.
    item: Timing,
}

pub(crate) fn run(args: &BenchArgs, registry: &Registry) -> Result<(), CliError> {
    let data = Data::load(args, registry)?;
    let all = args.threads.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
    let mut counts = vec![1, all];
    counts.dedup();
    let bar = progress::count(4 * counts.len() as u64, args.quiet);
    let mut columns = Vec::new();
    let mut cbytes = 0;
    for threads in counts {
        let bench = Bench { data: &data, threads, registry, seconds: args.seconds };
        let memcpy = bench.memcpy();
        bar.inc(1);
        let (frame, compress) = bench.compress()?;
        bar.inc(1);
        let decompress = bench.decompress(&frame)?;
        bar.inc(1);
        let item = bench.item(&frame)?;
        bar.inc(1);
        cbytes = frame.len() as u64;
        columns.push(Column { threads, memcpy, compress, decompress, item });
    }
    bar.finish_and_clear();
    let text = match args.json {
        true => format!("{:#}\n", to_json(&data, cbytes, &columns)),
        false => table(&data, cbytes, &columns),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CliError::stdout)
}

fn to_json(data: &Data, cbytes: u64, columns: &[Column]) -> Value {
    let nbytes = data.bytes.len() as u64;
    let column = |column: &Column| {
        let rate = |timing: &Timing| json!({ "bytes_per_second": timing.rate(nbytes), "rounds": timing.rounds });
        json!({
            "threads": column.threads,
            "memcpy": rate(&column.memcpy),
            "compress": rate(&column.compress),
            "decompress": rate(&column.decompress),
            "item": { "seconds": column.item.seconds, "rounds": column.item.rounds },
        })
    };
    json!({
        "input": data.name,
        "whole": data.whole,
        "nbytes": nbytes,
        "frame_len": cbytes,
        "ratio": ratio(nbytes, cbytes),
        "typesize": data.params.typesize,
        "parameters": data.description,
        "columns": columns.iter().map(column).collect::<Vec<_>>(),
    })
}

fn table(data: &Data, cbytes: u64, columns: &[Column]) -> String {
    let nbytes = data.bytes.len() as u64;
    let part = if data.whole { "" } else { "the first " };
    let ratio = ratio(nbytes, cbytes).unwrap_or(1.0);
    let mut text = format!(
        "{}: {part}{} to {}, {ratio:.2}x, {}\n\n{:<10}",
        data.name,
        show_bytes(nbytes),
        show_bytes(cbytes),
        data.description,
        ""
    );
    for column in columns {
        let threads = if column.threads == 1 { "1 thread".into() } else { format!("{} threads", column.threads) };
        text += &format!("  {threads:>14} {:>9}", "of memcpy");
    }
    let mut row = |name: &str, cell: &dyn Fn(&Column) -> (String, Option<f64>)| {
        let mut line = format!("\n{name:<10}");
        for column in columns {
            let (value, share) = cell(column);
            let share = share.map_or_else(String::new, |share| format!("{:.2} %", 100.0 * share));
            line += &format!("  {value:>14} {share:>9}");
        }
        text += line.trim_end();
    };
    let speed = |timing: &Timing| show_rate(timing.rate(nbytes));
    let share = |timing: &Timing, column: &Column| Some(timing.rate(nbytes) / column.memcpy.rate(nbytes));
    row("memcpy", &|column| (speed(&column.memcpy), None));
    row("compress", &|column| (speed(&column.compress), share(&column.compress, column)));
    row("decompress", &|column| (speed(&column.decompress), share(&column.decompress, column)));
    row("one item", &|column| (show_seconds(column.item.seconds), None));
    let rounds = columns.iter().flat_map(|column| [&column.memcpy, &column.compress, &column.decompress]);
    let least = rounds.map(|timing| timing.rounds).min().unwrap_or_default();
    text + &format!(
        "\n\nfrom memory to memory, the fastest of {least} rounds or more; items are read one by one, at random\n"
    )
}
