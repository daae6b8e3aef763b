//! An S3 server over a directory, for tests: `s3-server DIRECTORY ACCESS_KEY SECRET_KEY [atomic]`. Prints its port, and
//! ends with its standard input.
//!
//! `s3s-fs` compares ETags and then writes, so that of two conditional puts at the same time both may succeed. With
//! `atomic` a request that changes something has the directory to itself, as on S3.

use std::error::Error;
use std::io::{Read, Write};
use std::sync::Arc;

use hyper::Method;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio::sync::RwLock;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args: Vec<_> = std::env::args().skip(1).collect();
    let atomic = args.pop_if(|last| last == "atomic").is_some();
    let [directory, access, secret] =
        args.try_into().map_err(|_| "usage: s3-server DIRECTORY ACCESS_KEY SECRET_KEY [atomic]")?;
    let files = FileSystem::new(directory).map_err(|e| format!("{e:?}"))?;
    let mut builder = S3ServiceBuilder::new(files);
    builder.set_auth(SimpleAuth::from_single(access, secret));
    let service = builder.build();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", listener.local_addr()?.port())?;
    out.flush()?;
    std::thread::spawn(|| {
        // A test that dies takes its server along.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let lock = Arc::new(RwLock::new(()));
    loop {
        let (socket, _) = listener.accept().await?;
        let (service, lock) = (service.clone(), Arc::clone(&lock));
        let service = service_fn(move |request| {
            let (service, lock) = (service.clone(), Arc::clone(&lock));
            async move {
                let (mut _reading, mut _writing) = (None, None);
                match *request.method() {
                    _ if !atomic => {}
                    Method::GET | Method::HEAD => _reading = Some(lock.read().await),
                    _ => _writing = Some(lock.write().await),
                }
                Service::call(&service, request).await
            }
        });
        tokio::spawn(async move {
            let builder = Builder::new(TokioExecutor::new());
            // Clients that go away are no concern of the server's.
            let _ = builder.serve_connection(TokioIo::new(socket), service).await;
        });
    }
}
