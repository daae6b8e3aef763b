//! The description with which a plugin registers.

use crate::codec::{Codec, CodecTraits};
use crate::filter::{Filter, FilterTraits};
use crate::id::{CodecId, FilterId, IdRange};
use crate::plugin::{Panicked, PluginKind, PluginName, Provider, guarded};

use super::RegistryError;

/// By what right a plugin uses its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Claim {
    /// The plugin is one of Blosc's own: what the format defines, or has been in C-Blosc2 from the start.
    #[doc(hidden)]
    Builtin,
    /// The id is one of 160..=255, which are free for everyone.
    #[default]
    User,
    /// The id is one of 32..=159, and the Blosc developers have assigned it to this plugin.
    Assigned,
    /// The plugin takes the place of another one with the same id.
    Override,
}

impl Claim {
    /// Whether the claim holds for an id of this range. Whether there is something to override is not known here.
    pub(super) fn covers(self, range: IdRange) -> bool {
        match self {
            Self::Builtin | Self::Override => true,
            Self::User => range == IdRange::User,
            Self::Assigned => range == IdRange::Registered,
        }
    }
}

/// The description with which a filter registers.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct FilterInfo {
    /// Its id in the filter slots.
    pub id: FilterId,
    /// Name on command lines and in messages; unique among filters. Letters, digits, `_` and `-`, beginning with a
    /// letter, and not `none`.
    pub name: &'static str,
    /// The crate that provides it.
    pub provider: &'static Provider,
    /// Facts that encoder and decoder need.
    pub traits: FilterTraits,
    /// By what right it uses the id.
    pub claim: Claim,
}

impl FilterInfo {
    /// A filter with an id of 160..=255. [`provider!`](crate::provider) names the calling crate.
    pub const fn new(id: FilterId, name: &'static str, traits: FilterTraits, provider: &'static Provider) -> Self {
        Self { id, name, provider, traits, claim: Claim::User }
    }

    /// The same with another claim to the id.
    pub const fn claiming(mut self, claim: Claim) -> Self {
        self.claim = claim;
        self
    }

    /// What errors call it.
    pub const fn plugin(&self) -> PluginName {
        PluginName { kind: PluginKind::Filter, id: self.id.0, name: self.name, provider: self.provider }
    }
}

/// The description with which a codec registers.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CodecInfo {
    /// Its id in the `udcodec` byte.
    pub id: CodecId,
    /// Name on command lines and in messages; unique among codecs. Letters, digits, `_` and `-`, beginning with a
    /// letter, and not `none`.
    pub name: &'static str,
    /// The crate that provides it.
    pub provider: &'static Provider,
    /// Facts that encoder and decoder need.
    pub traits: CodecTraits,
    /// By what right it uses the id.
    pub claim: Claim,
}

impl CodecInfo {
    /// A codec with an id of 160..=255. [`provider!`](crate::provider) names the calling crate.
    pub const fn new(id: CodecId, name: &'static str, traits: CodecTraits, provider: &'static Provider) -> Self {
        Self { id, name, provider, traits, claim: Claim::User }
    }

    /// The same with another claim to the id.
    pub const fn claiming(mut self, claim: Claim) -> Self {
        self.claim = claim;
        self
    }

    /// What errors call it.
    pub const fn plugin(&self) -> PluginName {
        PluginName { kind: PluginKind::Codec, id: self.id.0, name: self.name, provider: self.provider }
    }
}

/// A filter in a registry: its description, and a prototype to clone.
#[derive(Clone)]
pub struct FilterEntry {
    pub(super) info: FilterInfo,
    pub(super) prototype: Box<dyn Filter>,
}

impl FilterEntry {
    /// The description of the filter.
    pub fn info(&self) -> &FilterInfo {
        &self.info
    }

    /// A fresh instance for one worker.
    pub fn instance(&self) -> Box<dyn Filter> {
        self.prototype.clone()
    }
}

/// A codec in a registry: its description, and a prototype to clone.
#[derive(Clone)]
pub struct CodecEntry {
    pub(super) info: CodecInfo,
    pub(super) prototype: Box<dyn Codec>,
}

impl CodecEntry {
    /// The description of the codec.
    pub fn info(&self) -> &CodecInfo {
        &self.info
    }

    /// A fresh instance for one worker.
    pub fn instance(&self) -> Box<dyn Codec> {
        self.prototype.clone()
    }
}

/// What a table of filters or codecs needs to know about an entry.
pub(super) trait Entry: Clone {
    fn plugin(&self) -> PluginName;
    fn claim(&self) -> Claim;
}

impl Entry for FilterEntry {
    fn plugin(&self) -> PluginName {
        self.info.plugin()
    }

    fn claim(&self) -> Claim {
        self.info.claim
    }
}

impl Entry for CodecEntry {
    fn plugin(&self) -> PluginName {
        self.info.plugin()
    }

    fn claim(&self) -> Claim {
        self.info.claim
    }
}

/// Makes an instance of `plugin`, whose constructor or `clone` may panic.
pub(crate) fn made<T>(plugin: PluginName, make: impl FnOnce() -> T) -> Result<T, RegistryError> {
    guarded(|| Ok::<_, Panicked>(make()))
        .map_err(|panic| RegistryError::Constructor { plugin: Box::new(plugin), panic })
}
