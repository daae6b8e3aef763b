//! Parameters of filters and codecs for which a byte of metadata is not enough.
//!
//! A codec has one byte of metadata in the chunk, a filter one in its slot. A plugin that needs more declares named
//! [parameters](ParamInfo). They are part of [`EncodeParams`](crate::chunk::EncodeParams), and those that a reader needs
//! are recorded in a metalayer of the frame ([`PluginParams::METALAYER`]), which readers of this crate hand to the plugin
//! again.
//!
//! Source: docs/format.md, "Parameters of plugins".

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rmp::encode::{write_array_len, write_map_len, write_str, write_uint};
use thiserror::Error;

use crate::frame::{MetaValue, Metalayers};
use crate::id::{CodecId, FilterId};
use crate::pipeline::FilterSlots;

/// A parameter that a plugin declares in its traits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name: letters, digits and `_`.
    pub name: &'static str,
    /// What it does and which values it takes, in one line.
    pub help: &'static str,
    /// Readers need it, so that it is recorded in the frame.
    pub recorded: bool,
}

impl ParamInfo {
    /// A parameter that only the encoder needs.
    pub const fn encoder(name: &'static str, help: &'static str) -> Self {
        Self { name, help, recorded: false }
    }

    /// A parameter that readers need too.
    pub const fn recorded(name: &'static str, help: &'static str) -> Self {
        Self { name, help, recorded: true }
    }
}

/// The parameters of one plugin: names with values. Values are text, so that they look the same in the command, in a
/// frame and in an error; [`get`](Params::get) makes them what they stand for.
///
/// ```
/// use oxiblosc_core::plugin_params::Params;
///
/// let params = Params::default().with("delta", 2).with("level", 8);
/// assert_eq!(params, "delta=2,level=8".parse()?);
/// assert_eq!(params.get("delta", "0..=7")?, Some(2u8));
/// assert_eq!(params.get::<u8>("depth", "0..=7")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Params(BTreeMap<Box<str>, Box<str>>);

impl Params {
    /// The same with one more parameter. An earlier value of it is replaced.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.0.insert(name.into(), value.to_string().into());
        self
    }

    /// The value of a parameter; `None` if it is not given.
    ///
    /// # Errors
    /// The text does not stand for a `T`. `expected` says in the message what would.
    pub fn get<T: FromStr>(&self, name: &str, expected: &'static str) -> Result<Option<T>, ParamError> {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| self.invalid(name, expected))
    }

    /// The error for a value that the plugin does not take.
    pub fn invalid(&self, name: &str, expected: &'static str) -> ParamError {
        let value = self.0.get(name).cloned().unwrap_or_default();
        ParamErrorKind::Value { name: name.into(), value, expected }.into()
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that all of them are declared.
    pub(crate) fn check(&self, declared: &[ParamInfo]) -> Result<(), ParamError> {
        let unknown = |(name, _): &(&str, &str)| declared.iter().all(|info| info.name != *name);
        let Some((name, _)) = self.iter().find(unknown) else { return Ok(()) };
        let known = declared.iter().map(|info| info.name).collect::<Vec<_>>().join(", ");
        Err(ParamErrorKind::Unknown { name: name.into(), known: known.into() }.into())
    }

    /// Those that readers need.
    fn recorded(&self, declared: &[ParamInfo]) -> Self {
        let needed = |name: &str| declared.iter().any(|info| info.recorded && info.name == name);
        Self(
            self.0.iter().filter(|(name, _)| needed(name)).map(|(name, value)| (name.clone(), value.clone())).collect(),
        )
    }

    fn write(&self, out: &mut Vec<u8>) -> Option<()> {
        write_map_len(out, u32::try_from(self.0.len()).ok()?).ok()?;
        self.iter().try_for_each(|(name, value)| {
            write_str(out, name).ok()?;
            write_str(out, value).ok()
        })
    }

    fn read(value: &MetaValue) -> Option<Self> {
        let MetaValue::Map(pairs) = value else { return None };
        let pairs = pairs.iter().map(|pair| match pair {
            (MetaValue::Text(name), MetaValue::Text(value)) => Some((name.as_str().into(), value.as_str().into())),
            _ => None,
        });
        pairs.collect::<Option<_>>().map(Self)
    }
}

/// `name=value,name=value`, as in the command.
impl FromStr for Params {
    type Err = ParamError;

    fn from_str(text: &str) -> Result<Self, ParamError> {
        let mut params = Self::default();
        for pair in text.split(',') {
            let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
                return Err(ParamErrorKind::Syntax { found: pair.into() }.into());
            };
            if params.0.insert(name.into(), value.into()).is_some() {
                return Err(ParamErrorKind::Twice { name: name.into() }.into());
            }
        }
        Ok(params)
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.iter().enumerate() {
            let separator = if i > 0 { "," } else { "" };
            write!(f, "{separator}{name}={value}")?;
        }
        Ok(())
    }
}

/// Why the parameters of a plugin are not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ParamError(Box<ParamErrorKind>);

impl ParamError {
    /// What is wrong.
    pub fn kind(&self) -> &ParamErrorKind {
        &self.0
    }
}

impl From<ParamErrorKind> for ParamError {
    fn from(kind: ParamErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

/// What is wrong with the parameters of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParamErrorKind {
    /// The plugin has no such parameter.
    Unknown {
        /// The name given.
        name: Box<str>,
        /// The names there are.
        known: Box<str>,
    },
    /// The plugin does not take the value.
    Value {
        /// Name of the parameter.
        name: Box<str>,
        /// The value given.
        value: Box<str>,
        /// What would have been valid.
        expected: &'static str,
    },
    /// The text is not `name=value`.
    Syntax {
        /// The text.
        found: Box<str>,
    },
    /// A parameter is given more than once.
    Twice {
        /// Name of the parameter.
        name: Box<str>,
    },
}

impl fmt::Display for ParamErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, known } if known.is_empty() => {
                write!(f, "there is no parameter {name:?}: the plugin takes none")
            }
            Self::Unknown { name, known } => write!(f, "there is no parameter {name:?}; known: {known}"),
            Self::Value { name, value, expected } => write!(f, "parameter {name} is {value:?}, expected {expected}"),
            Self::Syntax { found } => write!(f, "{found:?} is not of the form `name=value`"),
            Self::Twice { name } => write!(f, "parameter {name} is given twice"),
        }
    }
}

/// The parameters of the codec and of the filters of a pipeline. Cloning shares them.
///
/// Each is for one plugin in one place, named by its id, so that they do no harm to the chunks of a frame that were
/// written with other plugins.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PluginParams {
    codec: Option<Arc<(CodecId, Params)>>,
    filters: Option<Arc<[(u8, FilterId, Params)]>>,
}

impl PluginParams {
    /// The metalayer that records the parameters that readers need.
    pub const METALAYER: &'static str = "oxiblosc_plugins";

    /// The same with these parameters for codec `id`. Earlier ones are replaced.
    #[must_use]
    pub fn codec(mut self, id: CodecId, params: impl Into<Params>) -> Self {
        let params = params.into();
        self.codec = (!params.is_empty()).then(|| Arc::new((id, params)));
        self
    }

    /// The same with these parameters for filter `id` in slot `slot`, 0..=5. Earlier ones of the slot are replaced.
    #[must_use]
    pub fn filter(mut self, slot: u8, id: FilterId, params: impl Into<Params>) -> Self {
        let params = params.into();
        let others = self.filters().filter(|(other, ..)| *other != slot).cloned();
        let mut filters: Vec<_> = others.chain((!params.is_empty()).then_some((slot, id, params))).collect();
        filters.sort_unstable_by_key(|(slot, ..)| *slot);
        self.filters = (!filters.is_empty()).then(|| filters.into());
        self
    }

    /// Without those of filters.
    #[must_use]
    pub fn codec_only(mut self) -> Self {
        self.filters = None;
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.codec.is_none() && self.filters.is_none()
    }

    /// Those of codec `id`.
    pub fn of_codec(&self, id: CodecId) -> Option<&Params> {
        self.codec.as_ref().filter(|codec| codec.0 == id).map(|codec| &codec.1)
    }

    /// Those of filter `id` in slot `slot`.
    pub fn of_filter(&self, slot: u8, id: FilterId) -> Option<&Params> {
        self.filters().find(|(at, filter, _)| (*at, *filter) == (slot, id)).map(|(.., params)| params)
    }

    /// The codec that has parameters, and the filters, each with its slot.
    pub(crate) fn subjects(&self) -> (Option<CodecId>, impl Iterator<Item = (u8, FilterId)>) {
        (self.codec.as_ref().map(|codec| codec.0), self.filters().map(|(slot, id, _)| (*slot, *id)))
    }

    fn filters(&self) -> impl Iterator<Item = &(u8, FilterId, Params)> {
        self.filters.iter().flat_map(|filters| filters.iter())
    }

    /// Those that readers need. `declared` knows what the plugins declare.
    pub(crate) fn recorded<'a>(
        &self,
        codec: impl Fn(CodecId) -> &'a [ParamInfo],
        filter: impl Fn(FilterId) -> &'a [ParamInfo],
    ) -> Self {
        let mut recorded = Self::default();
        if let Some((id, params)) = self.codec.as_deref() {
            recorded = recorded.codec(*id, params.recorded(codec(*id)));
        }
        for (slot, id, params) in self.filters() {
            recorded = recorded.filter(*slot, *id, params.recorded(filter(*id)));
        }
        recorded
    }

    /// The content of the metalayer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // Writing to a vector does not fail, and there are no four billion parameters.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) -> Option<()> {
        let filters = self.filters().count() as u32;
        write_map_len(out, u32::from(self.codec.is_some()) + u32::from(filters > 0)).ok()?;
        if let Some((id, params)) = self.codec.as_deref() {
            write_str(out, "codec").ok()?;
            write_array_len(out, 2).ok()?;
            write_uint(out, id.0.into()).ok()?;
            params.write(out)?;
        }
        if filters > 0 {
            write_str(out, "filters").ok()?;
            write_array_len(out, filters).ok()?;
            for (slot, id, params) in self.filters() {
                write_array_len(out, 3).ok()?;
                write_uint(out, (*slot).into()).ok()?;
                write_uint(out, id.0.into()).ok()?;
                params.write(out)?;
            }
        }
        Some(())
    }

    /// Those that the metalayers of a frame record; none if there is no such metalayer.
    ///
    /// # Errors
    /// The metalayer holds something else.
    pub fn find(metalayers: &Metalayers) -> Result<Self, InvalidPluginParams> {
        metalayers.get(Self::METALAYER).map_or_else(|| Ok(Self::default()), |content| Self::from_bytes(content))
    }

    /// Those of `codec` and of the filters in `slots`.
    pub(crate) fn of_pipeline(&self, codec: CodecId, slots: &FilterSlots) -> Self {
        let mut found = Self { codec: self.codec.clone().filter(|of| of.0 == codec), filters: None };
        for (slot, id, params) in self.filters() {
            if slots.0.get(usize::from(*slot)).is_some_and(|filter| filter.id == *id) {
                found = found.filter(*slot, *id, params.clone());
            }
        }
        found
    }

    /// Parses the content of the metalayer. Keys that are not known are passed over.
    ///
    /// # Errors
    /// The content is something else.
    pub fn from_bytes(content: &[u8]) -> Result<Self, InvalidPluginParams> {
        let Ok(MetaValue::Map(entries)) = MetaValue::parse(content) else { return Err(InvalidPluginParams) };
        let byte = |value: &MetaValue| if let MetaValue::Int(int) = value { u8::try_from(*int).ok() } else { None };
        let mut found = Self::default();
        for (key, value) in &entries {
            let (MetaValue::Text(key), MetaValue::Array(items)) = (key, value) else { continue };
            match (key.as_str(), &items[..]) {
                ("codec", [id, params]) => {
                    let (Some(id), Some(params)) = (byte(id), Params::read(params)) else {
                        return Err(InvalidPluginParams);
                    };
                    found = found.codec(CodecId(id), params);
                }
                ("filters", items) => {
                    for item in items {
                        let MetaValue::Array(item) = item else { return Err(InvalidPluginParams) };
                        let [slot, id, params] = &item[..] else { return Err(InvalidPluginParams) };
                        let (Some(slot), Some(id), Some(params)) = (byte(slot), byte(id), Params::read(params)) else {
                            return Err(InvalidPluginParams);
                        };
                        found = found.filter(slot, FilterId(id), params);
                    }
                }
                ("codec", _) => return Err(InvalidPluginParams),
                _ => {}
            }
        }
        Ok(found)
    }
}

/// A metalayer that records parameters of plugins cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("metalayer {:?} does not hold parameters of plugins", PluginParams::METALAYER)]
pub struct InvalidPluginParams;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["a=1", "a=1,b=", "a=x=y,b_2=-3.5"] {
            assert_eq!(text.parse::<Params>().unwrap().to_string(), text);
        }
        for (text, error) in [("", "form"), ("a", "form"), ("=1", "form"), ("a=1,,b=2", "form"), ("a=1,a=1", "twice")] {
            assert!(text.parse::<Params>().unwrap_err().to_string().contains(error), "{text}");
        }
    }

    #[test]
    fn the_metalayer_holds_what_is_recorded() {
        const DECLARED: [ParamInfo; 2] = [ParamInfo::recorded("delta", ""), ParamInfo::encoder("level", "")];
        let params: Params = "delta=2,level=8".parse().unwrap();
        let all = PluginParams::default()
            .codec(CodecId(200), params.clone())
            .filter(5, FilterId(201), params.clone())
            .filter(1, FilterId(202), params.clone());
        let recorded = all.recorded(|_| &DECLARED, |id| if id.0 == 201 { &DECLARED } else { &[] });
        let expected = Params::default().with("delta", 2);
        assert_eq!(recorded.of_codec(CodecId(200)), Some(&expected));
        assert_eq!(recorded.of_codec(CodecId(201)), None);
        assert_eq!(recorded.of_filter(5, FilterId(201)), Some(&expected));
        assert_eq!((recorded.of_filter(1, FilterId(202)), recorded.of_filter(4, FilterId(201))), (None, None));
        for params in [PluginParams::default(), all, recorded] {
            assert_eq!(PluginParams::from_bytes(&params.to_bytes()), Ok(params));
        }
        for damaged in [&b""[..], b"\xc0", b"\x81\xa5codec\x91\x01", b"\x81\xa7filters\x91\x01"] {
            assert_eq!(PluginParams::from_bytes(damaged), Err(InvalidPluginParams));
        }
        assert_eq!(PluginParams::from_bytes(b"\x81\xa5other\x01"), Ok(PluginParams::default()));
    }

    #[test]
    fn what_is_not_declared_is_refused() {
        let params = Params::default().with("delta", 2);
        assert!(params.check(&[ParamInfo::recorded("delta", "")]).is_ok());
        let error = params.check(&[ParamInfo::recorded("level", "")]).unwrap_err().to_string();
        assert!(error.contains("\"delta\"") && error.contains("known: level"), "{error}");
        assert!(
            params.get::<u8>("delta", "").is_ok() && params.get::<std::net::IpAddr>("delta", "an address").is_err()
        );
    }
}
