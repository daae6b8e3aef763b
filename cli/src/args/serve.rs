//! The arguments of `oxiblosc serve`.

use std::net::IpAddr;

use clap::Args;
use oxiblosc::Pool;

use super::{ReadingArgs, Source};
use crate::units::parse_bytes;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Frames, and directories with frames in them. A single directory is served as the root, everything else under its
    /// name
    #[arg(required = true, value_name = "PATH|URL")]
    pub(crate) inputs: Vec<Source>,
    /// Address to listen on. The default is reached from this machine alone; 0.0.0.0 is reached from every network that
    /// it is on, and there is neither a password nor encryption
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) bind: IpAddr,
    /// Port to listen on; 0 takes one that is free
    #[arg(long, value_name = "PORT", default_value_t = 8000)]
    pub(crate) port: u16,
    /// Most bytes of a slice; one that is larger, or that takes decoding of 16 times as much, is refused with status 413
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value = "256M")]
    pub(crate) max_slice: usize,
    /// Requests that are worked on at a time; more of them wait for up to 10 seconds, and are then refused with 503
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), default_value_t = 64)]
    pub(crate) max_requests: u16,
    /// Memory for chunks, of all requests together
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value = "512M")]
    pub(crate) memory: usize,
    /// Threads that decode [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// Write a line on standard error for each request
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

impl ServeArgs {
    /// A pool of so many threads as asked for, or of one for each processor.
    pub(crate) fn pool(&self) -> Pool {
        self.threads.map_or_else(Pool::per_processor, |threads| Pool::new(threads.into()))
    }
}
