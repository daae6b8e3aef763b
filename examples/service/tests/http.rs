//! The service over real HTTP on the loopback interface.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use oxiblosc::object::object_store::ObjectStore;
use oxiblosc::object::object_store::memory::InMemory;
use oxiblosc_service::{Service, Settings};
use reqwest::{Body, Client, Response};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A service with its store, and how to stop it.
struct Running {
    url: String,
    store: Arc<InMemory>,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
    client: Client,
}

impl Running {
    async fn start(settings: Settings) -> Self {
        let store = Arc::new(InMemory::new());
        let service = Service::new(Arc::clone(&store), settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(async move {
            let serve = axum::serve(listener, service.router());
            serve.with_graceful_shutdown(async { drop(stopped.await) }).await.expect("it serves");
        });
        Self { url, store, stop, ended, client: Client::new() }
    }

    async fn put(&self, path: &str, body: impl Into<Body>) -> Response {
        self.client.put(format!("{}{path}", self.url)).body(body).send().await.expect("a response")
    }

    async fn get(&self, path: &str) -> Response {
        self.client.get(format!("{}{path}", self.url)).send().await.expect("a response")
    }

    async fn objects(&self) -> usize {
        self.store.list(None).count().await
    }

    async fn text(&self, path: &str) -> (u16, String) {
        let response = self.get(path).await;
        (response.status().as_u16(), response.text().await.expect("text"))
    }
}

fn numbers(count: u32) -> Vec<u8> {
    (0..count).flat_map(|i| (i ^ i >> 3).to_le_bytes()).collect()
}

/// A body in pieces of odd lengths.
fn pieces(data: &[u8]) -> Body {
    let pieces: Vec<_> = data.chunks(99_991).map(|piece| Ok::<_, std::io::Error>(piece.to_vec())).collect();
    Body::wrap_stream(stream::iter(pieces))
}

#[tokio::test(flavor = "multi_thread")]
async fn frames() {
    let service = Running::start(Settings::default()).await;
    for count in [0, 1, 1_048_575, 1_048_576, 3_000_001] {
        let data = numbers(count);
        let name = format!("/frames/a/{count}?typesize=4&codec=lz4");
        let response = service.put(&name, pieces(&data)).await;
        assert_eq!(response.status(), 201, "{:?}", response.text().await);
        let path = format!("/frames/a/{count}");
        let response = service.get(&path).await;
        assert_eq!(response.headers()["x-typesize"], "4");
        assert!(response.bytes().await.expect("a body") == data, "{count} items");
        if count > 1000 {
            let part = service.get(&format!("{path}?items=1000..{count}")).await;
            assert!(part.bytes().await.expect("a body") == data[4000..], "{count} items");
        }
    }
    assert_eq!(service.objects().await, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn arrays() {
    let service = Running::start(Settings::default()).await;
    let data = numbers(1001 * 777);
    let response = service.put("/arrays/rows?dtype=u4&shape=-1,777", pieces(&data)).await;
    assert_eq!(response.status(), 201);
    let summary = response.text().await.expect("text");
    assert!(summary.contains("\"shape\":[1001,777]"), "{summary}");

    let response = service.get("/arrays/rows?slice=1000,::-100").await;
    assert_eq!(
        (&response.headers()["x-shape"], &response.headers()["x-dtype"]),
        (&"1001,777".parse().unwrap(), &"u4".parse().unwrap())
    );
    let row = &data[1000 * 777 * 4..];
    let expected: Vec<u8> = (0..777).rev().step_by(100).flat_map(|i| row[4 * i..4 * i + 4].to_vec()).collect();
    assert_eq!(response.bytes().await.expect("a body"), expected);
    assert!(service.get("/arrays/rows").await.bytes().await.expect("a body") == data);

    // Of the wrong length: nothing is stored.
    let response = service.put("/arrays/short?dtype=u4&shape=10,10", pieces(&data[..396])).await;
    assert_eq!(response.status(), 400);
    let response = service.put("/arrays/odd?dtype=u4&shape=-1,10", pieces(&data[..399])).await;
    assert_eq!(response.status(), 400);
    assert_eq!(service.objects().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests() {
    let service = Running::start(Settings::default()).await;
    assert_eq!(service.text("/frames/nothing").await.0, 404);
    assert_eq!(service.text("/elsewhere").await.0, 404);
    assert_eq!(service.text("/frames/nothing?item=1").await.0, 400);
    assert_eq!(service.put("/frames/a", vec![7; 300_000]).await.status(), 201);
    for path in ["/frames/a?items=5", "/frames/a?items=0..300001", "/arrays/a", "/frames/a?items=2..1"] {
        let (status, message) = service.text(path).await;
        assert_eq!(status, 400, "{path}: {message}");
        assert!(message.ends_with('\n') && message.lines().count() == 1, "{path}: {message:?}");
    }
    for path in ["/frames/b?codec=none", "/frames/b?level=10", "/arrays/b?shape=3", "/arrays/b?dtype=u4&shape=x"] {
        let response = service.put(path, vec![7; 1000]).await;
        assert_eq!(response.status(), 400, "{path}");
    }
    assert_eq!(service.objects().await, 1);
}

/// Limits hold, and what is refused leaves nothing behind.
#[tokio::test(flavor = "multi_thread")]
async fn limits() {
    let settings =
        Settings { uploads: 1, upload_bytes: 1_000_000, idle: Duration::from_millis(300), ..Settings::default() };
    let service = Running::start(settings).await;
    assert_eq!(service.put("/frames/exact", vec![1; 1_000_000]).await.status(), 201);
    assert_eq!(service.put("/frames/long", vec![1; 1_000_001]).await.status(), 413);

    // A client that stops in the middle holds the only place until it is timed out.
    let (send, received) = futures::channel::mpsc::unbounded::<Result<Bytes, std::io::Error>>();
    send.unbounded_send(Ok(Bytes::from(vec![2; 500_000]))).expect("a piece");
    let slow = service.client.put(format!("{}/frames/slow", service.url)).body(Body::wrap_stream(received)).send();
    let slow = tokio::spawn(slow);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let busy = service.put("/frames/other", vec![3; 1000]).await;
    assert_eq!((busy.status().as_u16(), &busy.headers()["retry-after"]), (503, &"1".parse().unwrap()));
    let slow = slow.await.expect("a task").expect("a response");
    assert_eq!(slow.status(), 408);
    drop(send);
    assert_eq!(service.put("/frames/other", vec![3; 1000]).await.status(), 201);
    oxiblosc::settle().await;
    assert_eq!(service.objects().await, 2);
}

/// A request in progress is answered after the service has been told to stop, and then it ends.
#[tokio::test(flavor = "multi_thread")]
async fn shutdown() {
    let service = Running::start(Settings::default()).await;
    let (send, received) = futures::channel::mpsc::unbounded::<Result<Bytes, std::io::Error>>();
    let upload = service.client.put(format!("{}/frames/last", service.url)).body(Body::wrap_stream(received)).send();
    let upload = tokio::spawn(upload);
    send.unbounded_send(Ok(Bytes::from(vec![2; 500_000]))).expect("a piece");
    tokio::time::sleep(Duration::from_millis(100)).await;
    service.stop.send(()).expect("it runs");
    tokio::time::sleep(Duration::from_millis(100)).await;
    send.unbounded_send(Ok(Bytes::from(vec![2; 500_000]))).expect("a piece");
    drop(send);
    assert_eq!(upload.await.expect("a task").expect("a response").status(), 201);
    tokio::time::timeout(Duration::from_secs(10), service.ended).await.expect("it ends").expect("in order");
    assert_eq!(service.store.list(None).count().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics() {
    let service = Running::start(Settings::default()).await;
    service.put("/frames/a", vec![7; 300_000]).await;
    service.get("/frames/a").await.bytes().await.expect("a body");
    service.get("/frames/b").await;
    let (status, text) = service.text("/metrics").await;
    assert_eq!(status, 200);
    for line in [
        "oxiblosc_received_bytes_total 300000",
        "oxiblosc_sent_bytes_total 300000",
        "oxiblosc_responses_total{method=\"PUT\",route=\"/frames/{*name}\",status=\"201\"} 1",
        "oxiblosc_responses_total{method=\"GET\",route=\"/frames/{*name}\",status=\"404\"} 1",
        "oxiblosc_uploads_in_progress 0",
        "oxiblosc_memory_bytes 0",
        "# TYPE oxiblosc_memory_bytes gauge",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}
