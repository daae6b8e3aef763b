//! `oxiblosc serve`: frames and slices of arrays over HTTP.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` and directories | what is there: a page for browsers, else JSON |
//! | `GET /NAME` | the bytes of the frame, or a range of them; a page for browsers |
//! | `GET /NAME?view` | the page that shows the frame |
//! | `GET /NAME?info` | what `info --json` says |
//! | `GET /NAME?slice=0:10,3` | the items of a slice in C order, little-endian; with `&format=npy` a `.npy` file |
//! | `GET /NAME?chunks=0:10,3` | the chunks that a slice touches, with their sizes |
//! | `GET /NAME?download` | the bytes, for a browser to save |
//!
//! `HEAD` is answered as `GET` is. Nothing can be changed.

mod bytes;
mod connection;
mod failure;
mod frames;
mod guard;
mod info;
mod listing;
mod npy;
mod patience;
mod reply;
mod shares;
mod slice;
mod target;

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use oxiblosc::{Budget, ChecksumPolicy, Limits, Registry};
use tokio::sync::{Semaphore, watch};

use crate::args::ServeArgs;
use crate::error::CliError;
use crate::interrupt;
use failure::Failure;
use frames::Frames;
use reply::Reply;
use shares::{Found, Shares};
use target::{Target, View};

/// How long a request waits for its turn.
const TURN: Duration = Duration::from_secs(10);
/// More chunks than this in a frame are not worth their index in memory.
const MOST_CHUNKS: u64 = 1 << 24;

/// What all requests share.
struct Server {
    shares: Shares,
    frames: Frames,
    /// Most bytes of a slice.
    max_slice: u64,
    turns: Arc<Semaphore>,
    /// Bound to an address of this machine alone, where web pages of others must not get at it.
    is_local: bool,
    verbose: bool,
}

pub(crate) fn run(args: &ServeArgs, registry: &Registry) -> Result<(), CliError> {
    let shares = Shares::new(&args.inputs)?;
    let pool = args.pool();
    let mut limits = Limits::default();
    limits.chunks = MOST_CHUNKS;
    limits.chunk_bytes = limits.chunk_bytes.min(args.memory);
    limits.in_flight_bytes = args.memory;
    limits.result_bytes = limits.result_bytes.min(args.max_slice as u64);
    let options = args.reading.options(&pool, registry, ChecksumPolicy::Ignore);
    // A frame that is still being written is served as far as it goes.
    let options = options.budget(&Budget::new(args.memory)).limits(limits).bytes_ahead(args.memory / 8);
    let server = Arc::new(Server {
        shares,
        frames: Frames::new(options.open_ended(true), registry),
        max_slice: args.max_slice as u64,
        turns: Arc::new(Semaphore::new(args.max_requests.into())),
        is_local: args.bind.is_loopback(),
        verbose: args.verbose,
    });
    let address = SocketAddr::new(args.bind, args.port);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // Decoding has threads of its own, and so has the reading of files.
    let runtime = builder.worker_threads(2).enable_all().build().map_err(CliError::io("threads"))?;
    let (stop, stopped) = watch::channel(false);
    // The program ends when `run` returns, with status 0: stopping is how this command succeeds.
    let _guard = interrupt::undo_by(move || {
        let _ = stop.send(true);
        loop {
            std::thread::park();
        }
    });
    let done = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await.map_err(CliError::io(address.to_string()))?;
        announce(listener.local_addr().map_err(CliError::io(address.to_string()))?)?;
        connection::accept(&server, listener, stopped).await;
        Ok(())
    });
    // Work of clients that went away is not waited for.
    runtime.shutdown_background();
    done
}

/// Prints the URL, which is the only output: programs that start this one read it.
fn announce(address: SocketAddr) -> Result<(), CliError> {
    // Nobody can connect to an address that stands for all of them.
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => "localhost".into(),
        IpAddr::V6(ip) if ip.is_unspecified() => "localhost".into(),
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let mut out = io::stdout().lock();
    let done = writeln!(out, "http://{host}:{}/", address.port());
    done.and_then(|()| out.flush()).map_err(CliError::stdout)
}

impl Server {
    /// Answers a request; what fails is an answer as well.
    async fn answer(self: &Arc<Self>, request: &Request<Incoming>) -> Reply {
        let answer = match guard::check(request, self.is_local) {
            Ok(()) => self.found(request).await,
            Err(failure) => Err(failure),
        };
        answer.unwrap_or_else(Reply::from)
    }

    async fn found(self: &Arc<Self>, request: &Request<Incoming>) -> Result<Reply, Failure> {
        let target = Target::parse(request.uri(), request.headers())?;
        let turn = tokio::time::timeout(TURN, Arc::clone(&self.turns).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(Failure::busy()) };
        let found = self.shares.find(&target.path).await?;
        let view = &target.view;
        let reply = match (found, view) {
            (Found::Folder(folder), View::Bytes | View::Page) => listing::reply(&folder, &target).await,
            (Found::Folder(_), _) => Err(Failure::bad_request("this is a directory")),
            (Found::Frame(_), View::Page) => Ok(info::page()),
            (Found::Frame(place), View::Bytes | View::Download) => bytes::of(place, request, &target).await,
            (Found::ChunkFile(path), View::Bytes | View::Download) => bytes::of_file(path, request, &target).await,
            (Found::ChunkFile(_), _) => Err(Failure::bad_request("this is a file of a sparse frame")),
            (Found::Frame(place), View::Info) => info::json(&*self.frames.open(&place).await?, &self.frames).await,
            (Found::Frame(place), View::Chunks(selection)) => {
                info::chunks(&*self.frames.open(&place).await?, selection).await
            }
            (Found::Frame(place), View::Slice { selection, format }) => {
                let frame = self.frames.open(&place).await?;
                let reply = slice::reply(&frame, selection, *format, self.max_slice).await;
                if reply.as_ref().is_err_and(Failure::is_stale) {
                    self.frames.forget(&place);
                }
                reply
            }
        };
        Ok(reply?.holding(turn))
    }
}
