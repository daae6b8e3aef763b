//! Comparing metalayers.

use std::collections::BTreeMap;

use bytes::Bytes;
use oxiblosc::block_on;
use oxiblosc::frame::{Checksums, MetaValue, Sequential};
use oxiblosc::nd::ArrayMeta;
use serde_json::Value;

use crate::error::CliError;
use crate::input::{Input, Reader};

/// Characters shown of a metalayer.
const MOST_SHOWN: usize = 100;

/// Metalayers that differ, in the order of their names.
pub(super) type Layers = Vec<LayerDiff>;

/// A metalayer that differs.
pub(super) struct LayerDiff {
    /// `meta` or `vlmeta`, as in `info --json`.
    pub(super) place: &'static str,
    pub(super) name: String,
    /// The content on either side; `None` if there is none of this name.
    contents: [Option<Bytes>; 2],
}

impl LayerDiff {
    /// The content on a side as JSON; null if there is none.
    pub(super) fn json(&self, side: usize) -> Value {
        let Some(content) = &self.contents[side] else { return Value::Null };
        let text = MetaValue::read(content).to_json();
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }

    pub(super) fn to_text(&self, names: [&str; 2]) -> String {
        let shown = |content: &Bytes| {
            let text = MetaValue::read(content).to_string();
            match text.char_indices().nth(MOST_SHOWN) {
                Some((end, _)) => format!("{} ...", &text[..end]),
                None => text,
            }
        };
        // Names come from files, and must not garble a terminal.
        let name: String = self.name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let place = self.place;
        match &self.contents {
            [Some(a), Some(b)] => format!("{place} {name}: {} and {}", shown(a), shown(b)),
            [Some(_), None] => format!("{place} {name}: only in {}", names[0]),
            _ => format!("{place} {name}: only in {}", names[1]),
        }
    }
}

/// The metalayers that differ in their bytes, or that only one side has. Those about the shape, the order or the checksums
/// of chunks are not compared.
///
/// # Errors
/// A variable-length metalayer that cannot be read.
pub(super) fn differences(readers: [Option<&Reader>; 2], inputs: [&Input; 2]) -> Result<Layers, CliError> {
    let mut all: BTreeMap<(&'static str, String), [Option<Bytes>; 2]> = BTreeMap::new();
    for (side, reader) in readers.into_iter().enumerate() {
        let Some(reader) = reader else { continue };
        for (name, content) in reader.metalayers().iter() {
            if ![ArrayMeta::NAME, ArrayMeta::LEGACY_NAME, Sequential::NAME].contains(&&*name) {
                all.entry(("meta", name.into_owned())).or_default()[side] = Some(content.clone());
            }
        }
        for name in reader.vlmetalayer_names().into_iter().filter(|name| name != Checksums::NAME) {
            let content = block_on(reader.vlmetalayer(&name)).map_err(|error| inputs[side].failed(error))?;
            all.entry(("vlmeta", name)).or_default()[side] = content;
        }
    }
    let differs = |(_, [a, b]): &((&'static str, String), [Option<Bytes>; 2])| a != b;
    let layer = |((place, name), contents)| LayerDiff { place, name, contents };
    Ok(all.into_iter().filter(differs).map(layer).collect())
}
