//! What python-blosc2 makes of the frames.

use std::fs;
use std::path::PathBuf;

use oxiblosc_conformance::target::Faults;
use serde_json::json;
use tempfile::TempDir;

use crate::array::Shape;
use crate::case::{Case, Data, Encode, Extras, Mode, Size, Way};
use crate::place::Place;
use crate::run::{payload, write};
use crate::worker::Worker;

/// A frame of each way, with other data and extras for each.
#[test]
fn python_reads_a_sample() {
    let Some(mut python) = Worker::start() else { return };
    let directory = TempDir::new().expect("there is room for temporary files");
    let ways = Way::ALL.iter().filter(|way| !way.is_append());
    for (i, &way) in ways.enumerate() {
        let size = [Size::Mib20, Size::Several, Size::ChunkMore][i % 3];
        let mut case = Case::usual(way, Mode::Offloaded, size);
        case.data = Data::ALL[i % Data::ALL.len()];
        case.extras = Extras::ALL[i % Extras::ALL.len()];
        case.encode = Encode::ALL[i % Encode::ALL.len()];
        case.seed = i as u64;
        let payload = payload(&case);
        let (place, summary) = match write(&case, &payload, &Faults::none(), &mut 0) {
            Ok(Some(written)) => written,
            Ok(None) => unreachable!("nothing was made to fail"),
            Err(error) => panic!("{error}\n  OXIBLOSC_WAYS_CASE='{case}'"),
        };
        let path = file_of(&place, directory.path().join(format!("{i}.b2frame")));
        let bytes = payload.bytes(0..u64::MAX);
        if way.is_array() {
            let shape = Shape::of(&case);
            let args = json!({ "path": path, "shape": shape.lens(), "dtype": shape.dtype(), "selections": [] });
            let seen = python.call("nd.look", args, &[&bytes]);
            assert_eq!(seen.value["whole"], json!([shape.lens(), true, true, true]), "{case}");
        } else {
            let seen = python.call("frames.read_chunks", json!({ "path": path }), &[]);
            assert_eq!(seen.value["nbytes"], summary.nbytes, "{case}");
            assert_eq!(seen.value["nchunks"], summary.chunks, "{case}");
            assert!(seen.into_blob() == bytes, "{case}: python-blosc2 reads other bytes");
        }
    }
}

/// The frame as a file or directory that others can open.
fn file_of(place: &Place, path: PathBuf) -> PathBuf {
    let written = |result: std::io::Result<()>| result.expect("there is room for temporary files");
    let files = match place {
        Place::File { .. } | Place::OpenEnded { .. } => return place.path().expect("it is in a file"),
        Place::Memory(_) => unreachable!("the target is gone"),
        Place::Bytes(bytes) => {
            written(fs::write(&path, bytes));
            return path;
        }
        Place::Object(store) => {
            written(fs::write(&path, store.object(&"data.b2frame".into()).expect("the object is there")));
            return path;
        }
        Place::SparseMemory(place) => place.files(),
        Place::Prefix(store) => {
            let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
            let object = |path: &String| store.object(&path.as_str().into()).expect("a listed object is there");
            store.names().iter().map(|path| (name(path), object(path))).collect()
        }
    };
    written(fs::create_dir(&path));
    for (name, content) in files {
        written(fs::write(path.join(name), content));
    }
    path
}
