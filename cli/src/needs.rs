//! The filters and codecs that data needs.

use std::collections::BTreeSet;

use oxiblosc::plugin::{PluginId, PluginName};
use oxiblosc::registry::MissingPlugin;
use oxiblosc::{IdRange, Registry};
use serde_json::{Value, json};

/// The filters and codecs that data needs, and what a registry has of them.
pub(crate) struct Needs {
    plugins: Vec<Need>,
    pub(crate) missing: Vec<MissingPlugin>,
}

struct Need {
    plugin: PluginId,
    /// `None` when it is missing.
    name: Option<PluginName>,
    /// It comes with this program.
    builtin: bool,
}

impl Needs {
    pub(crate) fn new(plugins: impl IntoIterator<Item = PluginId>, registry: &Registry) -> Self {
        let ids: BTreeSet<PluginId> = plugins.into_iter().collect();
        let missing = registry.missing(ids.iter().copied());
        let need = |plugin| {
            let name = registry.plugin(plugin).ok();
            Need { plugin, name, builtin: name.is_some_and(is_builtin) }
        };
        Self { plugins: ids.into_iter().map(need).collect(), missing }
    }

    /// Those that are there and did not come with this program.
    pub(crate) fn added(&self) -> impl Iterator<Item = PluginName> {
        self.plugins.iter().filter(|need| !need.builtin).filter_map(|need| need.name)
    }

    pub(crate) fn to_json(&self) -> Value {
        let plugin = |need: &Need| {
            json!({
                "kind": need.plugin.kind.to_string(),
                "id": need.plugin.id,
                "range": range(need.plugin.range()),
                "name": need.name.map(|name| name.name),
                "provider": need.name.map(|name| name.provider.name),
                "version": need.name.map(|name| name.provider.version),
            })
        };
        self.plugins.iter().map(plugin).collect()
    }
}

/// Whether a plugin comes with this program, and is not one that somebody has added or put in the place of another.
pub(crate) fn is_builtin(plugin: PluginName) -> bool {
    let id = PluginId { kind: plugin.kind, id: plugin.id };
    Registry::builtin().is_ok_and(|builtin| builtin.plugin(id) == Ok(plugin))
}

/// What is missing, in one line.
pub(crate) fn missing_text(missing: &[MissingPlugin]) -> String {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What is missing, for programs.
pub(crate) fn missing_json(missing: &[MissingPlugin]) -> Value {
    let plugin = |missing: &MissingPlugin| {
        let MissingPlugin { plugin, .. } = missing;
        json!({
            "kind": plugin.kind.to_string(),
            "id": plugin.id,
            "range": range(plugin.range()),
            "reason": missing.to_string(),
        })
    };
    missing.iter().map(plugin).collect()
}

/// The name of a range of ids in JSON and in lists.
pub(crate) fn range(range: IdRange) -> &'static str {
    match range {
        IdRange::Blosc => "blosc",
        IdRange::Registered => "registered",
        IdRange::User => "user",
    }
}
