//! Serves on `ADDRESS` (127.0.0.1:8080), with objects in the bucket `BUCKET` of S3 or in memory.

use std::error::Error;
use std::sync::Arc;

#[cfg(feature = "s3")]
use oxiblosc::object::object_store::aws::AmazonS3Builder;
use oxiblosc::object::object_store::memory::InMemory;
use oxiblosc_service::{Service, Settings};
use tokio::net::TcpListener;

/// A number from the environment.
fn number<T: std::str::FromStr>(name: &str, default: T) -> Result<T, String> {
    match std::env::var(name) {
        Ok(text) => text.parse().map_err(|_| format!("{name} is {text:?}, expected a number")),
        Err(_) => Ok(default),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut settings = Settings::default();
    settings.threads = number("THREADS", settings.threads)?;
    settings.memory = number("MEMORY_MIB", settings.memory >> 20)? << 20;
    settings.uploads = number("UPLOADS", settings.uploads)?;

    let service = match std::env::var("BUCKET") {
        #[cfg(feature = "s3")]
        Ok(bucket) => {
            let plain = std::env::var("AWS_ENDPOINT_URL").is_ok_and(|url| url.starts_with("http://"));
            let store = AmazonS3Builder::from_env().with_bucket_name(bucket).with_allow_http(plain).build()?;
            Service::new(Arc::new(store), settings)
        }
        #[cfg(not(feature = "s3"))]
        Ok(_) => return Err("this program was built without the feature s3".into()),
        Err(_) => Service::new(Arc::new(InMemory::new()), settings),
    };
    let listener = TcpListener::bind(std::env::var("ADDRESS").as_deref().unwrap_or("127.0.0.1:8080")).await?;
    println!("listening on {}", listener.local_addr()?);
    // No new connections; requests that have begun are answered.
    axum::serve(listener, service.router()).with_graceful_shutdown(stopped()).await?;
    // Uploads that clients gave up are still being aborted.
    oxiblosc::settle().await;
    Ok(())
}

/// Resolves when the process is asked to stop.
async fn stopped() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}
