//! A span for each chunk, request and commit.
#![cfg(feature = "tracing")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use oxiblosc_plugins as _;
use oxiblosc_streaming::{Pool, ReadOptions, WriteOptions, block_on, blocking};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A span: its name and fields.
type Opened = (&'static str, BTreeMap<&'static str, String>);

/// Keeps the name and the fields of every span, and counts those that have been closed.
#[derive(Default, Clone)]
struct Spans {
    opened: Arc<Mutex<Vec<Opened>>>,
    entered: Arc<AtomicU64>,
    closed: Arc<AtomicU64>,
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "oxiblosc"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = BTreeMap::new();
        span.record(&mut Fields(&mut fields));
        let mut opened = self.opened.lock().expect("no panic");
        opened.push((span.metadata().name(), fields));
        Id::from_u64(opened.len() as u64)
    }

    fn enter(&self, _: &Id) {
        self.entered.fetch_add(1, Ordering::SeqCst);
    }

    fn try_close(&self, _: Id) -> bool {
        self.closed.fetch_add(1, Ordering::SeqCst);
        true
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn exit(&self, _: &Id) {}
}

impl Spans {
    /// The values of a field of the spans of a name, in the order in which they were opened.
    fn field(&self, name: &str, field: &str) -> Vec<String> {
        let opened = self.opened.lock().expect("no panic");
        let of_name = opened.iter().filter(|(found, _)| *found == name);
        of_name.map(|(_, fields)| fields.get(field).cloned().unwrap_or_default()).collect()
    }
}

/// Held by each test: a place in the code that runs without a subscriber at the moment another thread sets one may be
/// taken for one that nobody listens to.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn chunks_and_commits() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let spans = Spans::default();
    tracing::subscriber::with_default(spans.clone(), || {
        let pool = Pool::new(2);
        let options = WriteOptions::default().chunk_size(100_000).pool(&pool);
        let mut writer = blocking::FrameWriter::in_memory(options).expect("a writer");
        writer.write_all(&vec![7; 450_001]).expect("bytes");
        writer.finish().expect("a frame");
        let frame = writer.into_bytes();
        assert_eq!(spans.field("encode_chunk", "chunk"), ["0", "1", "2", "3", "4"]);
        assert_eq!(spans.field("commit", "chunks"), ["5"]);

        let options = ReadOptions::new().pool(&pool);
        let reader = blocking::FrameReader::with_options(frame.clone(), options).expect("a frame");
        assert_eq!(reader.chunks().map(|chunk| chunk.expect("a chunk").len()).sum::<usize>(), 450_001);
        assert_eq!(spans.field("decode_chunk", "chunk").len(), 5);
        assert!(reader.verify().expect("a report").is_good());

        let mut editor = blocking::FrameEditor::from_bytes(frame).expect("an editor");
        editor.append(&[8; 100_000]).expect("bytes");
        editor.commit().expect("a commit");
        assert_eq!(spans.field("commit", "chunks"), ["5", "6"]);
    });
    assert!(spans.entered.load(Ordering::SeqCst) >= 12);
    let opened = spans.opened.lock().expect("no panic").len() as u64;
    assert!(spans.closed.load(Ordering::SeqCst) >= opened, "every span has ended");
}

#[cfg(feature = "object_store")]
#[test]
fn requests() {
    use object_store::memory::InMemory;
    use object_store::{ObjectStoreExt, PutPayload};
    use oxiblosc_streaming::source::ObjectSource;

    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut writer = blocking::FrameWriter::in_memory(WriteOptions::default().chunk_size(100_000)).expect("a writer");
    let noise: Vec<u8> = (0..450_001u32).map(|i| (i.wrapping_mul(i) >> 11) as u8).collect();
    writer.write_all(&noise).expect("bytes");
    writer.finish().expect("a frame");
    let store = Arc::new(InMemory::new());
    let spans = Spans::default();
    tracing::subscriber::with_default(spans.clone(), || {
        block_on(async {
            store.put(&"a".into(), PutPayload::from(writer.into_bytes())).await.expect("an object");
            let reader = ReadOptions::new().open(ObjectSource::new(store, "a".into())).await.expect("a frame");
            let before = spans.field("request", "bytes").len();
            assert!(reader.bytes(250_000..250_003).await.expect("bytes") == noise[250_000..250_003]);
            let after = spans.field("request", "bytes");
            assert!(
                after.len() > before && after.iter().all(|bytes| bytes.parse::<u64>().is_ok_and(|bytes| bytes > 0))
            );
        });
    });
}
