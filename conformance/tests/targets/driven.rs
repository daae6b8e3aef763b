//! Parts of an upload leave while the producer of a driven sink waits.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use futures::AsyncWriteExt;
use futures::future::join;
use object_store::path::Path;
use oxiblosc::object::ObjectTarget;
use oxiblosc::{Driven, EncodeParams, FilterSlots, FrameReader, FrameSink, Pool, WriteOptions, block_on};
use oxiblosc_conformance::data::Random;
use oxiblosc_conformance::target::Faults;

use crate::store::FaultyStore;

const PART: usize = 300_000;
const CHUNK: usize = 100_000;
/// Far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(60);

async fn produce(mut sink: Driven<FrameSink<ObjectTarget>>, data: &[u8], requests: &Faults, calls: u64) {
    sink.write_all(&data[..13 * CHUNK]).await.unwrap();
    let end = Instant::now() + PATIENCE;
    poll_fn(|cx| {
        if requests.calls() >= calls {
            return Poll::Ready(());
        }
        assert!(Instant::now() < end, "{} requests of {calls} have been made", requests.calls());
        thread::sleep(Duration::from_millis(1));
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    sink.write_all(&data[13 * CHUNK..]).await.unwrap();
    sink.close().await.unwrap();
}

#[test]
fn parts_leave_while_the_producer_waits() {
    let mut random = Random::new(7);
    let data: Vec<u8> = (0..20 * CHUNK + 7).map(|_| random.next_u64() as u8).collect();
    let params = EncodeParams { level: 0, filters: FilterSlots::NONE, ..EncodeParams::default() };
    // The first part stays until the end; behind it there are three whole ones, besides the request that begins.
    let calls = 1 + (13 * CHUNK / PART) as u64 - 1;
    for spawned in [false, true] {
        let requests = Faults::none();
        let store = FaultyStore::new(requests.clone());
        let target =
            ObjectTarget::with_multipart(Arc::clone(&store), "data.b2frame").part_size(PART).parts_in_flight(2);
        let options = WriteOptions::new(params.clone()).chunk_size(CHUNK).pool(&Pool::new(2));
        let (sink, driver) = options.sink(target).unwrap().into_driven();
        if spawned {
            let driving = thread::spawn(move || block_on(driver));
            block_on(produce(sink, &data, &requests, calls));
            driving.join().unwrap();
        } else {
            block_on(join(produce(sink, &data, &requests, calls), driver));
        }
        let object = store.object(&Path::from("data.b2frame")).unwrap();
        let found = block_on(async {
            let reader = FrameReader::open(object).await?;
            reader.bytes(0..reader.nbytes()).await
        });
        assert!(found.unwrap() == data);
        assert!(store.uploads().is_empty());
    }
}
