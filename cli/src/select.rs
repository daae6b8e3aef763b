//! Filters and codecs named on the command line.

use std::convert::Infallible;
use std::str::FromStr;

use oxiblosc::pipeline::FilterSlots;
use oxiblosc::{CodecId, FilterId, Registry};

use crate::error::CliError;

/// A codec by name or id; looked up once the registry is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodecChoice(NameOrId);

/// A filter by name or id with its byte of metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterChoice {
    filter: NameOrId,
    meta: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum NameOrId {
    Name(String),
    Id(u8),
}

impl From<&str> for NameOrId {
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Id)
    }
}

impl FromStr for CodecChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.into()))
    }
}

impl FromStr for FilterChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (filter, meta) = text.split_once('=').unwrap_or((text, "0"));
        Ok(Self { filter: filter.into(), meta: parse_meta(meta)? })
    }
}

/// A byte of metadata. Some filters read it as signed, so -128 to 255 are accepted.
fn parse_meta(text: &str) -> Result<u8, String> {
    let number: i16 = text.parse().map_err(|e| format!("meta {text:?}: {e}"))?;
    match number {
        0..=255 => Ok(number as u8),
        -128..=-1 => Ok(number as i8 as u8),
        _ => Err(format!("meta {number} is not a byte (-128 to 255)")),
    }
}

impl CodecChoice {
    /// The id, if the registry has the codec.
    pub(crate) fn resolve(&self, registry: &Registry) -> Result<CodecId, CliError> {
        let entry = match &self.0 {
            NameOrId::Name(name) => registry.codec_by_name(name),
            NameOrId::Id(id) => registry.codec(CodecId(*id)),
        };
        let info = entry.map_err(|e| CliError::Usage(e.to_string()))?.info();
        if !info.traits.encode {
            return Err(CliError::Usage(format!("codec {} can only be read, not written", info.name)));
        }
        Ok(info.id)
    }
}

/// The filter slots for `choices`, in their order; byte shuffle when there are none.
pub(crate) fn resolve_filters(choices: &[FilterChoice], registry: &Registry) -> Result<FilterSlots, CliError> {
    if choices.is_empty() {
        return Ok(FilterSlots::SHUFFLE);
    }
    let mut filters = Vec::new();
    for FilterChoice { filter, meta } in choices {
        let entry = match filter {
            NameOrId::Name(name) if name == "none" => continue,
            NameOrId::Name(name) => registry.filter_by_name(name),
            NameOrId::Id(id) => registry.filter(FilterId(*id)),
        };
        filters.push((entry.map_err(|e| CliError::Usage(e.to_string()))?.info().id, *meta));
    }
    FilterSlots::from_list(&filters)
        .ok_or_else(|| CliError::Usage(format!("{} filters, but there are only six slots", filters.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ids_and_meta() {
        let filter = |text: &str| text.parse::<FilterChoice>();
        assert_eq!(filter("shuffle"), Ok(FilterChoice { filter: NameOrId::Name("shuffle".into()), meta: 0 }));
        assert_eq!(filter("trunc_prec=-10").map(|f| f.meta), Ok(0xF6));
        assert_eq!(filter("200=255"), Ok(FilterChoice { filter: NameOrId::Id(200), meta: 255 }));
        for bad in ["shuffle=", "shuffle=256", "shuffle=-129", "shuffle=x"] {
            assert!(filter(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn more_filters_than_slots_is_bad_usage() {
        let registry = Registry::linked().expect("the plugins are linked");
        let choices = vec!["shuffle".parse().expect("a filter"); 7];
        assert!(matches!(resolve_filters(&choices, registry), Err(CliError::Usage(_))));
    }
}
