//! `oxiblosc plugins`: the filters and codecs that are linked in or loaded.

use std::io::{self, Write};

use oxiblosc::codec::CodecTraits;
use oxiblosc::filter::FilterTraits;
use oxiblosc::plugin::Provider;
use oxiblosc::plugin_params::ParamInfo;
use oxiblosc::{IdRange, Registry};
use serde_json::{Value, json};

use crate::args::PluginsArgs;
use crate::error::{CliError, one_line};
use crate::needs::range;

/// One filter or codec, ready to be shown.
struct Row {
    id: u8,
    name: &'static str,
    provider: &'static Provider,
    notes: Vec<&'static str>,
    params: &'static [ParamInfo],
}

pub(crate) fn run(args: &PluginsArgs, registry: &Registry) -> Result<(), CliError> {
    let codecs: Vec<Row> = registry
        .codecs()
        .map(|entry| entry.info())
        .map(|info| Row {
            id: info.id.0,
            name: info.name,
            provider: info.provider,
            notes: codec_notes(info.traits),
            params: info.traits.params,
        })
        .collect();
    let filters: Vec<Row> = registry
        .filters()
        .map(|entry| entry.info())
        .map(|info| Row {
            id: info.id.0,
            name: info.name,
            provider: info.provider,
            notes: filter_notes(info.traits),
            params: info.traits.params,
        })
        .collect();
    let mut out = io::stdout().lock();
    if args.json {
        let list = |rows: &[Row]| rows.iter().map(Row::to_json).collect::<Vec<_>>();
        let problems: Vec<String> = registry.problems().map(|problem| one_line(problem)).collect();
        writeln!(out, "{:#}", json!({ "codecs": list(&codecs), "filters": list(&filters), "problems": problems }))
    } else {
        table(&mut out, "codecs", &codecs)
            .and_then(|()| writeln!(out))
            .and_then(|()| table(&mut out, "filters", &filters))
            .and_then(|()| {
                registry.problems().try_for_each(|problem| writeln!(out, "\ncannot be used: {}", one_line(problem)))
            })
    }
    .and_then(|()| out.flush())
    .map_err(CliError::stdout)
}

fn codec_notes(traits: CodecTraits) -> Vec<&'static str> {
    let mut notes = vec![if traits.encode { "reads and writes" } else { "reads only" }];
    notes.extend(traits.lossy.then_some("lossy"));
    notes.extend(traits.dict.then_some("dictionaries"));
    notes.extend(traits.needs_array.then_some("for arrays"));
    notes
}

fn filter_notes(traits: FilterTraits) -> Vec<&'static str> {
    let mut notes = vec![if traits.lossy { "lossy" } else { "lossless" }];
    notes.extend(traits.needs_array.then_some("for arrays"));
    notes
}

impl Row {
    fn range(&self) -> &'static str {
        range(IdRange::of(self.id))
    }

    fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "range": self.range(),
            "provider": self.provider.name,
            "version": self.provider.version,
            "notes": self.notes,
            "params": self.params.iter().map(|param| {
                json!({ "name": param.name, "help": param.help, "recorded": param.recorded })
            }).collect::<Vec<_>>(),
        })
    }
}

fn table(out: &mut impl Write, title: &str, rows: &[Row]) -> io::Result<()> {
    writeln!(out, "{title}")?;
    for row in rows {
        let notes = row.notes.join(", ");
        writeln!(
            out,
            "  {:>3}  {:<16} {:<11} {:<24} {notes}",
            row.id,
            row.name,
            row.range(),
            row.provider.to_string()
        )?;
        for param in row.params {
            writeln!(out, "       {}: {}", param.name, param.help)?;
        }
    }
    Ok(())
}
