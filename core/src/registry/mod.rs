//! Who provides which filter and codec.
//!
//! Providers register at item level with [`register_filter!`](crate::register_filter) and
//! [`register_codec!`](crate::register_codec), which work from any crate, or on a [`Registry`] value at run time.
//! [`Registry::linked`] collects everything the program is linked with; an explicit registry can be passed wherever
//! one is taken.
//!
//! A plugin that cannot be used, because its id or name clashes with another one's, or it claims an id that is not its own,
//! or cannot be made, costs nothing but itself: looking it up says why, and so does [`Registry::problems`].

mod error;
mod info;
mod missing;
mod register;
mod table;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, ThreadId};

use crate::codec::Codec;
use crate::executor::locked;
use crate::filter::Filter;
use crate::id::{CodecId, FilterId, IdRange};
use crate::pipeline::FilterSlots;
use crate::plugin::{PluginKind, Provider};

use self::table::Table;

pub use crate::plugin::PluginName;
pub use error::{IdConflict, RegistryError};
pub(crate) use info::made;
pub use info::{Claim, CodecEntry, CodecInfo, FilterEntry, FilterInfo};
pub use missing::MissingPlugin;
pub use register::{CodecRegistration, FilterRegistration};

/// The filters and codecs that a reader or writer may use. Cloning shares the entries.
#[derive(Clone, Default)]
pub struct Registry {
    filters: Arc<Table<FilterEntry>>,
    codecs: Arc<Table<CodecEntry>>,
    /// The filters that need the first block of the chunk. This is asked for every block that is read.
    with_reference: IdSet,
}

impl Registry {
    /// An empty registry. Stored and special chunks can still be read and written.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Everything registered in the crates that this program is linked with, collected once.
    ///
    /// Plugins that clash are left out; see [`Registry::problems`].
    ///
    /// # Errors
    /// [`RegistryError::NothingLinked`] when no crate with plugins is linked; [`RegistryError::BeingCollected`] in the
    /// constructor of a registered plugin.
    pub fn linked() -> Result<&'static Self, RegistryError> {
        static LINKED: Collection = Collection::new();
        LINKED.get(|_| true)
    }

    /// The filters and codecs of Blosc, without what others have registered or put in their place. For plugins that
    /// wrap one of them: their constructors can call this and not [`Registry::linked`].
    ///
    /// # Errors
    /// [`RegistryError::NothingLinked`] when `oxiblosc-plugins` is not linked.
    pub fn builtin() -> Result<&'static Self, RegistryError> {
        static BUILTIN: Collection = Collection::new();
        BUILTIN.get(|claim| claim == Claim::Builtin)
    }

    fn collect<'a>(
        filters: impl Iterator<Item = &'a FilterRegistration>,
        codecs: impl Iterator<Item = &'a CodecRegistration>,
    ) -> Result<Self, RegistryError> {
        let mut registry = Self::empty();
        // The linker decides the order of registrations. Overrides come last, so that the result and any error depend on
        // what is linked and not on that order.
        let mut filters: Vec<_> = filters.collect();
        filters.sort_by_key(|r| (r.info.claim, r.info.id, r.info.provider, r.info.name));
        let table = Arc::make_mut(&mut registry.filters);
        for FilterRegistration { info, new } in filters {
            match made(info.plugin(), new) {
                Ok(prototype) => table.add_linked(FilterEntry { info: *info, prototype }),
                Err(error) => table.refuse(info.plugin(), error),
            }
        }
        let mut codecs: Vec<_> = codecs.collect();
        codecs.sort_by_key(|r| (r.info.claim, r.info.id, r.info.provider, r.info.name));
        let table = Arc::make_mut(&mut registry.codecs);
        for CodecRegistration { info, new } in codecs {
            match made(info.plugin(), new) {
                Ok(prototype) => table.add_linked(CodecEntry { info: *info, prototype }),
                Err(error) => table.refuse(info.plugin(), error),
            }
        }
        registry.note_references();
        if registry.is_empty() { Err(RegistryError::NothingLinked) } else { Ok(registry) }
    }

    /// Adds a filter at run time.
    ///
    /// # Errors
    /// [`RegistryError::Clash`] when the id or the name is taken and the filter does not [override](Claim::Override) (or
    /// the present holder is an override itself); [`RegistryError::ReservedId`] when the id is not free for it;
    /// [`RegistryError::Name`] for names that cannot be selected. The registry is unchanged then.
    pub fn add_filter(&mut self, info: FilterInfo, prototype: Box<dyn Filter>) -> Result<(), RegistryError> {
        Arc::make_mut(&mut self.filters).add(FilterEntry { info, prototype })?;
        self.note_references();
        Ok(())
    }

    /// Adds a codec at run time; errors as for [`Registry::add_filter`].
    pub fn add_codec(&mut self, info: CodecInfo, prototype: Box<dyn Codec>) -> Result<(), RegistryError> {
        Arc::make_mut(&mut self.codecs).add(CodecEntry { info, prototype })
    }

    /// The filter with this id.
    ///
    /// # Errors
    /// [`RegistryError::Unknown`], [`RegistryError::Empty`], or why the filter that is linked cannot be used.
    pub fn filter(&self, id: FilterId) -> Result<&FilterEntry, RegistryError> {
        self.filters.get(id.0).map_err(|why| why.unwrap_or_else(|| self.unknown(PluginKind::Filter, id.0)))
    }

    /// The codec with this id; errors as for [`Registry::filter`].
    pub fn codec(&self, id: CodecId) -> Result<&CodecEntry, RegistryError> {
        self.codecs.get(id.0).map_err(|why| why.unwrap_or_else(|| self.unknown(PluginKind::Codec, id.0)))
    }

    /// The filter with this name.
    ///
    /// # Errors
    /// [`RegistryError::UnknownName`], or why the filter that is linked cannot be used.
    pub fn filter_by_name(&self, name: &str) -> Result<&FilterEntry, RegistryError> {
        self.filters.by_name(name).map_err(|why| {
            why.unwrap_or_else(|| RegistryError::UnknownName {
                kind: PluginKind::Filter,
                name: name.into(),
                known: self.filters.iter().map(|e| e.info.name).collect::<Vec<_>>().join(", ").into(),
            })
        })
    }

    /// The codec with this name; errors as for [`Registry::filter_by_name`].
    pub fn codec_by_name(&self, name: &str) -> Result<&CodecEntry, RegistryError> {
        self.codecs.by_name(name).map_err(|why| {
            why.unwrap_or_else(|| RegistryError::UnknownName {
                kind: PluginKind::Codec,
                name: name.into(),
                known: self.codecs.iter().map(|e| e.info.name).collect::<Vec<_>>().join(", ").into(),
            })
        })
    }

    /// All filters, by id.
    pub fn filters(&self) -> impl Iterator<Item = &FilterEntry> + Clone {
        self.filters.iter()
    }

    /// All codecs, by id.
    pub fn codecs(&self) -> impl Iterator<Item = &CodecEntry> + Clone {
        self.codecs.iter()
    }

    /// Why plugins that are linked are not in this registry.
    pub fn problems(&self) -> impl Iterator<Item = &RegistryError> {
        self.filters.problems().chain(self.codecs.problems())
    }

    /// Whether there is neither a filter nor a codec.
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty() && self.codecs.is_empty()
    }

    /// Whether blocks with these filters can only be decoded when the decoded first block of their chunk is at hand.
    pub(crate) fn needs_reference(&self, slots: &FilterSlots) -> bool {
        slots.active().any(|(_, slot)| self.with_reference.contains(slot.id.0))
    }

    fn note_references(&mut self) {
        let ids = self.filters.iter().filter(|entry| entry.info.traits.needs_reference).map(|entry| entry.info.id.0);
        self.with_reference = ids.fold(IdSet::default(), IdSet::with);
    }

    fn unknown(&self, kind: PluginKind, id: u8) -> RegistryError {
        if self.is_empty() {
            return RegistryError::Empty { kind, id };
        }
        let filters = self.filters.iter().map(|entry| entry.info.provider);
        let mut providers: Vec<&Provider> =
            filters.chain(self.codecs.iter().map(|entry| entry.info.provider)).collect();
        providers.sort_unstable();
        providers.dedup();
        let linked = providers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        RegistryError::Unknown { kind, id, range: IdRange::of(id), linked: linked.into() }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("filters", &self.filters.iter().map(|e| e.info.name).collect::<Vec<_>>())
            .field("codecs", &self.codecs.iter().map(|e| e.info.name).collect::<Vec<_>>())
            .finish()
    }
}

/// What is linked, or a part of it, collected once.
struct Collection {
    collected: OnceLock<Result<Registry, RegistryError>>,
    /// The thread that is collecting. If a constructor asks for what is being collected, it would wait for itself.
    collector: Mutex<Option<ThreadId>>,
}

impl Collection {
    const fn new() -> Self {
        Self { collected: OnceLock::new(), collector: Mutex::new(None) }
    }

    fn get(&'static self, wanted: fn(Claim) -> bool) -> Result<&'static Registry, RegistryError> {
        if let Some(collected) = self.collected.get() {
            return collected.as_ref().map_err(Clone::clone);
        }
        let this = thread::current().id();
        if *locked(&self.collector) == Some(this) {
            return Err(RegistryError::BeingCollected);
        }
        let collected = self.collected.get_or_init(|| {
            *locked(&self.collector) = Some(this);
            let filters = inventory::iter::<FilterRegistration>.into_iter().filter(|r| wanted(r.info.claim));
            let codecs = inventory::iter::<CodecRegistration>.into_iter().filter(|r| wanted(r.info.claim));
            Registry::collect(filters, codecs)
        });
        collected.as_ref().map_err(Clone::clone)
    }
}

/// A set of ids.
#[derive(Debug, Clone, Copy, Default)]
struct IdSet([u64; 4]);

impl IdSet {
    fn with(mut self, id: u8) -> Self {
        self.0[usize::from(id / 64)] |= 1 << (id % 64);
        self
    }

    fn contains(&self, id: u8) -> bool {
        self.0[usize::from(id / 64)] >> (id % 64) & 1 == 1
    }
}
