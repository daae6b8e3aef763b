//! The check of a filter.

mod calls;
mod damage;
mod declared;
mod ordinary;
mod params;
mod parts;

use std::sync::Arc;

use oxiblosc_core::FilterId;
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::nd::Geometry;
use oxiblosc_core::plugin_params::Params;
use oxiblosc_core::registry::{FilterEntry, Registry, RegistryError};

use super::child::{self, Diary};
use super::session::Session;
use super::settings::{Settings, shared_settings};
use super::watch::watched;
use crate::report::Report;

/// Checks the filter `id` of `registry`.
#[derive(Debug, Clone)]
pub struct FilterCheck<'a> {
    registry: &'a Registry,
    id: FilterId,
    settings: Settings,
    decode_only: bool,
}

impl<'a> FilterCheck<'a> {
    /// A check with meta byte 0 and all type sizes.
    pub fn new(registry: &'a Registry, id: FilterId) -> Self {
        Self { registry, id, settings: Settings::new(), decode_only: false }
    }

    shared_settings!();

    /// States that the filter is only read: `forward` fails, and only the promises of `backward` are checked.
    #[must_use]
    pub fn decode_only(mut self) -> Self {
        self.decode_only = true;
        self
    }

    /// Checks every promise and reports which were kept. Takes about ten seconds at most in a build that is optimised a
    /// little (`opt-level = 1`); a [`thorough`](Self::thorough) run takes minutes.
    ///
    /// The filter runs on a thread of its own. If a call does not end, the report says so and that thread is left
    /// behind, with the input that it was given and not with a smaller one, which could not be tried.
    ///
    /// A call that takes several times its [limit of memory](Self::memory_limit), and goes on, ends the program with the
    /// report on stderr: there is no other way to stop it. A call that asks for more than the system has ends it without
    /// one, as any allocation that fails. With [`in_child`](Self::in_child) both are reported like other failures.
    ///
    /// # Errors
    /// When the registry has no filter with this id.
    pub fn run(&self) -> Result<Report, RegistryError> {
        let entry = self.registry.filter(self.id)?.clone();
        let subject = format!("{}, seed {}", entry.info().plugin(), self.settings.seed);
        if let Some(report) = self.settings.child.as_deref().and_then(|test| child::run(test, &subject)) {
            return Ok(report);
        }
        let diary = self.settings.child.as_ref().and_then(|_| Diary::of_child());
        let mut settings = self.settings.clone();
        if entry.info().traits.needs_array {
            settings.use_default_geometries();
        }
        let (registry, decode_only) = (self.registry.clone(), self.decode_only);
        Ok(watched(settings.limits(), Report::new(subject), diary, move |watch| {
            let session = Session { settings, watch: Arc::clone(&watch) };
            FilterRun { session, entry, registry, taken: Vec::new() }.all(decode_only);
        }))
    }
}

/// A check of a filter that is under way.
struct FilterRun {
    session: Session,
    entry: FilterEntry,
    /// For the round trip through frames.
    #[cfg_attr(not(feature = "streams"), allow(dead_code, reason = "frames are written with it"))]
    registry: Registry,
    /// Parameters that the filter takes.
    #[cfg_attr(not(feature = "streams"), allow(dead_code, reason = "frames are written with them"))]
    taken: Vec<Params>,
}

impl FilterRun {
    fn all(&mut self, decode_only: bool) {
        if decode_only {
            self.refuses();
        } else {
            self.ordinary();
            self.alignment();
            self.position();
            self.reference();
            self.array();
            self.metas();
            self.loss();
            self.clones();
            self.parts();
            self.params();
        }
        self.zeros();
        self.forward_only();
        self.damage();
        #[cfg(feature = "streams")]
        if !decode_only {
            super::frames::filter(&self.session, &self.entry, &self.registry, &self.taken);
        }
    }
}
