//! What the author of a plugin says about a check.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::nd::Geometry;
use oxiblosc_core::plugin_params::Params;

use super::memory::Gauge;
use super::watch::CallLimits;

/// Compares what went in with what came back.
type Tolerance = Arc<dyn Fn(&BlockContext<'_>, &[u8], &[u8]) -> Result<(), String> + Send + Sync>;

/// The settings that checks of filters and codecs share.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) metas: Vec<u8>,
    pub(super) typesizes: Option<Vec<usize>>,
    pub(super) geometries: Vec<(Arc<Geometry>, usize)>,
    pub(super) seed: u64,
    pub(super) thorough: bool,
    pub(super) ignores_meta: bool,
    pub(super) params: Vec<Params>,
    pub(super) ignores_params: bool,
    pub(super) max_error: Option<f64>,
    pub(super) tolerance: Option<Tolerance>,
    pub(super) time: Duration,
    pub(super) memory: usize,
    pub(super) gauge: Gauge,
    pub(super) child: Option<String>,
    pub(super) python: Option<PathBuf>,
}

impl Settings {
    pub(super) fn new() -> Self {
        Self {
            metas: vec![0],
            typesizes: None,
            geometries: Vec::new(),
            seed: 1,
            thorough: false,
            ignores_meta: false,
            params: Vec::new(),
            ignores_params: false,
            max_error: None,
            tolerance: None,
            time: Duration::from_secs(2),
            memory: 1 << 30,
            gauge: Gauge::default(),
            child: None,
            python: std::env::var_os("OXIBLOSC_PYTHON").map(PathBuf::from),
        }
    }

    pub(super) fn limits(&self) -> CallLimits {
        CallLimits { time: self.time, memory: self.memory, gauge: self.gauge }
    }

    /// Arrays for plugins that work on them alone, unless the author names others.
    pub(super) fn use_default_geometries(&mut self) {
        if self.geometries.is_empty() {
            let shapes: [(&[u32], &[u32], usize); 3] =
                [(&[512], &[256], 8), (&[20, 24], &[16, 12], 4), (&[8, 8, 12], &[4, 8, 6], 8)];
            self.geometries =
                shapes.iter().map(|(chunk, block, typesize)| (Arc::new(geometry(chunk, block)), *typesize)).collect();
        }
    }

    /// How far what came back may be from what went in.
    pub(super) fn tolerates(&self, ctx: &BlockContext<'_>, src: &[u8], back: &[u8]) -> Result<(), String> {
        if let Some(tolerance) = &self.tolerance {
            tolerance(ctx, src, back)?;
        }
        match (self.max_error, ctx.typesize) {
            (Some(bound), 4) => near(bound, src, back, |item| f32::from_le_bytes(item).into()),
            (Some(bound), 8) => near(bound, src, back, f64::from_le_bytes),
            _ => Ok(()),
        }
    }
}

/// A geometry of an array with a whole chunk and parts of others along each axis.
fn geometry(chunk: &[u32], block: &[u32]) -> Geometry {
    let shape = chunk.iter().map(|&n| u64::from(n) * 3 / 2 + 1).collect();
    Geometry { shape, chunk_shape: chunk.to_vec(), block_shape: block.to_vec() }
}

/// Compares numbers. Blocks with numbers that are not finite, or so large that no bound would make sense, are left to
/// the other promises.
fn near<const N: usize>(bound: f64, src: &[u8], back: &[u8], read: impl Fn([u8; N]) -> f64) -> Result<(), String> {
    const LARGEST: f64 = 1e6;
    let (src, back) = (src.as_chunks::<N>().0, back.as_chunks::<N>().0);
    if !src.iter().all(|&item| read(item).abs() <= LARGEST) {
        return Ok(());
    }
    for (i, (&src, &back)) in src.iter().zip(back).enumerate() {
        let (src, back) = (read(src), read(back));
        let error = (src - back).abs();
        if error.is_nan() || error > bound {
            return Err(format!("item {i} is {back:?}, expected {src:?}: the error is {error:e}, the bound {bound:e}"));
        }
    }
    Ok(())
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { metas, typesizes, geometries, seed, thorough, max_error, .. } = self;
        f.debug_struct("Settings")
            .field("metas", metas)
            .field("typesizes", typesizes)
            .field("geometries", geometries)
            .field("seed", seed)
            .field("thorough", thorough)
            .field("max_error", max_error)
            .finish_non_exhaustive()
    }
}

/// The methods that both kinds of check have.
macro_rules! shared_settings {
    () => {
        /// The meta bytes to run with, all of them valid; 0 unless it is called. Two or more must make a difference.
        #[must_use]
        pub fn metas(mut self, metas: &[u8]) -> Self {
            self.settings.metas = metas.to_vec();
            self
        }

        /// States that the meta byte makes no difference.
        #[must_use]
        pub fn ignores_meta(mut self) -> Self {
            self.settings.ignores_meta = true;
            self
        }

        /// Parameters to run with, all of them valid; may be called several times. Frames are written with the first of
        /// them.
        ///
        /// The kit also tries numbers and words of its own for each parameter that the plugin declares. Those that the
        /// plugin takes must work, so this is needed only for parameters that take none of them.
        #[must_use]
        pub fn params(mut self, params: oxiblosc_core::plugin_params::Params) -> Self {
            self.settings.params.push(params);
            self
        }

        /// States that parameters make no difference to what is stored.
        #[must_use]
        pub fn ignores_params(mut self) -> Self {
            self.settings.ignores_params = true;
            self
        }

        /// The type sizes to run with, for plugins that do not work on all of them from 1 to 255.
        #[must_use]
        pub fn typesizes(mut self, typesizes: &[usize]) -> Self {
            self.settings.typesizes = Some(typesizes.to_vec());
            self
        }

        /// Checks blocks of arrays with this geometry and type size, instead of blocks of any length. May be called
        /// several times. Plugins that declare `needs_array` are checked on arrays of one to three dimensions if it is
        /// not called.
        #[must_use]
        pub fn geometry(mut self, geometry: Geometry, typesize: usize) -> Self {
            self.settings.geometries.push((std::sync::Arc::new(geometry), typesize));
            self
        }

        /// The largest error of an item that a lossy plugin may make. Items of 4 and 8 bytes are floating-point
        /// numbers; blocks with numbers above a million, or that are not finite, are not compared.
        #[must_use]
        pub fn max_error(mut self, bound: f64) -> Self {
            self.settings.max_error = Some(bound);
            self
        }

        /// Compares what went into a lossy plugin with what came back, block by block. The error says what is wrong.
        #[must_use]
        pub fn tolerance(
            mut self,
            compare: impl Fn(&BlockContext<'_>, &[u8], &[u8]) -> Result<(), String> + Send + Sync + 'static,
        ) -> Self {
            self.settings.tolerance = Some(std::sync::Arc::new(compare));
            self
        }

        /// Where the contents begin; a run with the same seed does the same.
        #[must_use]
        pub fn seed(mut self, seed: u64) -> Self {
            self.settings.seed = seed;
            self
        }

        /// Runs many more cases, for minutes instead of seconds.
        #[must_use]
        pub fn thorough(mut self) -> Self {
            self.settings.thorough = true;
            self
        }

        /// Processor time that a call may take, and once more for each MiB of its data; 2 seconds unless it is called.
        #[must_use]
        pub fn time_limit(mut self, time: std::time::Duration) -> Self {
            self.settings.time = time;
            self
        }

        /// Bytes that a call on damaged data may take; 1 GiB unless it is called.
        ///
        /// The memory is that of the process as Linux tells it: what other tests take at the same time counts, and a
        /// peak that was there before hides lower ones. Elsewhere it is not measured. An allocator that counts, with
        /// `counting`, does better.
        #[must_use]
        pub fn memory_limit(mut self, bytes: usize) -> Self {
            self.settings.memory = bytes;
            self
        }

        /// Runs the check in a process of its own first, and here only if that process survives. An allocation that fails
        /// because damaged data asks for terabytes ends a process; so do a stack that overflows and a library in C that
        /// crashes. This way such an end is a failure in the report, with the input that led to it.
        ///
        /// `test` is the name of the test that calls this, as `cargo test` shows it: `"keeps_its_promises"`, or
        /// `"module::keeps_its_promises"`. The child is the program of the test, which is started with that name. The
        /// check takes twice as long.
        #[must_use]
        pub fn in_child(mut self, test: &str) -> Self {
            self.settings.child = Some(test.to_owned());
            self
        }

        /// The allocator of the test program, which counts exactly what a call takes.
        #[cfg(feature = "budget")]
        #[must_use]
        pub fn counting(mut self, heap: &'static crate::budget::Heap) -> Self {
            self.settings.gauge = super::memory::Gauge::of(heap);
            self
        }

        /// A Python interpreter with the package `blosc2`, for plugins that C-Blosc2 has as well: it reads and writes
        /// frames with the plugin. Without a call it is what the environment variable `OXIBLOSC_PYTHON` says, if it is
        /// set and the id is one of Blosc's own.
        #[must_use]
        pub fn python(mut self, interpreter: impl Into<std::path::PathBuf>) -> Self {
            self.settings.python = Some(interpreter.into());
            self
        }
    };
}

pub(super) use shared_settings;
