//! Edits are invisible until the commit, and complete after it.

use std::collections::BTreeMap;

use oxiblosc_core::Inline;
use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkHeader, SpecialKind};
use oxiblosc_core::frame::{
    ChunkAddress, ChunkEntry, ChunkWrite, EditCommit, Fingerprint, Frame, FrameEditor, FrameParams, FrameWriteError,
    FrameWriter, INDEX_FILE, Trailer, chunk_file_name,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::support::{
    chunk_bytes, decode, encode, open, open_sparse, ramp, registry, sparse_chunk, stored_for, write, write_sparse,
};

pub(crate) const CHUNK: usize = 400;

/// What holds a frame: a file, or a directory.
#[derive(Clone)]
pub(crate) enum Place {
    File(Vec<u8>),
    Directory(BTreeMap<String, Vec<u8>>),
}

impl Place {
    pub(crate) fn new(sparse: bool, chunk_size: usize, data: &[Vec<u8>]) -> Self {
        let params = FrameParams::new(encode(4), chunk_size);
        let parts = data.iter().map(|part| &part[..]);
        if sparse {
            Self::Directory(write_sparse(&params, parts).unwrap())
        } else {
            Self::File(write(&params, parts, &[]).unwrap())
        }
    }

    pub(crate) fn open(&self) -> Frame {
        match self {
            Self::File(file) => open(file).unwrap(),
            Self::Directory(files) => open_sparse(files).unwrap(),
        }
    }

    pub(crate) fn chunk(&self, frame: &Frame, i: u64) -> Vec<u8> {
        match self {
            Self::File(file) => chunk_bytes(file, frame, i).unwrap(),
            Self::Directory(files) => sparse_chunk(files, frame, i).unwrap(),
        }
    }

    pub(crate) fn chunks(&self) -> Vec<Vec<u8>> {
        let frame = self.open();
        let mut decoder = ChunkDecoder::new(registry());
        let chunks: Vec<Vec<u8>> = (0..frame.nchunks())
            .map(|i| decoder.decode(&self.chunk(&frame, i), &frame.chunk_context(i), &Inline).unwrap())
            .collect();
        assert_eq!(frame.nbytes(), chunks.iter().map(|c| c.len() as u64).sum::<u64>());
        chunks
    }

    pub(crate) fn write(&mut self, write: &ChunkWrite, chunk: &[u8]) {
        match (self, write.address) {
            (Self::File(file), ChunkAddress::Offset(offset)) => put(file, offset, write.bytes(chunk)),
            (Self::Directory(files), ChunkAddress::File(id)) => {
                files.insert(chunk_file_name(id), write.bytes(chunk).to_vec());
            }
            _ => panic!("a chunk for another kind of frame"),
        }
    }

    /// Carries a commit out up to just before the write that makes it valid, checks that the frame is still what it
    /// was, and goes on.
    pub(crate) fn commit(&mut self, commit: EditCommit, before: &[Vec<u8>]) {
        match (&mut *self, commit) {
            (Self::File(_), EditCommit::Patch { tail, patch, frame_len }) => {
                let Self::File(file) = self else { unreachable!() };
                if let Some((offset, bytes)) = &tail {
                    put(file, *offset, bytes);
                }
                assert_eq!(self.chunks(), before, "the old frame is intact before the patch");
                let Self::File(file) = self else { unreachable!() };
                if let Some((offset, bytes)) = &patch {
                    let last = offset + bytes.len() as u64 - 1;
                    assert_eq!(
                        offset / EditCommit::SECTOR,
                        last / EditCommit::SECTOR,
                        "the patch is torn when the power fails"
                    );
                    assert!(last < file.len() as u64, "the patch makes the file longer");
                    put(file, *offset, bytes);
                }
                assert!(file.len() as u64 >= frame_len);
                file.truncate(frame_len as usize);
            }
            (Self::File(file), EditCommit::Rewrite { head, tail_at, tail }) => {
                let kept = file.get(head.len()..tail_at as usize).unwrap_or_default();
                *file = [&head[..], kept, &tail].concat();
            }
            (Self::Directory(_), EditCommit::Replace { index, remove }) => {
                assert_eq!(self.chunks(), before, "the old frame is intact before the index is replaced");
                let Self::Directory(files) = self else { unreachable!() };
                files.insert(INDEX_FILE.to_owned(), index);
                for id in remove {
                    files.remove(&chunk_file_name(id)).expect("only files that exist are removed");
                }
            }
            _ => panic!("a commit for another kind of frame"),
        }
    }
}

fn put(file: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let offset = offset as usize;
    assert!(offset <= file.len(), "a gap would be left");
    file.resize(file.len().max(offset + bytes.len()), 0);
    file[offset..offset + bytes.len()].copy_from_slice(bytes);
}

pub(crate) fn chunk_of(data: &[u8]) -> Vec<u8> {
    ChunkEncoder::new(&encode(4), registry()).unwrap().encode(data, &ChunkContext::default(), &Inline).unwrap()
}

#[derive(Debug, Clone)]
enum Edit {
    Append(Vec<u8>),
    Insert(usize, Vec<u8>),
    Update(usize, Vec<u8>),
    Zeros(usize),
    Delete(usize),
    Rotate(usize),
    Commit,
    Reopen,
}

fn data() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => any::<u8>().prop_map(|b| ramp(CHUNK).iter().map(|x| x ^ b).collect()),
        1 => Just(vec![0; CHUNK]),
        1 => (1..CHUNK).prop_map(ramp),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        3 => data().prop_map(Edit::Append),
        2 => (any::<usize>(), data()).prop_map(|(i, d)| Edit::Insert(i, d)),
        2 => (any::<usize>(), data()).prop_map(|(i, d)| Edit::Update(i, d)),
        1 => any::<usize>().prop_map(Edit::Zeros),
        3 => any::<usize>().prop_map(Edit::Delete),
        1 => any::<usize>().prop_map(Edit::Rotate),
        3 => Just(Edit::Commit),
        1 => Just(Edit::Reopen),
    ]
}

fn run(sparse: bool, chunk_size: usize, start: Vec<Vec<u8>>, edits: Vec<Edit>) {
    let mut place = Place::new(sparse, chunk_size, &start);
    let mut committed = start.clone();
    let mut model = start;
    let mut editor = editor_of(&place, chunk_size);
    for edit in edits.into_iter().chain([Edit::Commit]) {
        let n = model.len();
        let fits = |at: usize, len: usize| chunk_size == 0 || len == CHUNK || at == n;
        let last_is_short = chunk_size != 0 && model.last().is_some_and(|c| c.len() < CHUNK);
        match edit {
            Edit::Append(data) => match editor.append(&chunk_of(&data)) {
                Ok(write) => {
                    assert!(!last_is_short);
                    write.iter().for_each(|write| place.write(write, &chunk_of(&data)));
                    model.push(data);
                }
                Err(FrameWriteError::ShortChunk { .. }) => assert!(last_is_short),
                Err(error) => panic!("{error}"),
            },
            Edit::Insert(i, data) => {
                let i = i % (n + 1);
                match editor.insert(i as u64, &chunk_of(&data)) {
                    Ok(write) => {
                        assert!(fits(i, data.len()));
                        write.iter().for_each(|write| place.write(write, &chunk_of(&data)));
                        model.insert(i, data);
                    }
                    Err(FrameWriteError::ShortChunk { .. }) => assert!(last_is_short && i == n),
                    Err(FrameWriteError::ChunkSize { .. }) => assert!(!fits(i, data.len())),
                    Err(error) => panic!("{error}"),
                }
            }
            Edit::Update(i, data) if n > 0 => {
                let i = i % n;
                match editor.update(i as u64, &chunk_of(&data)) {
                    Ok(write) => {
                        assert!(fits(i + 1, data.len()));
                        write.iter().for_each(|write| place.write(write, &chunk_of(&data)));
                        model[i] = data;
                    }
                    Err(FrameWriteError::ChunkSize { .. }) => assert!(!fits(i + 1, data.len())),
                    Err(error) => panic!("{error}"),
                }
            }
            Edit::Zeros(i) if n > 0 => {
                let i = i % n;
                let len = model[i].len();
                let write = editor.update_special(i as u64, SpecialKind::Zero, len).unwrap();
                write.iter().for_each(|write| place.write(write, &[]));
                model[i] = vec![0; len];
            }
            Edit::Delete(i) if n > 0 => {
                editor.delete((i % n) as u64).unwrap();
                model.remove(i % n);
            }
            Edit::Rotate(by) if n > 0 => {
                let whole = if last_is_short { n - 1 } else { n };
                let mut order: Vec<u64> = (0..n as u64).collect();
                order[..whole].rotate_left(by % whole.max(1));
                editor.reorder(&order).unwrap();
                model = order.iter().map(|&i| model[i as usize].clone()).collect();
            }
            Edit::Commit => {
                let commit = editor.commit().unwrap();
                place.commit(commit, &committed);
                committed = model.clone();
                assert_eq!(place.chunks(), committed);
            }
            Edit::Reopen => {
                // What was not committed is gone.
                model = committed.clone();
                editor = editor_of(&place, chunk_size);
            }
            Edit::Update(..) | Edit::Zeros(_) | Edit::Delete(_) | Edit::Rotate(_) => {}
        }
        assert_eq!(editor.nchunks(), model.len() as u64);
        assert_eq!(editor.nbytes(), model.iter().map(|c| c.len() as u64).sum::<u64>());
    }
    if let Place::Directory(files) = &place {
        let stored = (0..model.len() as u64).filter(|&i| matches!(place.open().entry(i), Ok(ChunkEntry::File { .. })));
        // Files written by a session that was given up are the only ones left over.
        assert!(files.len() > stored.count());
    }
}

pub(crate) fn editor_of(place: &Place, chunk_size: usize) -> FrameEditor {
    let frame = place.open();
    let mut editor = FrameEditor::new(&frame, registry()).unwrap();
    if frame.nchunks() == 0 && chunk_size > 0 {
        editor.set_chunk_size(chunk_size).unwrap();
    }
    for i in 0..frame.nchunks() {
        editor.set_chunk_header(i, &ChunkHeader::parse(&place.chunk(&frame, i)).unwrap()).unwrap();
    }
    editor
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(0x0B10_5C02), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_edits_keep_the_old_frame_until_they_are_committed(
        sparse in any::<bool>(),
        variable in any::<bool>(),
        whole in prop::collection::vec(any::<u8>().prop_map(|b| ramp(CHUNK).iter().map(|x| x ^ b).collect()), 0..6),
        short in prop::option::of((1..CHUNK).prop_map(ramp)),
        edits in prop::collection::vec(edit(), 1..24),
    ) {
        let mut start: Vec<Vec<u8>> = whole;
        start.extend(short);
        run(sparse, if variable { 0 } else { CHUNK }, start, edits);
    }
}

#[test]
fn the_patch_of_an_append_is_the_three_lengths() {
    let file = write(&FrameParams::new(encode(4), CHUNK), ramp(4 * CHUNK).chunks(CHUNK), &[]).unwrap();
    let mut editor = FrameEditor::new(&open(&file).unwrap(), registry()).unwrap();
    let write = editor.append(&chunk_of(&ramp(CHUNK))).unwrap().unwrap();
    assert_eq!(write.address, ChunkAddress::Offset(file.len() as u64));
    let EditCommit::Patch { tail: Some(_), patch: Some((offset, bytes)), .. } = editor.commit().unwrap() else {
        panic!("an append has a tail and a patch");
    };
    assert!(offset >= 16 && offset + bytes.len() as u64 <= 47, "{offset} {}", bytes.len());
    let nothing = EditCommit::Patch { tail: None, patch: None, frame_len: editor_len(&editor) };
    assert_eq!(editor.commit().unwrap(), nothing);
}

fn editor_len(editor: &FrameEditor) -> u64 {
    let EditCommit::Patch { frame_len, .. } = editor.clone().commit().unwrap() else { unreachable!() };
    frame_len
}

#[test]
fn metalayers_are_replaced_without_touching_the_index() {
    let mut params = FrameParams::new(encode(4), CHUNK);
    params.metalayers.insert("fixed", vec![1; 10]).unwrap();
    for len in [0, 3 * CHUNK] {
        let data = ramp(len);
        let mut file = write(&params, data.chunks(CHUNK), &[("a", b"one"), ("b", b"two")]).unwrap();
        Trailer::set_fingerprint(&mut file, Fingerprint { kind: 2, digest: [9; 16] });
        let frame = open(&file).unwrap();
        assert_eq!(frame.fingerprint().kind, 2);
        let mut editor = FrameEditor::new(&frame, registry()).unwrap();
        editor.delete_vlmetalayer("a").unwrap();
        editor.set_vlmetalayer("c", &ramp(10_000)).unwrap();
        editor.set_metalayer("fixed", &[2; 10]).unwrap();
        assert!(matches!(editor.set_metalayer("fixed", &[2; 11]), Err(FrameWriteError::Metalayer { .. })));
        assert!(matches!(editor.delete_vlmetalayer("a"), Err(FrameWriteError::Metalayer { .. })));
        let mut place = Place::File(file);
        let before = place.chunks();
        place.commit(editor.commit().unwrap(), &before);
        let frame = place.open();
        assert_eq!(place.chunks(), before);
        assert_eq!(frame.fingerprint(), Fingerprint::NONE);
        assert_eq!(frame.metalayers().get("fixed").unwrap()[..], [2; 10]);
        let mut decoder = ChunkDecoder::new(registry());
        assert!(frame.trailer().vlmetalayers.names().eq(["b", "c"]));
        assert_eq!(frame.vlmetalayer("c", &mut decoder).unwrap().unwrap(), ramp(10_000));
        assert_eq!(frame.vlmetalayer("b", &mut decoder).unwrap().unwrap(), b"two");
    }
}

#[test]
fn a_frame_made_variable_stores_its_special_chunks() {
    let zeros = vec![0; CHUNK];
    let data = [&zeros[..], &ramp(CHUNK), &zeros, &zeros[..40]].concat();
    let mut place = Place::File(write(&FrameParams::new(encode(4), CHUNK), data.chunks(CHUNK), &[]).unwrap());
    let before = place.chunks();
    let mut editor = FrameEditor::new(&place.open(), registry()).unwrap();
    assert!(matches!(editor.append(&chunk_of(&ramp(CHUNK))), Err(FrameWriteError::ShortChunk { .. })));
    let writes = editor.make_variable().unwrap();
    assert_eq!(writes.len(), 3);
    writes.iter().for_each(|write| place.write(write, &[]));
    let more = chunk_of(&ramp(2 * CHUNK));
    let write = editor.append(&more).unwrap().unwrap();
    place.write(&write, &more);
    place.commit(editor.commit().unwrap(), &before);
    let frame = place.open();
    assert_eq!((frame.chunk_size(), frame.header().version), (None, 3));
    assert_eq!(place.chunks().concat(), [&data[..], &ramp(2 * CHUNK)].concat());
}

#[test]
fn a_copy_has_no_holes() {
    let data = ramp(10 * CHUNK);
    let mut place =
        Place::File(write(&FrameParams::new(encode(4), CHUNK), data.chunks(CHUNK), &[("v", b"x")]).unwrap());
    let mut editor = FrameEditor::new(&place.open(), registry()).unwrap();
    for _ in 0..5 {
        editor.delete(2).unwrap();
    }
    editor.reorder(&[4, 3, 2, 1, 0]).unwrap();
    let before = place.chunks();
    place.commit(editor.commit().unwrap(), &before);
    let frame = place.open();
    assert!(!frame.is_in_order());

    let mut writer = FrameWriter::new(&FrameParams::from_frame(&frame), registry()).unwrap();
    let mut copy = writer.header();
    for i in 0..frame.nchunks() {
        let chunk = place.chunk(&frame, i);
        copy.extend(stored_for(&mut writer, &chunk).unwrap());
    }
    writer.copy_vlmetalayers(&frame).unwrap();
    copy.extend(writer.finish().unwrap());
    let header = writer.header();
    copy[..header.len()].copy_from_slice(&header);
    let compact = open(&copy).unwrap();
    assert!(compact.is_in_order() && compact.frame_len() < frame.frame_len());
    assert_eq!(decode(&copy, &compact).unwrap(), place.chunks().concat());
    assert_eq!(compact.trailer(), frame.trailer());
}

#[test]
fn chunks_of_unknown_length_must_be_learnt_first() {
    let parts = [ramp(100), ramp(50)];
    let place = Place::new(false, 0, &parts);
    let mut editor = FrameEditor::new(&place.open(), registry()).unwrap();
    assert!(matches!(editor.delete(0), Err(FrameWriteError::UnknownLen { chunk: 0 })));
    assert!(matches!(editor.update(1, &chunk_of(&parts[0])), Err(FrameWriteError::UnknownLen { chunk: 1 })));
    editor.append(&chunk_of(&parts[0])).unwrap();
    editor.delete(2).unwrap();
    assert!(matches!(editor.delete(7), Err(FrameWriteError::NoSuchChunk { chunk: 7, nchunks: 2 })));
    assert!(matches!(editor.reorder(&[0, 0]), Err(FrameWriteError::Order { .. })));
    assert!(matches!(editor.reorder(&[0, 2]), Err(FrameWriteError::Order { .. })));
    assert!(matches!(editor.reorder(&[0]), Err(FrameWriteError::Order { .. })));
}

#[test]
fn early_frames_are_not_edited() {
    let frame = open(&super::early::write_early(1000, 400, &[])).unwrap();
    assert!(matches!(FrameEditor::new(&frame, registry()), Err(FrameWriteError::Layout { .. })));
}
