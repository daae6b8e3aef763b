//! Who a plugin is, in registries and in errors, and how it is called.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use thiserror::Error;

use crate::id::{CodecId, FilterId, IdRange};

/// Which of the two kinds of plugin something is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PluginKind {
    /// A filter.
    Filter,
    /// A codec.
    Codec,
}

impl fmt::Display for PluginKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Filter => "filter",
            Self::Codec => "codec",
        })
    }
}

/// A plugin as headers name it: `codec 200`. Filters and codecs are numbered separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PluginId {
    /// Filter or codec.
    pub kind: PluginKind,
    /// Its id.
    pub id: u8,
}

impl PluginId {
    /// The range that the id belongs to.
    pub const fn range(self) -> IdRange {
        IdRange::of(self.id)
    }
}

impl From<FilterId> for PluginId {
    fn from(id: FilterId) -> Self {
        Self { kind: PluginKind::Filter, id: id.0 }
    }
}

impl From<CodecId> for PluginId {
    fn from(id: CodecId) -> Self {
        Self { kind: PluginKind::Codec, id: id.0 }
    }
}

impl fmt::Display for PluginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.kind, self.id, self.range())
    }
}

/// The crate, or the shared library, that provides a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Provider {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// A plugin, as errors name it: `codec "rle" (id 200) of rle 0.1.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginName {
    /// Filter or codec.
    pub kind: PluginKind,
    /// Its id.
    pub id: u8,
    /// Its name.
    pub name: &'static str,
    /// Where it comes from.
    pub provider: &'static Provider,
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} (id {}) of {}", self.kind, self.name, self.id, self.provider)
    }
}

/// A plugin panicked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("panicked: {message}")]
pub struct Panicked {
    message: Box<str>,
}

impl Panicked {
    /// A panic that said `message`, for those who reach plugins by ways of their own.
    pub fn with_message(message: impl Into<Box<str>>) -> Self {
        Self { message: message.into() }
    }

    fn new(payload: Box<dyn Any + Send>) -> Self {
        let message = match payload.downcast::<String>() {
            Ok(message) => message.into_boxed_str(),
            Err(payload) => match payload.downcast_ref::<&'static str>() {
                Some(message) => (*message).into(),
                None => "no message".into(),
            },
        };
        Self { message }
    }

    /// What the panic said.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Calls a plugin, and turns a panic into an error. The caller discards the instance that panicked: its state may be
/// anything.
///
/// Encoders and decoders call all plugins in this way. Others need it only where a panic must not go on, such as in
/// functions that C calls.
pub fn guarded<T, E: From<Panicked>>(call: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| Err(Panicked::new(payload).into()))
}
