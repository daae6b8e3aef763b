//! Frames in S3, on real servers: processes of their own on the loopback interface.
//!
//! Two implementations, as they differ: s3s-fs, and the server of moto, which needs Python (see the interoperability
//! tests). A proxy between counts requests and bytes, and adds latency.

mod appending;
// The pages, and how their commands are run; `cli/tests/docs` runs those that need no server.
#[cfg(target_os = "linux")]
#[path = "../../../../cli/tests/docs/blocks.rs"]
mod blocks;
mod command;
#[cfg(target_os = "linux")]
#[path = "../../../../cli/tests/docs/data.rs"]
mod data;
#[cfg(target_os = "linux")]
mod docs;
#[path = "../../../tests/interop/environment.rs"]
mod environment;
#[cfg(unix)]
mod killed;
#[cfg(target_os = "linux")]
#[expect(dead_code, reason = "the tests of the pages use the rest")]
#[path = "../../../../cli/tests/docs/pages.rs"]
mod pages;
mod parts;
mod program;
mod proxy;
mod reading;
#[cfg(target_os = "linux")]
#[path = "../../../../cli/tests/docs/script.rs"]
mod script;
mod server;
mod sharing;
mod streamed;
mod uploading;
