//! The codec of variable-length metalayers.

use std::sync::{Arc, LazyLock, Mutex};

use bytes::Bytes;
use futures::SinkExt;
use oxiblosc_core::chunk::ChunkHeader;
use oxiblosc_core::frame::Frame;
use oxiblosc_core::{Chain, CodecId};
use oxiblosc_streaming::edit::EditOptions;
use oxiblosc_streaming::sparse::{MemoryDirectory, MissingChunks, SharedWriter};
use oxiblosc_streaming::target::PlaceTarget;
use oxiblosc_streaming::{ErrorKind, ReadOptions, WriteOptions, block_on};

use crate::{RUNS, frame, options, registry};

/// Something to compress. (One repeated byte is stored as such, without a codec.)
static CONTENT: LazyLock<Vec<u8>> = LazyLock::new(|| crate::content(3));

/// The codec of a metalayer.
fn codec(frame: &Frame, name: &str) -> CodecId {
    ChunkHeader::parse(frame.trailer().vlmetalayers.get(name).unwrap()).unwrap().codec().unwrap()
}

#[test]
fn a_sink_and_an_editor_use_the_one_that_is_asked_for() {
    let all = registry();
    for (asked, first) in [(None, CodecId::ZSTD), (Some(RUNS), RUNS), (Some(CodecId::LZ4), CodecId::LZ4)] {
        let mut write = options(&all).vlmetalayer("first", CONTENT.clone());
        let mut edit = EditOptions::new().registry(&all);
        if let Some(codec) = asked {
            write = write.vlmetalayer_codec(codec);
            edit = edit.vlmetalayer_codec(codec);
        }
        let bytes = frame(2, write);
        block_on(async {
            let open = async |bytes: Bytes| ReadOptions::new().registry(&all).open(bytes).await.unwrap();
            let reader = open(bytes.clone().into()).await;
            assert_eq!(codec(reader.frame(), "first"), first);
            assert_eq!(reader.vlmetalayer("first").await.unwrap().unwrap(), *CONTENT);
            let mut editor = edit.edit(Arc::new(Mutex::new(bytes))).await.unwrap();
            editor.set_vlmetalayer("second", &CONTENT).await.unwrap();
            editor.commit().await.unwrap();
            let reader = open(editor.frame_bytes().await.unwrap()).await;
            assert_eq!((codec(reader.frame(), "first"), codec(reader.frame(), "second")), (first, first));
            assert_eq!(reader.vlmetalayer("second").await.unwrap().unwrap(), *CONTENT);
        });
    }
}

#[test]
fn one_that_is_missing_is_an_error() {
    let options = WriteOptions::default().vlmetalayer_codec(RUNS);
    let error = options.clone().vlmetalayer("notes", &b"\x01"[..]).in_memory().unwrap_err();
    assert!(Chain(&error).to_string().contains("codec 221"), "{}", Chain(&error));
    let mut sink = options.in_memory().unwrap();
    assert!(sink.set_vlmetalayer("notes", b"\x01").is_err());
    block_on(sink.close()).unwrap();
    let edit = EditOptions::new().vlmetalayer_codec(RUNS);
    let error = block_on(async {
        let mut editor = edit.edit(sink.into_target().into_bytes()).await.unwrap();
        editor.set_vlmetalayer("notes", b"\x01").await.unwrap_err()
    });
    assert!(Chain(&error).to_string().contains("\"notes\""), "{}", Chain(&error));
    assert_ne!(error.kind(), ErrorKind::Damaged);
}

#[test]
fn writers_of_one_frame_agree_on_it() {
    let all = registry();
    block_on(async {
        let place = MemoryDirectory::new();
        let write = || options(&all).vlmetalayer("notes", CONTENT.clone());
        let mine = SharedWriter::create(place.clone(), 1000, write().vlmetalayer_codec(RUNS)).await.unwrap();
        let other = SharedWriter::create(place.clone(), 1000, write()).await.err().unwrap();
        assert!(other.to_string().contains("its codec of variable-length metalayers"), "{other}");
        // It is the plan that says, not who commits.
        let joined = SharedWriter::open_on(place.clone(), &Default::default(), &all).await.unwrap();
        mine.write(0, crate::content(1).into()).await.unwrap();
        joined.commit(MissingChunks::Fail).await.unwrap();
        let reader = ReadOptions::new().registry(&all).open(place.snapshot()).await.unwrap();
        assert_eq!(codec(reader.frame(), "notes"), RUNS);
    });
}

/// Editors that do not have the codec must still notice commits of one that has.
#[test]
fn the_names_of_commits_keep_the_default() {
    let all = registry();
    block_on(async {
        let place = MemoryDirectory::new();
        let mut sink = options(&all).sink(PlaceTarget::new(place.clone())).unwrap();
        sink.feed(crate::content(1).into()).await.unwrap();
        sink.close().await.unwrap();
        let edit = EditOptions::new().registry(&all).vlmetalayer_codec(RUNS);
        let mut editor = edit.edit_sparse(place.clone()).await.unwrap();
        editor.set_vlmetalayer("notes", &CONTENT).await.unwrap();
        editor.commit().await.unwrap();
        let reader = ReadOptions::new().registry(&all).open(place.snapshot()).await.unwrap();
        for name in reader.vlmetalayer_names() {
            assert_eq!(codec(reader.frame(), &name) == RUNS, name == "notes", "{name}");
        }
        assert_eq!(reader.vlmetalayer_names().len(), 2);
    });
}
