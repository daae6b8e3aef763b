//! Plugins that data names and a registry does not have.

use std::collections::BTreeSet;
use std::fmt;

use super::{Registry, RegistryError};
use crate::plugin::{PluginId, PluginKind, PluginName};
use crate::{CodecId, FilterId};

/// A plugin that data names and a registry does not have.
///
/// It is displayed in one line, as `no provider for codec 200 (user-defined, 160..255)`. If the plugin is linked and
/// cannot be used, the line names it and its crate and says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPlugin {
    /// The plugin.
    pub plugin: PluginId,
    /// What looking it up says, with advice for the program's author.
    pub reason: RegistryError,
}

impl fmt::Display for MissingPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            RegistryError::Unknown { .. } | RegistryError::Empty { .. } => {
                write!(f, "no provider for {}", self.plugin)
            }
            reason => write!(f, "{} cannot be used: {reason}", self.plugin),
        }
    }
}

impl Registry {
    /// The name of the plugin with this id, and the crate that provides it.
    ///
    /// # Errors
    /// As [`Registry::filter`] and [`Registry::codec`].
    pub fn plugin(&self, plugin: PluginId) -> Result<PluginName, RegistryError> {
        match plugin.kind {
            PluginKind::Filter => Ok(self.filter(FilterId(plugin.id))?.info().plugin()),
            PluginKind::Codec => Ok(self.codec(CodecId(plugin.id))?.info().plugin()),
        }
    }

    /// Those of `plugins` that this registry does not have: filters first, by id, each once.
    ///
    /// ```
    /// use oxiblosc_core::{CodecId, Registry};
    /// # use oxiblosc_plugins as _;
    ///
    /// let missing = Registry::linked()?.missing([CodecId::ZSTD.into(), CodecId(200).into()]);
    /// assert_eq!(missing.len(), 1);
    /// assert_eq!(missing[0].to_string(), "no provider for codec 200 (user-defined, 160..255)");
    /// # Ok::<(), oxiblosc_core::registry::RegistryError>(())
    /// ```
    pub fn missing(&self, plugins: impl IntoIterator<Item = PluginId>) -> Vec<MissingPlugin> {
        let plugins: BTreeSet<PluginId> = plugins.into_iter().collect();
        let missing = |plugin| Some(MissingPlugin { plugin, reason: self.plugin(plugin).err()? });
        plugins.into_iter().filter_map(missing).collect()
    }
}
