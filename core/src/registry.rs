//! Who provides which filter and codec.
//!
//! Providers register at item level with [`register_filter!`](crate::register_filter) and
//! [`register_codec!`](crate::register_codec), which work from any crate, or on a [`Registry`] value at run time.
//! [`Registry::linked`] collects everything the program is linked with; an explicit registry can be passed wherever
//! one is taken.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use thiserror::Error;

use crate::codec::{Codec, CodecTraits};
use crate::filter::{Filter, FilterTraits};
use crate::id::{CodecId, FilterId, IdRange};

/// The description with which a filter registers.
#[derive(Debug, Clone, Copy)]
pub struct FilterInfo {
    /// Its id in the filter slots.
    pub id: FilterId,
    /// Name on command lines and in messages; unique among filters.
    pub name: &'static str,
    /// The crate that provides it.
    pub provider: &'static str,
    /// Facts the encoder needs.
    pub traits: FilterTraits,
    /// The provider overrides another provider of the id.
    pub overrides: bool,
}

/// The description with which a codec registers.
#[derive(Debug, Clone, Copy)]
pub struct CodecInfo {
    /// Its id in the `udcodec` byte.
    pub id: CodecId,
    /// Name on command lines and in messages; unique among codecs.
    pub name: &'static str,
    /// The crate that provides it.
    pub provider: &'static str,
    /// Facts the encoder needs.
    pub traits: CodecTraits,
    /// The provider overrides another provider of the id.
    pub overrides: bool,
}

/// A compile-time filter registration; made by [`register_filter!`](crate::register_filter).
#[derive(Debug)]
pub struct FilterRegistration {
    /// The description of the filter.
    pub info: FilterInfo,
    /// Makes the prototype that workers clone.
    pub new: fn() -> Box<dyn Filter>,
}

/// A compile-time codec registration; made by [`register_codec!`](crate::register_codec).
#[derive(Debug)]
pub struct CodecRegistration {
    /// The description of the codec.
    pub info: CodecInfo,
    /// Makes the prototype that workers clone.
    pub new: fn() -> Box<dyn Codec>,
}

inventory::collect!(FilterRegistration);
inventory::collect!(CodecRegistration);

/// Registers a filter with every program that links the calling crate.
///
/// ```
/// use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
/// use oxiblosc_core::{FilterId, Registry, register_filter};
///
/// #[derive(Clone)]
/// struct Invert;
///
/// impl Filter for Invert {
///     fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
///         dst.iter_mut().zip(src).for_each(|(d, s)| *d = !s);
///         Ok(())
///     }
///     fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
///         self.forward(ctx, src, dst)
///     }
/// }
///
/// register_filter!(FilterId(200), "invert", FilterTraits::LOSSLESS, || Box::new(Invert));
///
/// assert!(Registry::linked()?.filter_by_name("invert").is_ok());
/// # Ok::<(), oxiblosc_core::registry::RegistryError>(())
/// ```
///
/// With `override` before the id, the registration replaces a regular one.
#[macro_export]
macro_rules! register_filter {
    (override $id:expr, $name:expr, $traits:expr, $new:expr $(,)?) => {
        $crate::register_filter!(@ $id, $name, $traits, $new, true);
    };
    (@ $id:expr, $name:expr, $traits:expr, $new:expr, $overrides:expr) => {
        $crate::private::inventory::submit! {
            $crate::registry::FilterRegistration {
                info: $crate::registry::FilterInfo {
                    id: $id,
                    name: $name,
                    provider: env!("CARGO_PKG_NAME"),
                    traits: $traits,
                    overrides: $overrides,
                },
                new: $new,
            }
        }
    };
    ($id:expr, $name:expr, $traits:expr, $new:expr $(,)?) => {
        $crate::register_filter!(@ $id, $name, $traits, $new, false);
    };
}

/// Registers a codec with every program that links the calling crate; see
/// [`register_filter!`](crate::register_filter).
#[macro_export]
macro_rules! register_codec {
    (override $id:expr, $name:expr, $traits:expr, $new:expr $(,)?) => {
        $crate::register_codec!(@ $id, $name, $traits, $new, true);
    };
    (@ $id:expr, $name:expr, $traits:expr, $new:expr, $overrides:expr) => {
        $crate::private::inventory::submit! {
            $crate::registry::CodecRegistration {
                info: $crate::registry::CodecInfo {
                    id: $id,
                    name: $name,
                    provider: env!("CARGO_PKG_NAME"),
                    traits: $traits,
                    overrides: $overrides,
                },
                new: $new,
            }
        }
    };
    ($id:expr, $name:expr, $traits:expr, $new:expr $(,)?) => {
        $crate::register_codec!(@ $id, $name, $traits, $new, false);
    };
}

/// A filter in a registry: its description, and a prototype to clone.
#[derive(Clone)]
pub struct FilterEntry {
    info: FilterInfo,
    prototype: Box<dyn Filter>,
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
    info: CodecInfo,
    prototype: Box<dyn Codec>,
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

/// The filters and codecs that a reader or writer may use. Cloning shares the entries.
#[derive(Clone, Default)]
pub struct Registry {
    filters: Arc<BTreeMap<FilterId, FilterEntry>>,
    codecs: Arc<BTreeMap<CodecId, CodecEntry>>,
}

impl Registry {
    /// An empty registry. Stored and special chunks can still be read and written.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Everything registered in the crates that this program is linked with, collected once.
    ///
    /// # Errors
    /// [`RegistryError::Clash`] when two crates provide one id or name and neither (or both) says `override`;
    /// [`RegistryError::NothingLinked`] when no crate with plugins is linked.
    pub fn linked() -> Result<&'static Self, RegistryError> {
        static LINKED: OnceLock<Result<Registry, RegistryError>> = OnceLock::new();
        LINKED
            .get_or_init(|| {
                Self::collect(
                    inventory::iter::<FilterRegistration>.into_iter(),
                    inventory::iter::<CodecRegistration>.into_iter(),
                )
            })
            .as_ref()
            .map_err(Clone::clone)
    }

    fn collect<'a>(
        filters: impl Iterator<Item = &'a FilterRegistration>,
        codecs: impl Iterator<Item = &'a CodecRegistration>,
    ) -> Result<Self, RegistryError> {
        let mut registry = Self::empty();
        // The linker decides the order of registrations. Overrides are applied last, so that the result and any error
        // depend on what is linked and not on that order.
        let mut filters: Vec<_> = filters.collect();
        filters.sort_by_key(|r| (r.info.overrides, r.info.id, r.info.provider));
        for r in filters {
            registry.add_filter(r.info, (r.new)())?;
        }
        let mut codecs: Vec<_> = codecs.collect();
        codecs.sort_by_key(|r| (r.info.overrides, r.info.id, r.info.provider));
        for r in codecs {
            registry.add_codec(r.info, (r.new)())?;
        }
        if registry.is_empty() { Err(RegistryError::NothingLinked) } else { Ok(registry) }
    }

    /// Adds a filter at run time.
    ///
    /// # Errors
    /// [`RegistryError::Clash`] when the id or the name is taken and `info.overrides` is not set (or the present
    /// holder is an override itself); [`RegistryError::ReservedId`] for id 0.
    pub fn add_filter(&mut self, info: FilterInfo, prototype: Box<dyn Filter>) -> Result<(), RegistryError> {
        if info.id == FilterId::NONE {
            return Err(RegistryError::ReservedId { kind: PluginKind::Filter, id: 0, provider: info.provider });
        }
        let present = self.filters.values().map(|e| Provider::from(&e.info));
        check_clash(PluginKind::Filter, Provider::from(&info), info.overrides, present)?;
        Arc::make_mut(&mut self.filters).insert(info.id, FilterEntry { info, prototype });
        Ok(())
    }

    /// Adds a codec at run time; errors as for [`Registry::add_filter`].
    pub fn add_codec(&mut self, info: CodecInfo, prototype: Box<dyn Codec>) -> Result<(), RegistryError> {
        let present = self.codecs.values().map(|e| Provider::from(&e.info));
        check_clash(PluginKind::Codec, Provider::from(&info), info.overrides, present)?;
        Arc::make_mut(&mut self.codecs).insert(info.id, CodecEntry { info, prototype });
        Ok(())
    }

    /// The filter with this id.
    pub fn filter(&self, id: FilterId) -> Result<&FilterEntry, RegistryError> {
        self.filters.get(&id).ok_or_else(|| self.unknown(PluginKind::Filter, id.0))
    }

    /// The codec with this id.
    pub fn codec(&self, id: CodecId) -> Result<&CodecEntry, RegistryError> {
        self.codecs.get(&id).ok_or_else(|| self.unknown(PluginKind::Codec, id.0))
    }

    /// The filter with this name.
    pub fn filter_by_name(&self, name: &str) -> Result<&FilterEntry, RegistryError> {
        self.filters.values().find(|e| e.info.name == name).ok_or_else(|| RegistryError::UnknownName {
            kind: PluginKind::Filter,
            name: name.to_owned(),
            known: self.filters.values().map(|e| e.info.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// The codec with this name.
    pub fn codec_by_name(&self, name: &str) -> Result<&CodecEntry, RegistryError> {
        self.codecs.values().find(|e| e.info.name == name).ok_or_else(|| RegistryError::UnknownName {
            kind: PluginKind::Codec,
            name: name.to_owned(),
            known: self.codecs.values().map(|e| e.info.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// All filters, by id.
    pub fn filters(&self) -> impl Iterator<Item = &FilterEntry> {
        self.filters.values()
    }

    /// All codecs, by id.
    pub fn codecs(&self) -> impl Iterator<Item = &CodecEntry> {
        self.codecs.values()
    }

    /// Whether there is neither a filter nor a codec.
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty() && self.codecs.is_empty()
    }

    fn unknown(&self, kind: PluginKind, id: u8) -> RegistryError {
        if self.is_empty() {
            RegistryError::Empty { kind, id }
        } else {
            RegistryError::Unknown { kind, id, range: IdRange::of(id) }
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("filters", &self.filters.values().map(|e| e.info.name).collect::<Vec<_>>())
            .field("codecs", &self.codecs.values().map(|e| e.info.name).collect::<Vec<_>>())
            .finish()
    }
}

#[derive(Clone, Copy)]
struct Provider {
    id: u8,
    name: &'static str,
    provider: &'static str,
    overrides: bool,
}

impl From<&FilterInfo> for Provider {
    fn from(i: &FilterInfo) -> Self {
        Self { id: i.id.0, name: i.name, provider: i.provider, overrides: i.overrides }
    }
}

impl From<&CodecInfo> for Provider {
    fn from(i: &CodecInfo) -> Self {
        Self { id: i.id.0, name: i.name, provider: i.provider, overrides: i.overrides }
    }
}

fn check_clash(
    kind: PluginKind,
    new: Provider,
    overrides: bool,
    present: impl Iterator<Item = Provider>,
) -> Result<(), RegistryError> {
    for old in present {
        // An override replaces the provider of its id, name included. It must not take the name of a third one.
        let replaces = old.id == new.id && overrides && !old.overrides;
        if !replaces && (old.id == new.id || old.name == new.name) {
            return Err(RegistryError::Clash {
                kind,
                id: new.id,
                name: new.name,
                first: old.provider,
                second: new.provider,
                first_id: old.id,
            });
        }
    }
    Ok(())
}

/// Which of the two kinds of plugin an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// Why the registry could not be built or a lookup failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Two crates provide the same id or name.
    #[error(
        "{kind} {name:?} (id {id}) of crate `{second}` clashes with id {first_id} of crate `{first}`; \
         use another id and name, or register one of them with `override`"
    )]
    Clash {
        /// Filter or codec.
        kind: PluginKind,
        /// Id of the later one.
        id: u8,
        /// Name of the later one.
        name: &'static str,
        /// Crate that was there first.
        first: &'static str,
        /// Crate that came later.
        second: &'static str,
        /// Id of the one that was there first.
        first_id: u8,
    },
    /// The program links no crate with plugins, or the linker dropped it.
    #[error(
        "no filter or codec is linked into this program: depend on `oxiblosc`, or add `use oxiblosc_plugins as _;` \
         so that the linker keeps the plugin crate"
    )]
    NothingLinked,
    /// An id was looked up in a registry without entries.
    #[error(
        "{kind} {id} was asked for but the registry is empty: pass `Registry::linked()?` (with `use oxiblosc_plugins \
         as _;` so that the linker keeps the plugin crate), or add the {kind} to the registry"
    )]
    Empty {
        /// Filter or codec.
        kind: PluginKind,
        /// The id asked for.
        id: u8,
    },
    /// No provider for this id.
    #[error("no provider for {kind} {id} ({range}); link the crate that provides it or add it to the registry")]
    Unknown {
        /// Filter or codec.
        kind: PluginKind,
        /// The id asked for.
        id: u8,
        /// The range the id belongs to.
        range: IdRange,
    },
    /// No provider with this name.
    #[error("no {kind} is called {name:?}; known: {known}")]
    UnknownName {
        /// Filter or codec.
        kind: PluginKind,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The id marks an empty slot in the format and cannot be registered.
    #[error("{kind} id {id} cannot be registered (crate `{provider}`): the format uses it for an empty slot")]
    ReservedId {
        /// Filter or codec.
        kind: PluginKind,
        /// The id.
        id: u8,
        /// The crate that tried.
        provider: &'static str,
    },
}
