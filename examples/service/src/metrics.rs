//! Counters, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::Service;

/// What has happened since the start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Bytes of bodies received.
    pub(crate) received: AtomicU64,
    /// Bytes of decoded data sent.
    pub(crate) sent: AtomicU64,
    /// Bytes of frames stored.
    pub(crate) stored: AtomicU64,
    /// Responses by method, route and status. Few of each: a route is a pattern, not a name.
    responses: Mutex<BTreeMap<(String, String, u16), u64>>,
}

impl Metrics {
    /// All counters, and `gauges` with their values.
    pub(crate) fn text(&self, gauges: &[(&str, u64)]) -> String {
        let mut text = String::new();
        let bytes = [("received", &self.received), ("sent", &self.sent), ("stored", &self.stored)];
        for (name, value) in bytes {
            let value = value.load(Ordering::Relaxed);
            let _ = writeln!(text, "# TYPE oxiblosc_{name}_bytes_total counter\noxiblosc_{name}_bytes_total {value}");
        }
        let _ = writeln!(text, "# TYPE oxiblosc_responses_total counter");
        for ((method, route, status), count) in self.responses.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            let _ = writeln!(text, "oxiblosc_responses_total{{{labels}}} {count}");
        }
        for (name, value) in gauges {
            let _ = writeln!(text, "# TYPE {name} gauge\n{name} {value}");
        }
        text
    }
}

/// Counts responses.
pub(crate) async fn count(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = request.method().to_string();
    let response = next.run(request).await;
    let key = (method, route, response.status().as_u16());
    *service.metrics.responses.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
    response
}
