//! Filters and codecs named on the command line.

use std::str::FromStr;

use oxiblosc::pipeline::FilterSlots;
use oxiblosc::plugin_params::{ParamError, Params, PluginParams};
use oxiblosc::{CodecId, FilterId, Registry};

use crate::error::CliError;

/// A codec by name or id with its parameters; looked up once the registry is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodecChoice {
    codec: NameOrId,
    params: Params,
}

/// A filter by name or id with its byte of metadata and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterChoice {
    filter: NameOrId,
    meta: u8,
    params: Params,
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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (codec, params) = split_params(text)?;
        Ok(Self { codec: codec.into(), params })
    }
}

/// Splits `NAME:PARAM=VALUE,...` into what is before the colon and the parameters.
fn split_params(text: &str) -> Result<(&str, Params), String> {
    let Some((plugin, params)) = text.split_once(':') else { return Ok((text, Params::default())) };
    Ok((plugin, params.parse().map_err(|error: ParamError| error.to_string())?))
}

impl FromStr for FilterChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (filter, params) = split_params(text)?;
        let (filter, meta) = filter.split_once('=').unwrap_or((filter, "0"));
        Ok(Self { filter: filter.into(), meta: parse_meta(meta)?, params })
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
    /// The id, if the registry has the codec, and the parameters.
    pub(crate) fn resolve(&self, registry: &Registry) -> Result<(CodecId, Params), CliError> {
        let entry = match &self.codec {
            NameOrId::Name(name) => registry.codec_by_name(name),
            NameOrId::Id(id) => registry.codec(CodecId(*id)),
        };
        let info = entry.map_err(|e| CliError::Usage(e.to_string()))?.info();
        if !info.traits.encode {
            return Err(CliError::Usage(format!("codec {} can only be read, not written", info.name)));
        }
        Ok((info.id, self.params.clone()))
    }
}

/// The filter slots for `choices`, in their order, and `params` with the parameters of the filters; byte shuffle when
/// there are none.
pub(crate) fn resolve_filters(
    choices: &[FilterChoice],
    mut plugin_params: PluginParams,
    registry: &Registry,
) -> Result<(FilterSlots, PluginParams), CliError> {
    if choices.is_empty() {
        return Ok((FilterSlots::SHUFFLE, plugin_params));
    }
    let mut filters = Vec::new();
    for FilterChoice { filter, meta, params } in choices {
        let entry = match filter {
            NameOrId::Name(name) if name == "none" => continue,
            NameOrId::Name(name) => registry.filter_by_name(name),
            NameOrId::Id(id) => registry.filter(FilterId(*id)),
        };
        let id = entry.map_err(|e| CliError::Usage(e.to_string()))?.info().id;
        plugin_params = plugin_params.filter(filters.len() as u8, id, params.clone());
        filters.push((id, *meta));
    }
    let slots = FilterSlots::from_list(&filters)
        .ok_or_else(|| CliError::Usage(format!("{} filters, but there are only six slots", filters.len())))?;
    Ok((slots, plugin_params))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ids_and_meta() {
        let filter = |text: &str| text.parse::<FilterChoice>();
        assert_eq!(
            filter("shuffle"),
            Ok(FilterChoice { filter: NameOrId::Name("shuffle".into()), meta: 0, params: Params::default() })
        );
        assert_eq!(filter("trunc_prec=-10").map(|f| f.meta), Ok(0xF6));
        let params = Params::default().with("key", "a:b").with("n", 2);
        assert_eq!(
            filter("200=255:key=a:b,n=2"),
            Ok(FilterChoice { filter: NameOrId::Id(200), meta: 255, params: params.clone() })
        );
        for bad in ["shuffle=", "shuffle=256", "shuffle=-129", "shuffle=x", "shuffle:", "shuffle:a", "shuffle:a=1,a=2"]
        {
            assert!(filter(bad).is_err(), "{bad}");
        }
        assert_eq!("pco:key=a:b,n=2".parse(), Ok(CodecChoice { codec: NameOrId::Name("pco".into()), params }));
    }

    #[test]
    fn more_filters_than_slots_is_bad_usage() {
        let registry = Registry::linked().expect("the plugins are linked");
        let choices = vec!["shuffle".parse().expect("a filter"); 7];
        assert!(matches!(resolve_filters(&choices, PluginParams::default(), registry), Err(CliError::Usage(_))));
    }
}
