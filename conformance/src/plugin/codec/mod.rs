//! The check of a codec.

mod calls;
mod damage;
mod declared;
mod dictionary;
mod ordinary;
mod params;
mod ranges;

use std::sync::Arc;

use oxiblosc_core::CodecId;
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::nd::Geometry;
use oxiblosc_core::plugin_params::Params;
use oxiblosc_core::registry::{CodecEntry, Registry, RegistryError};

use self::calls::Stream;
use super::child::{self, Diary};
use super::session::Session;
use super::settings::{Settings, shared_settings};
use super::watch::watched;
use crate::report::Report;

/// Checks the codec `id` of `registry`.
#[derive(Debug, Clone)]
pub struct CodecCheck<'a> {
    registry: &'a Registry,
    id: CodecId,
    settings: Settings,
    levels: Vec<u8>,
    may_never_compress: bool,
    known: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'a> CodecCheck<'a> {
    /// A check with meta byte 0, in depth at the levels 1, 5 and 9.
    pub fn new(registry: &'a Registry, id: CodecId) -> Self {
        let settings = Settings::new();
        Self { registry, id, settings, levels: vec![1, 5, 9], may_never_compress: false, known: Vec::new() }
    }

    shared_settings!();

    /// The levels to check in depth. Each of the others, from 1 to 9, has to restore a few inputs.
    #[must_use]
    pub fn levels(mut self, levels: &[u8]) -> Self {
        self.levels = levels.to_vec();
        self
    }

    /// States that the codec need not make anything smaller. Otherwise a codec that never does has not been checked,
    /// and does not pass.
    #[must_use]
    pub fn may_never_compress(mut self) -> Self {
        self.may_never_compress = true;
        self
    }

    /// A stream that somebody else has made, and what it decodes to; the only ones there are for codecs that only read.
    #[must_use]
    pub fn known(mut self, stream: &[u8], decoded: &[u8]) -> Self {
        self.known.push((stream.to_vec(), decoded.to_vec()));
        self
    }

    /// Checks every promise and reports which were kept. Takes about ten seconds at most in a build that is optimised a
    /// little (`opt-level = 1`); a [`thorough`](Self::thorough) run takes minutes.
    ///
    /// The codec runs on a thread of its own. If a call does not end, the report says so and that thread is left
    /// behind, with the input that it was given and not with a smaller one, which could not be tried.
    ///
    /// A call that takes several times its [limit of memory](Self::memory_limit), and goes on, ends the program with the
    /// report on stderr: there is no other way to stop it. A call that asks for more than the system has ends it without
    /// one, as any allocation that fails. With [`in_child`](Self::in_child) both are reported like other failures.
    ///
    /// # Errors
    /// When the registry has no codec with this id.
    pub fn run(&self) -> Result<Report, RegistryError> {
        let entry = self.registry.codec(self.id)?.clone();
        let subject = format!("{}, seed {}", entry.info().plugin(), self.settings.seed);
        if let Some(report) = self.settings.child.as_deref().and_then(|test| child::run(test, &subject)) {
            return Ok(report);
        }
        let diary = self.settings.child.as_ref().and_then(|_| Diary::of_child());
        let mut settings = self.settings.clone();
        if entry.info().traits.needs_array {
            settings.use_default_geometries();
        }
        let (registry, levels, known) = (self.registry.clone(), self.levels.clone(), self.known.clone());
        let may_never_compress = self.may_never_compress;
        Ok(watched(settings.limits(), Report::new(subject), diary, move |watch| {
            let session = Session { settings, watch: Arc::clone(&watch) };
            let (streams, long_streams, taken) = (Vec::new(), Vec::new(), Vec::new());
            let mut run = CodecRun { session, entry, registry, levels, streams, long_streams, taken };
            run.all(&known, may_never_compress);
        }))
    }
}

/// A check of a codec that is under way.
struct CodecRun {
    session: Session,
    entry: CodecEntry,
    /// For the round trip through frames.
    #[cfg_attr(not(feature = "streams"), allow(dead_code, reason = "frames are written with it"))]
    registry: Registry,
    levels: Vec<u8>,
    /// Some streams that the codec made, to cut and damage.
    streams: Vec<Stream>,
    /// A few that are longer, to be damaged in fewer places.
    long_streams: Vec<Stream>,
    /// Parameters that the codec takes.
    #[cfg_attr(not(feature = "streams"), allow(dead_code, reason = "frames are written with them"))]
    taken: Vec<Params>,
}

impl CodecRun {
    fn all(&mut self, known: &[(Vec<u8>, Vec<u8>)], may_never_compress: bool) {
        self.known(known);
        if self.entry.info().traits.encode {
            self.ordinary(may_never_compress);
            self.other_levels();
            self.make_long_streams();
            self.alignment();
            self.position();
            self.array();
            self.metas();
            self.loss();
            self.clones();
            self.params();
        } else {
            self.decode_only();
        }
        self.dictionaries();
        self.lengths_and_cuts();
        self.ranges();
        self.damage();
        #[cfg(feature = "streams")]
        if self.entry.info().traits.encode {
            super::frames::codec(&self.session, &self.entry, &self.registry, &self.taken);
        }
    }
}
