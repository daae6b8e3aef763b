//! Frames in S3, on real servers: processes of their own on the loopback interface.
//!
//! Two implementations, as they differ: s3s-fs, and the server of moto, which needs Python (see the interoperability
//! tests). A proxy between counts requests and bytes, and adds latency.

mod appending;
mod command;
#[path = "../../../tests/interop/environment.rs"]
mod environment;
#[cfg(unix)]
mod killed;
mod program;
mod proxy;
mod reading;
mod server;
mod sharing;
mod streamed;
mod uploading;
