//! An S3 server over a directory, for tests: `s3-server DIRECTORY ACCESS_KEY SECRET_KEY`. Prints its port, and ends with
//! its standard input.

use std::error::Error;
use std::io::{Read, Write};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [directory, access, secret] = std::env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "usage: s3-server DIRECTORY ACCESS_KEY SECRET_KEY")?;
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
    loop {
        let (socket, _) = listener.accept().await?;
        let service = service.clone();
        tokio::spawn(async move {
            let builder = Builder::new(TokioExecutor::new());
            // Clients that go away are no concern of the server's.
            let _ = builder.serve_connection(TokioIo::new(socket), service).await;
        });
    }
}
