//! Why a plugin could not be registered or found.

use std::fmt;

use thiserror::Error;

use crate::id::IdRange;
use crate::plugin::{Panicked, PluginKind, PluginName};

/// Why a plugin could not be registered or found.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Two crates provide the same id or name.
    #[error("{0}")]
    Clash(Box<IdConflict>),
    /// The program links no crate with plugins, or the linker dropped it.
    #[error(
        "no filter or codec is linked into this program: depend on `oxiblosc`, or add `use oxiblosc_plugins as _;` \
         so that the linker keeps the plugin crate"
    )]
    NothingLinked,
    /// `Registry::linked()` was called by the constructor of a plugin, which it waits for.
    #[error(
        "the linked plugins were asked for while one of them is being made: to wrap a built-in filter or codec, take it \
         from `Registry::builtin()`"
    )]
    BeingCollected,
    /// The constructor of a plugin, or its `clone`, panicked.
    #[error("{plugin} could not be made")]
    Constructor {
        /// The plugin.
        plugin: Box<PluginName>,
        /// The panic.
        #[source]
        panic: Panicked,
    },
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
    #[error("no provider for {kind} {id} ({range}): {}", Advice { kind: *kind, range: *range, linked })]
    Unknown {
        /// Filter or codec.
        kind: PluginKind,
        /// The id asked for.
        id: u8,
        /// The range the id belongs to.
        range: IdRange,
        /// The crates in the registry, each with its version.
        linked: Box<str>,
    },
    /// No provider with this name.
    #[error("no {kind} is called {name:?}; known: {known}")]
    UnknownName {
        /// Filter or codec.
        kind: PluginKind,
        /// The name asked for.
        name: Box<str>,
        /// The names there are.
        known: Box<str>,
    },
    /// The id is not free for the plugin.
    #[error("{plugin} cannot be registered: {}", reserved(plugin, *range))]
    ReservedId {
        /// The plugin.
        plugin: Box<PluginName>,
        /// The range its id belongs to.
        range: IdRange,
    },
    /// The name cannot be selected on a command line.
    #[error(
        "{plugin} cannot be registered: a name consists of letters, digits, `_` and `-`, begins with a letter, and is \
         not `none`"
    )]
    Name {
        /// The plugin.
        plugin: Box<PluginName>,
    },
}

/// Two plugins that have one id, or one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdConflict {
    /// The one that was there first.
    pub first: PluginName,
    /// The one that came later.
    pub second: PluginName,
}

impl fmt::Display for IdConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.first.id == self.second.id { "id" } else { "name" };
        write!(
            f,
            "{} and {} have the same {what}: give one of them another {what}, or register one with `override`",
            self.first, self.second
        )
    }
}

/// What to do about an id that nobody provides.
struct Advice<'a> {
    kind: PluginKind,
    range: IdRange,
    linked: &'a str,
}

impl fmt::Display for Advice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, range, linked } = self;
        if *range == IdRange::Blosc {
            return f.write_str("the data was written by a later version of Blosc, or is damaged");
        }
        write!(
            f,
            "depend on the crate that provides it and write `use that_crate as _;`, or else the linker drops the crate; or \
             load its shared library (`oxiblosc --plugin FILE`). \
             The {kind}s at hand are from {linked}. If the crate is one of these, it has no such {kind}; if it is linked \
             and not one of these, it depends on another version of oxiblosc-core than {}",
            env!("CARGO_PKG_VERSION")
        )
    }
}

fn reserved(plugin: &PluginName, range: IdRange) -> &'static str {
    match (plugin.kind, plugin.id, range) {
        (PluginKind::Filter, 0, _) => "the format uses the id for an empty slot",
        (_, _, IdRange::Blosc) => "the format keeps ids up to 31 for itself, use one of 160..=255",
        (_, _, IdRange::Registered) => {
            "the Blosc developers assign the ids from 32 to 159: use one of 160..=255, or write `assigned` before the id \
             if this is the plugin that they have assigned it to"
        }
        (_, _, IdRange::User) => "`assigned` is for ids from 32 to 159",
    }
}
