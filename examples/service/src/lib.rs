//! An HTTP service that stores uploads as frames and arrays in an object store, and serves parts of them.
//!
//! | request | does |
//! |---|---|
//! | `PUT /frames/NAME?typesize=4&codec=zstd&level=5` | stores the body as a frame |
//! | `PUT /arrays/NAME?dtype=f4&shape=-1,64` | stores the body as an array; -1 counts the rows |
//! | `GET /frames/NAME?items=10..20` | decoded items; all without `items` |
//! | `GET /arrays/NAME?slice=0,10:20` | decoded items of a slice, in C order; all without `slice` |
//! | `GET /metrics` | counters in the text format of Prometheus |
//! | `GET /health` | 200 while the service takes requests |
//!
//! Bodies stream in both directions. Nothing is kept in memory or on disk but what is in flight, and that is bounded:
//! see [`Settings`].

mod download;
mod error;
mod metrics;
mod upload;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::get;
use oxiblosc::object::ObjectTarget;
use oxiblosc::object::object_store::ObjectStore;
use oxiblosc::object::object_store::multipart::MultipartStore;
use oxiblosc::object::object_store::path::Path;
use oxiblosc::{Budget, Limits, Pool, ReadOptions};
use tokio::sync::Semaphore;

pub use error::Failure;
use metrics::Metrics;

/// What the service may use, and for how long it waits.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Threads that compress and decompress.
    pub threads: usize,
    /// Bytes of chunks in memory, of all requests together.
    pub memory: usize,
    /// Uploads at the same time. Each also holds the parts that are being sent, which `memory` does not count.
    pub uploads: usize,
    /// The longest body.
    pub upload_bytes: u64,
    /// How long a client may send nothing in the middle of a body.
    pub idle: Duration,
}

impl Default for Settings {
    /// A thread for each processor, 256 MiB, 16 uploads of up to 64 GiB, half a minute.
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory: 256 << 20,
            uploads: 16,
            upload_bytes: 64 << 30,
            idle: Duration::from_secs(30),
        }
    }
}

/// Bytes of the parts of an upload: the least that S3 takes.
const PART_BYTES: usize = 5 << 20;

type MakeTarget = dyn Fn(Path) -> ObjectTarget + Send + Sync;

/// What the requests share.
pub struct Service {
    store: Arc<dyn ObjectStore>,
    target: Box<MakeTarget>,
    settings: Settings,
    pool: Pool,
    budget: Budget,
    uploads: Semaphore,
    metrics: Metrics,
}

impl Service {
    /// A service that keeps its objects in `store`.
    pub fn new<S: ObjectStore + MultipartStore>(store: Arc<S>, settings: Settings) -> Arc<Self> {
        let objects = Arc::clone(&store);
        let target = move |path| ObjectTarget::with_multipart(Arc::clone(&store), path).part_size(PART_BYTES);
        Arc::new(Self {
            store: objects,
            target: Box::new(target),
            pool: Pool::new(settings.threads),
            budget: Budget::new(settings.memory),
            uploads: Semaphore::new(settings.uploads),
            metrics: Metrics::default(),
            settings,
        })
    }

    /// The routes, for `axum::serve`.
    pub fn router(self: &Arc<Self>) -> Router {
        Router::new()
            .route("/frames/{*name}", get(download::items).put(upload::frame))
            .route("/arrays/{*name}", get(download::slice).put(upload::array))
            .route("/metrics", get(|State(service): State<Arc<Self>>| async move { service.metrics_text() }))
            .route("/health", get(|| async { StatusCode::OK }))
            .layer(middleware::from_fn_with_state(Arc::clone(self), metrics::count))
            .with_state(Arc::clone(self))
    }

    /// How objects of others are read: a chunk may not take more than the memory there is for all.
    fn reading(&self) -> ReadOptions {
        let mut limits = Limits::default();
        limits.chunk_bytes = limits.chunk_bytes.min(self.settings.memory);
        limits.in_flight_bytes = self.settings.memory;
        ReadOptions::new().pool(&self.pool).budget(&self.budget).limits(limits).bytes_ahead(self.settings.memory / 8)
    }

    fn metrics_text(&self) -> String {
        let in_progress = self.settings.uploads - self.uploads.available_permits();
        self.metrics.text(&[
            ("oxiblosc_memory_bytes", self.budget.used()),
            ("oxiblosc_memory_peak_bytes", self.budget.peak()),
            ("oxiblosc_memory_limit_bytes", self.budget.limit()),
            ("oxiblosc_threads", self.pool.threads() as u64),
            ("oxiblosc_uploads_in_progress", in_progress as u64),
        ])
    }
}

/// The object of a name in a URL.
fn path(name: &str) -> Result<Path, Failure> {
    Path::parse(name).map_err(|error| Failure::bad_request(error.to_string()))
}
