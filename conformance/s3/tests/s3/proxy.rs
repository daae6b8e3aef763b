//! A proxy before a server that counts, delays and throttles.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// A running proxy; it ends when it is dropped.
pub(crate) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    _runtime: Runtime,
}

struct Shared {
    upstream: u16,
    latency: Duration,
    /// Bytes of answers per second, over all connections.
    bandwidth: Option<u64>,
    /// When the line is free again.
    free: Mutex<Option<Instant>>,
    requests: AtomicU64,
    bytes: AtomicU64,
    log: std::sync::Mutex<Vec<String>>,
    /// A request whose line has this in it is refused, once.
    refused: std::sync::Mutex<Option<String>>,
}

/// What went through a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) requests: u64,
    /// Bytes of the bodies of answers.
    pub(crate) bytes: u64,
    /// Each request: method, path, range.
    pub(crate) log: Vec<String>,
}

impl Proxy {
    /// Before the server on port `upstream`: every request waits for `latency`, and answers come at `bandwidth` bytes
    /// per second.
    pub(crate) fn start(upstream: u16, latency: Duration, bandwidth: Option<u64>) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let port = listener.local_addr().expect("a bound port").port();
        let shared = Arc::new(Shared {
            upstream,
            latency,
            bandwidth,
            free: Mutex::new(None),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            log: std::sync::Mutex::default(),
            refused: std::sync::Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let shared = Arc::clone(&serving);
                tokio::spawn(async move {
                    let service = service_fn(move |request| {
                        let shared = Arc::clone(&shared);
                        async move { Ok::<_, Infallible>(shared.forward(request).await) }
                    });
                    let http = hyper::server::conn::http1::Builder::new();
                    let _ = http.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Self { port, shared, _runtime: runtime }
    }

    /// A proxy that only counts.
    pub(crate) fn counting(upstream: u16) -> Self {
        Self::start(upstream, Duration::ZERO, None)
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Refuses the next request whose method and path have `part` in them. (With a status after which clients do not try
    /// again by themselves.)
    pub(crate) fn refuse(&self, part: &str) {
        *self.shared.refused.lock().expect("nobody panics with it") = Some(part.to_owned());
    }

    /// Whether a request is still to be refused.
    pub(crate) fn refuses(&self) -> bool {
        self.shared.refused.lock().expect("nobody panics with it").is_some()
    }

    /// What went through since the last time this was asked.
    pub(crate) fn take(&self) -> Traffic {
        let shared = &self.shared;
        Traffic {
            requests: shared.requests.swap(0, Ordering::SeqCst),
            bytes: shared.bytes.swap(0, Ordering::SeqCst),
            log: std::mem::take(&mut *shared.log.lock().expect("nobody panics with it")),
        }
    }
}

impl Shared {
    async fn forward(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let range = request.headers().get("range").and_then(|range| range.to_str().ok()).unwrap_or("-");
        let line = format!("{} {} {range}", request.method(), request.uri());
        let refused = self.refused.lock().expect("nobody panics with it").take_if(|part| line.contains(part.as_str()));
        self.log.lock().expect("nobody panics with it").push(line);
        if refused.is_some() {
            let mut response = Response::new(Full::new(Bytes::from_static(b"not now")));
            *response.status_mut() = hyper::StatusCode::FORBIDDEN;
            return response;
        }
        tokio::time::sleep(self.latency).await;
        self.exchange(request).await.unwrap_or_else(|e| {
            let mut response = Response::new(Full::new(Bytes::from(e.to_string())));
            *response.status_mut() = hyper::StatusCode::BAD_GATEWAY;
            response
        })
    }

    async fn exchange(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Box<dyn std::error::Error + Send + Sync>> {
        let socket = TcpStream::connect(("127.0.0.1", self.upstream)).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        let (head, body) = sender.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        self.bytes.fetch_add(body.len() as u64, Ordering::SeqCst);
        if let Some(bandwidth) = self.bandwidth {
            let takes = Duration::from_secs_f64(body.len() as f64 / bandwidth as f64);
            let arrival = {
                let mut free = self.free.lock().await;
                let arrival = free.unwrap_or_else(Instant::now).max(Instant::now()) + takes;
                *free = Some(arrival);
                arrival
            };
            tokio::time::sleep_until(arrival).await;
        }
        Ok(Response::from_parts(head, Full::new(body)))
    }
}
