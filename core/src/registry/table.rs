//! The filters, or the codecs, of a registry.

use std::collections::BTreeMap;

use super::info::{Claim, Entry};
use super::{IdConflict, RegistryError};
use crate::id::IdRange;
use crate::plugin::{PluginKind, PluginName};

/// The filters, or the codecs, of a registry, by id; and why others are not among them.
#[derive(Clone)]
pub(super) struct Table<E> {
    entries: BTreeMap<u8, E>,
    refused: Vec<Refused>,
}

/// A plugin that was linked and cannot be used.
#[derive(Clone)]
struct Refused {
    plugin: PluginName,
    /// Its id may not be used by anyone, or its name.
    what: Cost,
    error: RegistryError,
}

/// What a refusal costs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cost {
    /// The plugin alone.
    Plugin,
    /// Every plugin with its id.
    Id,
    /// Every plugin with its name, when it is looked up by name.
    Name,
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), refused: Vec::new() }
    }
}

impl<E: Entry> Table<E> {
    /// Adds an entry at the wish of the program.
    pub(super) fn add(&mut self, entry: E) -> Result<(), RegistryError> {
        let plugin = entry.plugin();
        self.check(&entry)?;
        self.refused.retain(|refused| refused.plugin.id != plugin.id);
        self.entries.insert(plugin.id, entry);
        Ok(())
    }

    /// Adds an entry that happens to be linked. If it clashes with another one, neither is used: which of them reads the
    /// data that the program meets is not a matter of chance.
    pub(super) fn add_linked(&mut self, entry: E) {
        let plugin = entry.plugin();
        if let Some(clash) = self.refused.iter().find(|r| r.plugin.id == plugin.id && r.what == Cost::Id)
            && entry.claim() != Claim::Override
        {
            let error = clash.error.clone();
            return self.refused.push(Refused { plugin, what: Cost::Id, error });
        }
        let Err(error) = self.add(entry.clone()) else { return };
        let RegistryError::Clash(conflict) = &error else { return self.refuse(plugin, error) };
        let first = conflict.first;
        if first.id == plugin.id {
            self.entries.remove(&plugin.id);
            for plugin in [first, plugin] {
                self.refused.push(Refused { plugin, what: Cost::Id, error: error.clone() });
            }
        } else {
            // Both can be used by their ids.
            self.entries.insert(plugin.id, entry);
            self.refused.push(Refused { plugin, what: Cost::Name, error });
        }
    }

    /// Leaves out a plugin that cannot be used.
    pub(super) fn refuse(&mut self, plugin: PluginName, error: RegistryError) {
        self.refused.push(Refused { plugin, what: Cost::Plugin, error });
    }

    fn check(&self, entry: &E) -> Result<(), RegistryError> {
        let (plugin, claim) = (entry.plugin(), entry.claim());
        check_name(plugin)?;
        let range = IdRange::of(plugin.id);
        let present = self.entries.get(&plugin.id);
        let nothing_to_override = claim == Claim::Override && range == IdRange::Blosc && present.is_none();
        let empty_slot = plugin.kind == PluginKind::Filter && plugin.id == 0;
        if !claim.covers(range) || nothing_to_override || empty_slot {
            return Err(RegistryError::ReservedId { plugin: Box::new(plugin), range });
        }
        for other in self.entries.values() {
            let first = other.plugin();
            // An override replaces the provider of its id, name included. It must not take the name of a third one.
            let replaces = first.id == plugin.id && claim == Claim::Override && other.claim() != Claim::Override;
            if !replaces && (first.id == plugin.id || first.name == plugin.name) {
                return Err(RegistryError::Clash(Box::new(IdConflict { first, second: plugin })));
            }
        }
        Ok(())
    }

    /// The entry with this id, or why there is none.
    pub(super) fn get(&self, id: u8) -> Result<&E, Option<RegistryError>> {
        self.entries.get(&id).ok_or_else(|| {
            let refused = self.refused.iter().find(|refused| refused.plugin.id == id && refused.what != Cost::Name);
            refused.map(|refused| refused.error.clone())
        })
    }

    /// The entry with this name, or why there is none.
    pub(super) fn by_name(&self, name: &str) -> Result<&E, Option<RegistryError>> {
        let ambiguous = |refused: &&Refused| refused.plugin.name == name && refused.what == Cost::Name;
        if let Some(refused) = self.refused.iter().find(ambiguous) {
            return Err(Some(refused.error.clone()));
        }
        self.entries.values().find(|entry| entry.plugin().name == name).ok_or_else(|| {
            let refused = self.refused.iter().find(|refused| refused.plugin.name == name);
            refused.map(|refused| refused.error.clone())
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &E> + Clone {
        self.entries.values()
    }

    pub(super) fn problems(&self) -> impl Iterator<Item = &RegistryError> {
        // The two sides of a clash have one error.
        self.refused.iter().enumerate().filter_map(|(i, refused)| {
            let repeated = self.refused[..i].iter().any(|earlier| earlier.error == refused.error);
            (!repeated).then_some(&refused.error)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// A name that cannot be written on a command line, or means something else there, selects nothing.
fn check_name(plugin: PluginName) -> Result<(), RegistryError> {
    let mut chars = plugin.name.chars();
    let begins = chars.next().is_some_and(|first| first.is_ascii_alphabetic());
    let goes_on = chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if begins && goes_on && !plugin.name.eq_ignore_ascii_case("none") {
        Ok(())
    } else {
        Err(RegistryError::Name { plugin: Box::new(plugin) })
    }
}
