//! `oxiblosc diff`.

mod data;
mod item;
mod metadata;

use std::io::{self, Write};

use oxiblosc::{ChecksumPolicy, Registry};
use serde_json::{Map, Value, json};

use crate::args::{Compared, DiffArgs};
use crate::error::CliError;
use crate::info;
use crate::input::Input;
use crate::progress;
use data::{DataDiff, Side};
use metadata::Layers;

/// Parameters that are compared, by their names in `info --json`. Others say how large the result is, or where it is.
const PARAMETERS: [&str; 11] = [
    "typesize",
    "dtype",
    "shape",
    "chunkshape",
    "blockshape",
    "chunksize",
    "blocksize",
    "codec",
    "level",
    "filters",
    "dict",
];

pub(crate) fn run(args: &DiffArgs, registry: &Registry) -> Result<(), CliError> {
    match compare(args, registry) {
        Err(error @ (CliError::BrokenPipe | CliError::Different)) => Err(error),
        Err(error) => Err(CliError::NotCompared(Box::new(error))),
        Ok(()) => Ok(()),
    }
}

fn compare(args: &DiffArgs, registry: &Registry) -> Result<(), CliError> {
    let wanted = |what| args.only.is_empty() || args.only.contains(&what);
    let mut inputs = [Input::open(&args.a)?, Input::open(&args.b)?];
    let mut parameters = Vec::new();
    if wanted(Compared::Parameters) {
        let (a, b) = (info::as_json(&inputs[0], registry)?, info::as_json(&inputs[1], registry)?);
        parameters = PARAMETERS
            .into_iter()
            .filter(|key| a[key] != b[key])
            .map(|key| (key, [a[key].clone(), b[key].clone()]))
            .collect();
    }
    let pool = args.run.pool();
    let bar = progress::bar(None, args.run.quiet);
    inputs.iter_mut().for_each(|input| input.watch(&bar));
    let [a, b] = &inputs;
    let options = || args.reading.options(&pool, registry, ChecksumPolicy::Ignore);
    let sides = [Side::open(a, args, &options(), &pool, registry)?, Side::open(b, args, &options(), &pool, registry)?];
    let layers = match wanted(Compared::Metadata) {
        true => metadata::differences(sides.each_ref().map(|side| side.reader.as_ref()), [a, b])?,
        false => Layers::new(),
    };
    let data = match wanted(Compared::Data) {
        true => {
            bar.set_length(sides.iter().map(|side| side.cbytes).sum());
            let found = data::compare(sides);
            bar.finish_and_clear();
            Some(found?)
        }
        false => None,
    };
    let equal = parameters.is_empty() && layers.is_empty() && data.as_ref().is_none_or(DataDiff::is_equal);
    let text = if args.json {
        format!("{:#}\n", to_json(equal, data.as_ref(), &parameters, &layers))
    } else if args.run.quiet {
        String::new()
    } else {
        to_text(data.as_ref(), &parameters, &layers, [a, b], equal)
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CliError::stdout)?;
    if equal {
        return Ok(());
    }
    // Whether they are different is known all the same where their parameters are.
    let is_known = !parameters.is_empty() || !layers.is_empty() || data.as_ref().is_none_or(DataDiff::is_compared);
    Err(if is_known { CliError::Different } else { CliError::NotCompared(Box::new(CliError::Different)) })
}

type Parameters = [(&'static str, [Value; 2])];

fn to_json(equal: bool, data: Option<&DataDiff>, parameters: &Parameters, layers: &Layers) -> Value {
    let pairs: Map<_, _> = parameters.iter().map(|(key, pair)| ((*key).to_owned(), json!(pair))).collect();
    let layer = |layer: &metadata::LayerDiff| json!({ "place": layer.place, "name": layer.name, "a": layer.json(0), "b": layer.json(1) });
    json!({
        "equal": equal,
        "data": data.map(DataDiff::to_json),
        "parameters": pairs,
        "metadata": layers.iter().map(layer).collect::<Vec<_>>(),
    })
}

fn to_text(
    data: Option<&DataDiff>,
    parameters: &Parameters,
    layers: &Layers,
    [a, b]: [&Input; 2],
    equal: bool,
) -> String {
    let mut lines = Vec::new();
    if let Some(data) = data {
        lines.push(data.to_text([&a.name, &b.name]));
    }
    lines.extend(parameters.iter().map(|(key, [a, b])| format!("{key}: {} and {}", short(a), short(b))));
    lines.extend(layers.iter().map(|layer| layer.to_text([&a.name, &b.name])));
    if equal {
        lines.push(format!("{} and {} are equal", a.name, b.name));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// A parameter as `info` shows it to people.
fn short(value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::String(text) => text.clone(),
        Value::Object(named) => {
            let name = named["name"].as_str().map_or_else(|| named["id"].to_string(), str::to_owned);
            let meta = if named["meta"] == 0 { String::new() } else { format!("={}", named["meta"]) };
            let params = named.get("params").map_or_else(String::new, |params| format!(" with {params}"));
            format!("{name}{meta}{params}")
        }
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().map(short).collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) => format!("[{}]", items.iter().map(short).collect::<Vec<_>>().join(", ")),
        value => value.to_string(),
    }
}
