//! Every target passes the public suite.

mod driven;
mod faulty;
mod store;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::io::{AsyncSeek, AsyncWrite, Cursor};
use object_store::ObjectStore;
use object_store::limit::LimitStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use oxiblosc::object::{ObjectPrefix, ObjectTarget};
use oxiblosc::source::{ChunkFiles, FileSource, RangeSource};
use oxiblosc::sparse::Directory;
use oxiblosc::target::{
    FileTarget, MemoryTarget, OpenTarget, Part, PlaceTarget, SeekTarget, SparseTarget, SpoolTarget, Target,
};
use oxiblosc::{IoMode, recover};
use oxiblosc_conformance::target::{Faults, Faulty, TargetCheck, TargetKind, TestPlace};
use store::FaultyStore;
use tempfile::TempDir;

/// A kind of target made by a closure.
struct Kind<F> {
    create: F,
    holds: Option<usize>,
    largest: usize,
}

impl<T: Target, F: Fn(Faults) -> (T, Box<dyn TestPlace>)> TargetKind for Kind<F> {
    type Target = T;

    fn create(&self, faults: Faults) -> (T, Box<dyn TestPlace>) {
        (self.create)(faults)
    }

    fn holds(&self) -> Option<usize> {
        self.holds
    }

    fn largest(&self) -> usize {
        self.largest
    }
}

fn check<T: Target>(name: &str, holds: Option<usize>, create: impl Fn(Faults) -> (T, Box<dyn TestPlace>)) {
    check_up_to(64 << 20, name, holds, create);
}

fn check_up_to<T: Target>(
    largest: usize,
    name: &str,
    holds: Option<usize>,
    create: impl Fn(Faults) -> (T, Box<dyn TestPlace>),
) {
    let report = TargetCheck::new(name, Kind { create, holds, largest }).run();
    println!("{report}");
    report.assert_passed();
}

/// A file in memory that others can look at.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Cursor<Vec<u8>>>>);

impl Shared {
    fn bytes(&self) -> Bytes {
        self.0.lock().unwrap().get_ref().clone().into()
    }
}

impl AsyncWrite for Shared {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.lock().unwrap()).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock().unwrap()).poll_flush(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock().unwrap()).poll_close(cx)
    }
}

impl AsyncSeek for Shared {
    fn poll_seek(self: Pin<&mut Self>, cx: &mut Context<'_>, to: io::SeekFrom) -> Poll<io::Result<u64>> {
        Pin::new(&mut *self.0.lock().unwrap()).poll_seek(cx, to)
    }
}

/// A target in memory that others can look at, and that asks the faults.
struct Visible {
    target: Arc<Mutex<MemoryTarget>>,
    faults: Faults,
}

impl Target for Visible {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        ready!(self.faults.poll(cx))?;
        self.target.lock().unwrap().poll_append(cx, part, bytes)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.faults.poll(cx))?;
        self.target.lock().unwrap().poll_flush(cx)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        ready!(self.faults.poll(cx))?;
        self.target.lock().unwrap().poll_commit(cx, header)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.faults.poll(cx))?;
        self.target.lock().unwrap().poll_close(cx)
    }
}

#[test]
fn memory() {
    // What fails here are the calls of the target itself. Their number is known when it is always ready, and of one that
    // is not, nothing fails.
    for mode in [IoMode::Inline, IoMode::Offloaded] {
        check("memory", (mode == IoMode::Inline).then_some(0), |faults| {
            let faults = if mode == IoMode::Inline { faults } else { Faults::none() };
            let target = Arc::new(Mutex::new(MemoryTarget::new().io_mode(mode)));
            let seen = Arc::clone(&target);
            let place = move || Some(Bytes::copy_from_slice(seen.lock().unwrap().as_bytes()));
            (Visible { target, faults }, Box::new(place))
        });
    }
}

#[test]
fn seekable() {
    for open_ended in [false, true] {
        check("seekable", Some(0), |faults| {
            let file = Shared::default();
            let seen = file.clone();
            let target = SeekTarget::new(Faulty::new(file, faults)).open_ended(open_ended);
            (target, Box::new(move || Some(seen.bytes())))
        });
    }
}

#[test]
fn spooled() {
    for (limit, mode) in [(usize::MAX, IoMode::Inline), (5000, IoMode::Offloaded), (0, IoMode::Inline)] {
        check("spooled", None, |faults| {
            let file = Shared::default();
            let seen = file.clone();
            let target = SpoolTarget::new(Faulty::new(file, faults)).memory_limit(limit).io_mode(mode);
            (target, Box::new(move || Some(seen.bytes())))
        });
    }
}

#[test]
fn open_ended() {
    check("open-ended", Some(0), |faults| {
        let file = Shared::default();
        let seen = file.clone();
        // Readers of whole frames see one when it is sealed, which only a complete frame is here.
        let place = move || {
            let mut bytes = seen.bytes().to_vec();
            let found = recover::seal(&mut bytes).ok()?.found;
            (found == recover::Found::Open).then(|| Bytes::from(bytes))
        };
        (OpenTarget::new(Faulty::new(file, faults)), Box::new(place))
    });
}

/// Something in a directory of its own.
struct InDirectory {
    directory: TempDir,
    name: &'static str,
}

impl InDirectory {
    fn new() -> (Self, PathBuf) {
        let this = Self { directory: TempDir::new().unwrap(), name: "data.b2frame" };
        let path = this.directory.path().join(this.name);
        (this, path)
    }
}

impl TestPlace for InDirectory {
    fn frame(&self) -> Option<Box<dyn RangeSource>> {
        let source = FileSource::open_inline(self.directory.path().join(self.name)).ok()?;
        Some(Box::new(source))
    }

    fn leftovers(&self) -> Vec<String> {
        let names = fs::read_dir(self.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name != self.name).map(|name| name.to_string_lossy().into_owned()).collect()
    }
}

#[test]
fn file() {
    for mode in [IoMode::Inline, IoMode::Offloaded] {
        check("file", None, |_| {
            let (place, path) = InDirectory::new();
            (FileTarget::create(path).unwrap().io_mode(mode), Box::new(place))
        });
        check("file in place", None, |_| {
            let (place, path) = InDirectory::new();
            (FileTarget::in_place(path).unwrap().io_mode(mode), Box::new(place))
        });
    }
}

#[test]
fn directory() {
    for mode in [IoMode::Inline, IoMode::Offloaded] {
        check("sparse", None, |_| {
            let (place, path) = InDirectory::new();
            (SparseTarget::create(path).unwrap().io_mode(mode), Box::new(place))
        });
        check("sparse in place", None, |_| {
            let (place, path) = InDirectory::new();
            (SparseTarget::in_place(path).unwrap().io_mode(mode), Box::new(place))
        });
        check("sparse at a place", None, |_| {
            let (place, path) = InDirectory::new();
            (PlaceTarget::new(Directory::new(path).unwrap().io_mode(mode)), Box::new(place))
        });
    }
}

/// One object.
struct Object(Arc<FaultyStore>);

impl TestPlace for Object {
    fn frame(&self) -> Option<Box<dyn RangeSource>> {
        Some(Box::new(self.0.object(&Path::from("data.b2frame"))?))
    }

    fn leftovers(&self) -> Vec<String> {
        self.0.uploads()
    }
}

#[test]
fn object() {
    // Parts below, at and above the size of a chunk, and frames of a single one.
    for part in [1000, 5000, 8 << 20] {
        let holds = 2 * part + 2 * part;
        // Tiny parts make thousands of requests for a megabyte.
        let largest = if part < 1 << 20 { 500_000 } else { 64 << 20 };
        check_up_to(largest, &format!("object in parts of {part}"), (part < 1 << 20).then_some(holds), |faults| {
            let store = FaultyStore::new(faults);
            let target =
                ObjectTarget::with_multipart(Arc::clone(&store), "data.b2frame").part_size(part).parts_in_flight(2);
            (target, Box::new(Object(store)))
        });
    }
}

/// Any store, which takes the parts of an upload in order.
#[test]
fn object_in_any_store() {
    // Frames that stay in memory and frames that do not, in small parts and in one.
    for (part, limit, mode) in [
        (1000, usize::MAX, IoMode::Inline),
        (5000, 3000, IoMode::Offloaded),
        (8 << 20, SpoolTarget::<()>::MEMORY_LIMIT, IoMode::Offloaded),
    ] {
        let largest = if part < 1 << 20 { 500_000 } else { 64 << 20 };
        let target = move |store: Arc<dyn ObjectStore>| {
            let target = ObjectTarget::new(store, "data.b2frame").part_size(part).parts_in_flight(2);
            target.memory_limit(limit).io_mode(mode)
        };
        check_up_to(largest, &format!("object in parts of {part}, in order"), None, |faults| {
            let store = FaultyStore::new(faults);
            (target(Arc::clone(&store) as _), Box::new(Object(store)))
        });
        check_up_to(largest, &format!("object in parts of {part}, in order, few at a time"), None, |faults| {
            let store = FaultyStore::new(faults);
            let limited = LimitStore::new(Arc::clone(&store) as Arc<dyn ObjectStore>, 1);
            (target(Arc::new(limited)), Box::new(Object(store)))
        });
        check_up_to(largest, &format!("object in parts of {part}, as a file"), None, |_| {
            let (place, path) = InDirectory::new();
            let store = LocalFileSystem::new_with_prefix(path.parent().unwrap()).unwrap();
            (target(Arc::new(store)), Box::new(place))
        });
    }
}

/// Objects under a prefix.
struct Objects(Arc<FaultyStore>);

const PREFIX: &str = "some/where.b2frame";

impl TestPlace for Objects {
    fn frame(&self) -> Option<Box<dyn RangeSource>> {
        let index = self.0.object(&Path::from(format!("{PREFIX}/chunks.b2frame")))?;
        Some(Box::new(SparseObjects { index, store: Arc::clone(&self.0) }))
    }

    fn leftovers(&self) -> Vec<String> {
        if self.frame().is_some() { Vec::new() } else { self.0.names() }
    }
}

struct SparseObjects {
    index: Bytes,
    store: Arc<FaultyStore>,
}

impl RangeSource for SparseObjects {
    fn size(&self) -> futures::future::BoxFuture<'_, io::Result<u64>> {
        RangeSource::size(&self.index)
    }

    fn read_ranges(&self, ranges: Vec<std::ops::Range<u64>>) -> futures::future::BoxFuture<'_, io::Result<Vec<Bytes>>> {
        self.index.read_ranges(ranges)
    }

    fn chunk_files(&self) -> Option<&dyn ChunkFiles> {
        Some(self)
    }
}

impl ChunkFiles for SparseObjects {
    fn read_files(
        &self,
        ranges: Vec<(u32, std::ops::Range<u64>)>,
    ) -> futures::future::BoxFuture<'_, Vec<io::Result<Bytes>>> {
        let read = |(id, range): (u32, std::ops::Range<u64>)| {
            let path = Path::from(format!("{PREFIX}/{id:08X}.chunk"));
            let bytes = self.store.object(&path).ok_or(io::ErrorKind::NotFound)?;
            let len = bytes.len() as u64;
            Ok(bytes.slice(range.start.min(len) as usize..range.end.min(len) as usize))
        };
        Box::pin(std::future::ready(ranges.into_iter().map(read).collect()))
    }
}

#[test]
fn objects() {
    check("objects under a prefix", Some(4 * 5000), |faults| {
        let store = FaultyStore::new(faults);
        let place = ObjectPrefix::new(Arc::clone(&store), PREFIX);
        (PlaceTarget::new(place).chunks_in_flight(3), Box::new(Objects(store)))
    });
}
