//! Frames that C-Blosc2 reads and no writer here would write: edits leave them as odd as they were, and whole.

use oxiblosc_core::Limits;
use oxiblosc_core::frame::{
    EditCommit, Fingerprint, FrameEditor, FrameError, FrameParams, FrameWriteError, INDEX_FILE, Metalayers, Trailer,
};

use super::editor::{CHUNK, Place, chunk_of, editor_of};
use super::support::{Directory, encode, open, open_counting, ramp, registry, write, write_sparse};

/// Offsets of fields in a header.
const HEADER_LEN: usize = 11;
const FRAME_LEN: usize = 16;
const NBYTES: usize = 30;

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

fn header_len(file: &[u8]) -> usize {
    u32::from_be_bytes(file[HEADER_LEN..HEADER_LEN + 4].try_into().unwrap()) as usize
}

/// The frame with `padding` bytes between its header and what follows.
fn padded(file: &[u8], padding: usize) -> Vec<u8> {
    let at = header_len(file);
    let mut out = [&file[..at], &vec![0xAB; padding], &file[at..]].concat();
    put(&mut out, HEADER_LEN, &((at + padding) as u32).to_be_bytes());
    let frame_len = u64::from_be_bytes(file[FRAME_LEN..FRAME_LEN + 8].try_into().unwrap());
    put(&mut out, FRAME_LEN, &(frame_len + padding as u64).to_be_bytes());
    out
}

/// A frame of three chunks, the last one short, or of none; with two metalayers.
fn plain(chunks: usize) -> (FrameParams, Vec<u8>) {
    let mut params = FrameParams::new(encode(4), CHUNK);
    params.metalayers.insert("first", vec![1; 10]).unwrap();
    params.metalayers.insert("other", vec![2; 10]).unwrap();
    let data = ramp(if chunks == 0 { 0 } else { chunks * CHUNK - 8 });
    (params, data)
}

/// What a frame must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Contents {
    chunks: Vec<Vec<u8>>,
    first: u8,
    other: u8,
    vlmetalayers: Vec<(String, Vec<u8>)>,
}

impl Contents {
    fn of(place: &Place) -> Self {
        let frame = place.open();
        let only = |name| {
            let content = frame.metalayers().get(name).unwrap();
            assert!(content.len() == 10 && content.iter().all(|&b| b == content[0]), "{name} is torn: {content:?}");
            content[0]
        };
        let mut decoder = oxiblosc_core::chunk::ChunkDecoder::new(registry());
        let names: Vec<String> = frame.trailer().vlmetalayers.names().map(|name| name.into_owned()).collect();
        let vlmetalayers = names.into_iter().map(|name| {
            let content = frame.vlmetalayer(&name, &mut decoder).unwrap().unwrap();
            (name, content)
        });
        Self {
            vlmetalayers: vlmetalayers.collect(),
            first: only("first"),
            other: only("other"),
            chunks: place.chunks(),
        }
    }
}

impl Contents {
    fn set_vlmetalayer(&mut self, name: &str, content: Vec<u8>) {
        match self.vlmetalayers.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = content,
            None => self.vlmetalayers.push((name.to_owned(), content)),
        }
    }
}

type Edit = fn(&mut FrameEditor, &mut Place, &mut Contents);

/// Every operation, and what it makes of the contents.
const EDITS: [(&str, Edit); 7] = [
    ("nothing", |_, _, _| ()),
    ("append", |editor, place, contents| {
        if contents.chunks.last().is_some_and(|last| last.len() < CHUNK) {
            editor.delete(contents.chunks.len() as u64 - 1).unwrap();
            contents.chunks.pop();
        }
        for len in [CHUNK, 12] {
            let data = ramp(len);
            let write = editor.append(&chunk_of(&data)).unwrap().unwrap();
            place.write(&write, &chunk_of(&data));
            contents.chunks.push(data);
        }
    }),
    ("update", |editor, place, contents| {
        if let Some(first) = contents.chunks.first_mut() {
            *first = first.iter().map(|b| b ^ 0x55).collect();
            let write = editor.update(0, &chunk_of(first)).unwrap().unwrap();
            place.write(&write, &chunk_of(first));
        }
    }),
    ("delete all", |editor, _, contents| {
        for _ in contents.chunks.drain(..) {
            editor.delete(0).unwrap();
        }
    }),
    ("vlmetalayer", |editor, _, contents| {
        editor.set_vlmetalayer("v", &[7; 33]).unwrap();
        contents.set_vlmetalayer("v", vec![7; 33]);
    }),
    ("metalayer", |editor, _, contents| {
        editor.set_metalayer("other", &[9; 10]).unwrap();
        contents.other = 9;
    }),
    ("long vlmetalayer", |editor, _, contents| {
        let content = super::support::noise(2000);
        editor.set_vlmetalayer("v", &content).unwrap();
        contents.set_vlmetalayer("v", content);
    }),
];

/// Makes every pair of edits, each with a commit of its own or both with one.
fn edit_in_all_ways(start: &Place, header_len: u64, told: &str) {
    let (padding, before) = ([0xAB; 3], Contents::of(start));
    let is_padded = start.open().header_bytes().ends_with(&padding);
    for (first, one) in EDITS {
        for (second, other) in EDITS {
            for together in [false, true] {
                let told = format!("{told}: {first}, {second}, together: {together}");
                let (mut place, mut contents) = (start.clone(), before.clone());
                let mut editor = editor_of(&place, CHUNK);
                let mut committed = before.chunks.clone();
                for (edit, commits) in [(one, !together), (other, true)] {
                    edit(&mut editor, &mut place, &mut contents);
                    if commits {
                        place.commit(editor.commit().unwrap_or_else(|e| panic!("{told}: {e}")), &committed);
                        committed.clone_from(&contents.chunks);
                        assert_eq!(Contents::of(&place), contents, "{told}");
                    }
                }
                let header = place.open().header_bytes().clone();
                assert_eq!(header.len() as u64, header_len, "{told}");
                // What is in no field is what it was.
                assert!(!is_padded || header.ends_with(&padding), "{told}");
            }
        }
    }
}

#[test]
fn padding_stays_in_the_headers_of_files() {
    for chunks in [0, 1, 3] {
        let (params, data) = plain(chunks);
        for padding in [0, 1, 10, 300, 400, 700] {
            let file = padded(&write(&params, data.chunks(CHUNK), &[("a", b"one")]).unwrap(), padding);
            let len = header_len(&file) as u64;
            edit_in_all_ways(&Place::File(file), len, &format!("{chunks} chunks, {padding} bytes"));
        }
    }
}

#[test]
fn padding_stays_in_the_headers_of_directories() {
    for chunks in [0, 1, 3] {
        let (params, data) = plain(chunks);
        for padding in [0, 1, 10, 40, 300] {
            let mut files: Directory = write_sparse(&params, data.chunks(CHUNK)).unwrap();
            let index = padded(&files[INDEX_FILE], padding);
            let len = header_len(&index) as u64;
            files.insert(INDEX_FILE.to_owned(), index);
            edit_in_all_ways(&Place::Directory(files), len, &format!("{chunks} chunks, {padding} bytes, sparse"));
        }
    }
}

#[test]
fn fields_that_are_not_known_here_stay() {
    let (params, data) = plain(3);
    let mut file = write(&params, data.chunks(CHUNK), &[]).unwrap();
    // The thread counts, a reserved bit of the flags, the reserved byte at the end of the fixed part.
    let odd = [(63, 7), (64, 9), (28, 0xF0), (86, 0x5A)];
    odd.iter().for_each(|&(at, byte)| file[at] |= byte);
    let before = file.clone();
    let mut place = Place::File(file);
    let mut editor = editor_of(&place, CHUNK);
    let old = place.chunks();
    editor.delete(2).unwrap();
    place.commit(editor.commit().unwrap(), &old);
    let header = place.open().header_bytes().clone();
    let changed: Vec<usize> = (0..header.len()).filter(|&i| header[i] != before[i]).collect();
    assert!(
        changed.iter().all(|&i| (FRAME_LEN..FRAME_LEN + 8).contains(&i) || (NBYTES..47).contains(&i)),
        "{changed:?}"
    );
}

/// Two names for one content: C-Blosc2 reads them both.
#[test]
fn a_shared_content_stays_shared_and_is_not_changed_for_one_name() {
    let (params, data) = plain(3);
    let mut file = write(&params, data.chunks(CHUNK), &[]).unwrap();
    let offset = |name: &[u8]| file.windows(name.len()).position(|w| w == name).unwrap() + name.len() + 1;
    let (first, other) = (offset(b"\xA5first"), offset(b"\xA5other"));
    let of_other: [u8; 4] = file[other..other + 4].try_into().unwrap();
    put(&mut file, first, &of_other);
    let mut place = Place::File(file);
    assert_eq!(place.open().metalayers().get("first").unwrap()[..], [2; 10]);
    for (name, edit) in EDITS.into_iter().filter(|(name, _)| *name != "metalayer") {
        let mut edited = place.clone();
        let mut contents = Contents::of(&edited);
        let before = contents.chunks.clone();
        let mut editor = editor_of(&edited, CHUNK);
        edit(&mut editor, &mut edited, &mut contents);
        edited.commit(editor.commit().unwrap(), &before);
        assert_eq!(Contents::of(&edited), contents, "{name}");
    }
    let mut editor = editor_of(&place, CHUNK);
    for name in ["first", "other"] {
        let error = editor.set_metalayer(name, &[9; 10]).unwrap_err();
        assert!(matches!(error, FrameWriteError::Metalayer { .. }), "{error}");
    }
    let before = Contents::of(&place);
    place.commit(editor.commit().unwrap(), &before.chunks);
    assert_eq!(Contents::of(&place), before);
}

/// The header says less than the chunks have: nothing may make it say that there are none.
#[test]
fn a_total_that_is_too_small_is_found_out() {
    let parts = [ramp(100), ramp(80), ramp(60)];
    for (total, first) in [(100_u64, "delete"), (99, "delete"), (1, "delete"), (1, "update")] {
        let Place::File(mut file) = Place::new(false, 0, &parts) else { unreachable!() };
        put(&mut file, NBYTES, &total.to_be_bytes());
        let frame = open(&file).unwrap();
        let mut editor = FrameEditor::new(&frame, registry()).unwrap();
        for i in 0..3 {
            let chunk = super::support::chunk_bytes(&file, &frame, i).unwrap();
            editor.set_chunk_header(i, &oxiblosc_core::chunk::ChunkHeader::parse(&chunk).unwrap()).unwrap();
        }
        let error = match first {
            "delete" => editor.delete(0).unwrap_err(),
            _ => editor.update(0, &chunk_of(&ramp(5))).unwrap_err(),
        };
        assert!(matches!(error, FrameWriteError::Total { chunk: 0, len: 100, .. }), "{error}");
        // Nothing has been changed.
        assert_eq!((editor.nchunks(), editor.nbytes()), (3, total));
    }
    // The only chunk of a frame is all that its total is about.
    let Place::File(mut file) = Place::new(false, 0, &parts[..1]) else { unreachable!() };
    put(&mut file, NBYTES, &5_u64.to_be_bytes());
    let before = file.clone();
    let mut editor = FrameEditor::new(&open(&file).unwrap(), registry()).unwrap();
    let chunk = super::support::chunk_bytes(&before, &open(&before).unwrap(), 0).unwrap();
    editor.set_chunk_header(0, &oxiblosc_core::chunk::ChunkHeader::parse(&chunk).unwrap()).unwrap();
    editor.delete(0).unwrap();
    assert_eq!(editor.nbytes(), 0);
    let _ = editor.commit().unwrap();
}

#[test]
fn no_commit_goes_beyond_the_limits_of_its_reader() {
    let (params, data) = plain(3);
    let file = write(&params, data.chunks(CHUNK), &[]).unwrap();
    let limits = {
        let mut limits = Limits::default();
        (limits.chunks, limits.trailer_bytes, limits.metalayer_bytes) = (3, 500, 600);
        limits
    };
    let (frame, _) = open_counting(&file, limits).unwrap();
    let mut editor = FrameEditor::new(&frame, registry()).unwrap();
    let error = editor.insert(0, &chunk_of(&ramp(CHUNK))).unwrap_err();
    assert!(matches!(error, FrameWriteError::Frame(FrameError::TooManyChunks { found: 4, limit: 3 })), "{error}");
    let error = editor.set_vlmetalayer("v", &[0; 601]).unwrap_err();
    assert!(matches!(error, FrameWriteError::Frame(FrameError::VlmetalayerLimit { found: 601, limit: 600, .. })));
    editor.set_vlmetalayer("v", &super::support::noise(600)).unwrap();
    let error = editor.commit().unwrap_err();
    assert!(matches!(error, FrameWriteError::Frame(FrameError::TrailerLen { max: 500, .. })), "{error}");
    // Without it, the commit is possible.
    editor.delete_vlmetalayer("v").unwrap();
    editor.delete(2).unwrap();
    let EditCommit::Patch { frame_len, .. } = editor.commit().unwrap() else { panic!("a short header") };
    assert!(frame_len > 0);
}

/// A change of the header that a disk does not make in one step is made by a copy.
#[test]
fn changes_across_sectors_replace_the_file() {
    for at in [300_usize, 370, 385, 395, 400, 410, 900, 905] {
        let mut params = FrameParams::new(encode(4), CHUNK);
        params.metalayers = Metalayers::new();
        params.metalayers.insert("long", vec![3; at]).unwrap();
        params.metalayers.insert("first", vec![1; 10]).unwrap();
        params.metalayers.insert("other", vec![2; 10]).unwrap();
        for len in [0, 3 * CHUNK - 8] {
            let data = ramp(len);
            let mut file = write(&params, data.chunks(CHUNK), &[("a", b"one")]).unwrap();
            Trailer::set_fingerprint(&mut file, Fingerprint { kind: 0, digest: [0; 16] });
            let header = header_len(&file) as u64;
            edit_in_all_ways(&Place::File(file), header, &format!("{at} bytes before, {len} bytes"));
        }
    }
}
