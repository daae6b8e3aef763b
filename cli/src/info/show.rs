//! The two forms of output: lines for people, JSON for programs.

use std::fmt;

use oxiblosc::frame::{ChecksumState, MetaValue};
use oxiblosc::nd::ArrayMeta;
use oxiblosc::plugin_params::PluginParams;
use serde_json::{Map, Value, json};

use super::{Info, Layers, Named};
use crate::needs::missing_json;
use crate::units::{ratio, show_exact};

/// Characters shown of a metalayer.
const MOST_SHOWN: usize = 400;

impl Info {
    /// The codec and the filters.
    fn named(&self) -> impl Iterator<Item = &Named> {
        std::iter::once(&self.codec).chain(&self.filters)
    }

    fn ratio(&self) -> Option<f64> {
        ratio(self.nbytes?, self.cbytes?)
    }

    pub(super) fn to_json(&self) -> Value {
        let geometry = self.array.as_ref().map(|array| &array.geometry);
        json!({
            "kind": self.kind,
            "layout": self.layout,
            "version": self.version,
            "nbytes": self.nbytes,
            "cbytes": self.cbytes,
            "ratio": self.ratio(),
            "typesize": self.typesize,
            "chunksize": self.chunksize,
            "blocksize": self.blocksize,
            "nchunks": self.nchunks,
            "codec": self.codec.to_json(),
            "level": self.level,
            "filters": self.filters.iter().map(Named::to_json).collect::<Vec<_>>(),
            "plugins": self.needs.to_json(),
            "missing": missing_json(&self.needs.missing),
            "dict": self.dict,
            "meta": layers(&self.meta),
            "vlmeta": layers(&self.vlmeta),
            "usermeta": self.usermeta.as_ref().map(json_of),
            "fingerprint": self.fingerprint.map(|fingerprint| json!({
                "type": fingerprint.kind,
                "digest": fingerprint.to_string(),
            })),
            "checksums": checksums(&self.checksums),
            "sealed": self.sealed,
            "shape": geometry.map(|geometry| &geometry.shape),
            "chunkshape": geometry.map(|geometry| &geometry.chunk_shape),
            "blockshape": geometry.map(|geometry| &geometry.block_shape),
            "dtype": self.array.as_ref().and_then(|array| array.dtype.as_ref()),
            "chunk": self.chunk.as_ref().map(|form| json!({
                "body": form.body,
                "split": form.split,
                "lazy": form.lazy,
                "instrumented": form.instrumented,
            })),
            "notes": self.notes,
        })
    }
}

fn checksums(state: &ChecksumState) -> Option<&'static str> {
    Some(match state {
        ChecksumState::Absent => return None,
        ChecksumState::Valid(_) => "valid",
        ChecksumState::Outdated => "outdated",
        ChecksumState::Unknown => "unknown",
        _ => "damaged",
    })
}

/// The content of metalayers: msgpack by convention.
fn layers(layers: &Layers) -> Map<String, Value> {
    layers.iter().map(|(name, content)| (name.clone(), json_of(content))).collect()
}

fn json_of(content: &Result<MetaValue, String>) -> Value {
    match content {
        Ok(content) => {
            let text = content.to_json();
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
        Err(error) => json!({ "error": error }),
    }
}

impl Named {
    fn to_json(&self) -> Value {
        let mut named = json!({ "id": self.id, "name": self.name, "meta": self.meta });
        if let Some(params) = &self.params {
            let params: Map<_, _> = params.iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
            named["params"] = params.into();
        }
        named
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => f.write_str(name)?,
            None => write!(f, "{} (no provider)", self.id)?,
        }
        if self.meta != 0 {
            write!(f, "={}", self.meta)?;
        }
        // As in the options that give them.
        self.params.as_ref().map_or(Ok(()), |params| write!(f, ":{}", plain(&params.to_string())))
    }
}

impl fmt::Display for Info {
    /// One line for each fact, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |key: &str, value: String| writeln!(f, "{key:<12} {value}");
        let size = show_exact;
        let layout = if self.layout == Some("sparse") && self.kind == "b2nd" { "sparse " } else { "" };
        line("kind", format!("{layout}{}, version {}", self.kind, self.version))?;
        if let Some(ArrayMeta { geometry, dtype, .. }) = &self.array {
            line("shape", format!("{:?}", geometry.shape))?;
            line("chunkshape", format!("{:?}", geometry.chunk_shape))?;
            line("blockshape", format!("{:?}", geometry.block_shape))?;
            line("dtype", dtype.as_deref().map_or_else(|| "not recorded".into(), plain))?;
        }
        if let (Some(nbytes), Some(cbytes)) = (self.nbytes, self.cbytes) {
            line("nbytes", size(nbytes))?;
            line("cbytes", size(cbytes))?;
        }
        if let Some(ratio) = self.ratio() {
            line("ratio", format!("{ratio:.2}"))?;
        }
        // The first chunk of a frame determines its chunk size.
        let unknown = if self.nchunks == Some(0) { "not settled yet" } else { "variable" };
        line("typesize", self.typesize.to_string())?;
        line("chunksize", self.chunksize.map_or_else(|| unknown.into(), size))?;
        if let Some(blocksize) = self.blocksize {
            line("blocksize", size(blocksize))?;
        }
        if let Some(nchunks) = self.nchunks {
            line("nchunks", nchunks.to_string())?;
        }
        if let Some(form) = &self.chunk {
            line("body", format!("{}{}", form.body, if form.split { ", split" } else { "" }))?;
        }
        line("codec", format!("{}{}", self.codec, if self.dict { ", with dictionaries" } else { "" }))?;
        if let Some(level) = self.level {
            line("level", level.to_string())?;
        }
        let filters: Vec<_> = self.filters.iter().map(Named::to_string).collect();
        line("filters", if filters.is_empty() { "none".into() } else { filters.join(", ") })?;
        for plugin in self.needs.added() {
            line("needs", plugin.to_string())?;
        }
        for missing in &self.needs.missing {
            line("missing", plain(&missing.to_string()))?;
        }
        for (key, layers) in [("meta", &self.meta), ("vlmeta", &self.vlmeta)] {
            // That of an array has been shown as its shapes, that of plugins behind their names.
            let of_array =
                |name: &str| self.array.is_some() && [ArrayMeta::NAME, ArrayMeta::LEGACY_NAME].contains(&name);
            let of_plugins =
                |name: &str| self.named().any(|named| named.params.is_some()) && name == PluginParams::METALAYER;
            let shown = |name: &str| of_array(name) || key == "meta" && of_plugins(name);
            for (name, content) in layers.iter().filter(|(name, _)| !shown(name)) {
                line(key, format!("{}: {}", plain(name), text(content)))?;
            }
        }
        if let Some(content) = &self.usermeta {
            line("usermeta", text(content))?;
        }
        if let Some(fingerprint) = &self.fingerprint {
            line("fingerprint", fingerprint.to_string())?;
        }
        if let Some(state) = checksums(&self.checksums) {
            line("checksums", state.into())?;
        }
        if !self.sealed {
            line("sealed", "no".into())?;
        }
        self.notes.iter().try_for_each(|note| line("note", plain(note)))
    }
}

/// The content of a metalayer in the notation of Python, shortened when it is long.
fn text(content: &Result<MetaValue, String>) -> String {
    let text = match content {
        Ok(content) => content.to_string(),
        Err(error) => format!("damaged: {}", plain(error)),
    };
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => {
            format!("{} ... ({} characters, all of them with --json)", &text[..end], text.chars().count())
        }
        None => text,
    }
}

/// Text of a file that must not garble a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
