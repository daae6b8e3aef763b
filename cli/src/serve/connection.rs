//! Connections, from their beginning to the line in the log.

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::Server;
use super::patience::Patient;

/// Connections at a time; more of them wait in the queue of the system.
const CONNECTIONS: usize = 512;
/// How long a client may take for the head of a request, or do nothing between two.
const HEAD: Duration = Duration::from_secs(30);
/// How long a client may take nothing of an answer.
const STALL: Duration = Duration::from_secs(60);
/// The longest head of a request.
const HEAD_BYTES: usize = 64 << 10;
/// How long answers may take that have begun when the server is stopped.
const FAREWELL: Duration = Duration::from_secs(10);

/// Accepts connections until `stopped` says so, and then waits for the answers that have begun.
pub(super) async fn accept(server: &Arc<Server>, listener: TcpListener, stopped: watch::Receiver<bool>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut stop = stopped.clone();
    loop {
        let next = async {
            // Never closed.
            let place = Arc::clone(&room).acquire_owned().await.ok();
            (place, listener.accept().await)
        };
        tokio::select! {
            (place, accepted) = next => match accepted {
                Ok((stream, peer)) => {
                    let (server, stopped) = (Arc::clone(server), stopped.clone());
                    connections.spawn(async move {
                        serve(server, stream, peer, stopped).await;
                        drop(place);
                    });
                }
                // Out of file descriptors, or a client that has gone already: others may do better later.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            _ = stop.wait_for(|stop| *stop) => break,
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(FAREWELL, all).await;
}

async fn serve(server: Arc<Server>, stream: TcpStream, peer: SocketAddr, mut stopped: watch::Receiver<bool>) {
    // Answers are written in large pieces: waiting for more gains nothing.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let server = Arc::clone(&server);
        async move {
            let log = LogEntry::new(&server, peer, &request);
            let is_head = request.method() == Method::HEAD;
            Ok::<_, Infallible>(server.answer(&request).await.into_response(is_head, log))
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES);
    let connection = builder.serve_connection(TokioIo::new(Patient::new(stream, STALL)), service);
    tokio::pin!(connection);
    // How a connection fails is the business of its client.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// A line of the log, written when the answer has been sent or given up.
pub(super) struct LogEntry {
    /// Who asked for what; `None` without a log.
    request: Option<String>,
    begun: Instant,
    pub(super) status: StatusCode,
    /// Bytes of the body.
    pub(super) sent: u64,
    /// Whether something is missing.
    pub(super) is_cut: bool,
}

impl LogEntry {
    fn new<B>(server: &Server, peer: SocketAddr, request: &hyper::Request<B>) -> Self {
        // A URL has no control characters.
        let shown = || format!("{peer} {} {}", request.method(), request.uri());
        Self {
            request: server.verbose.then(shown),
            begun: Instant::now(),
            status: StatusCode::OK,
            sent: 0,
            is_cut: false,
        }
    }
}

impl Drop for LogEntry {
    fn drop(&mut self) {
        if let Some(request) = &self.request {
            let (status, seconds) = (self.status.as_u16(), self.begun.elapsed().as_secs_f64());
            let cut = if self.is_cut { ", broken off" } else { "" };
            // Without a reader there is no log.
            let _ = writeln!(io::stderr(), "{request} {status}, {} bytes in {seconds:.3} s{cut}", self.sent);
        }
    }
}
