//! Checks that a commit either makes the frame what a model says or leaves it as it was.

use std::collections::BTreeMap;

use oxiblosc::blocking::{FrameEditor, FrameReader};
use oxiblosc::chunk::{ChunkHeader, SpecialValue};
use oxiblosc::edit::EditError;
use oxiblosc::frame::Sequential;

use crate::bound::Setup;
use crate::place::Place;
use crate::reading::{Content, is_lossy, open};
use crate::script::Script;

/// New data are no longer than this.
const MOST_DATA: usize = 64 << 10;
/// Metalayers that are longer are not compared.
const MOST_LAYER: usize = 1 << 20;
/// Changes made by one script.
const MOST_CHANGES: usize = 12;

/// What the frame should be.
struct Model {
    /// `None` for a chunk that does not decode, or that has not been decoded.
    chunks: Vec<Option<Vec<u8>>>,
    vlmetalayers: BTreeMap<String, Vec<u8>>,
    metalayers: BTreeMap<String, Vec<u8>>,
    /// Whether the header had the right total to begin with; an editor keeps the difference.
    exact: bool,
    /// Whether new data may differ when they are read: a filter or a codec is lossy.
    lossy: bool,
    /// Whether the frame is short enough to be compared as a whole.
    known: bool,
    /// Whether verification had found nothing wrong with it.
    good: bool,
}

impl Model {
    fn of<P: Place>(reader: &FrameReader<P>, content: Option<&Content>) -> Self {
        // Of a long layer nothing is learnt that a short one would not tell.
        let short = |name: &str| {
            let chunk = reader.frame().trailer().vlmetalayers.get(name);
            chunk.and_then(|chunk| ChunkHeader::parse(chunk).ok()).is_some_and(|header| header.nbytes <= MOST_LAYER)
        };
        let decoded = |name: String| Some((name.clone(), reader.vlmetalayer(&name).ok()??.to_vec()));
        let chunks = content.map(|content| content.chunks.iter().map(|c| c.as_ref().map(|c| c.to_vec())).collect());
        let mut metalayers = BTreeMap::new();
        for (name, layer) in reader.metalayers().iter().filter(|(name, _)| *name != Sequential::NAME) {
            // One whose name is not text cannot be requested.
            if name.contains(char::REPLACEMENT_CHARACTER) {
                continue;
            }
            metalayers.entry(name.into_owned()).or_insert_with(|| layer.to_vec());
        }
        Self {
            chunks: chunks.unwrap_or_default(),
            // The editor makes a new one.
            vlmetalayers: reader
                .vlmetalayer_names()
                .into_iter()
                .filter(|name| !name.starts_with("oxiblosc") && !name.contains(char::REPLACEMENT_CHARACTER))
                .filter(|name| short(name))
                .filter_map(decoded)
                .collect(),
            metalayers,
            exact: content.is_some_and(|content| content.whole.is_some()),
            lossy: is_lossy(reader.header()),
            good: content.is_some() && reader.verify().is_ok_and(|report| report.is_good()),
            known: content.is_some(),
        }
    }

    fn nbytes(&self) -> Option<u64> {
        self.chunks.iter().map(|chunk| chunk.as_ref().map(|chunk| chunk.len() as u64)).sum()
    }
}

/// Changes a copy of the frame in `place` as `script` says, and commits.
///
/// # Panics
/// When what was committed does not open or differs from the model, or when a refused commit has changed the frame.
pub fn check<P: Place>(place: &P, script: &mut Script<'_>, setup: &Setup) {
    let Some(reader) = open(place, setup.read()) else {
        assert!(P::edit(&place.copy(), setup.edit()).is_err(), "a frame that does not open can be edited");
        return;
    };
    let content = Content::of(&reader, setup);
    let mut model = Model::of(&reader, content.as_ref());
    let copy = place.copy();
    let Ok(mut editor) = P::edit(&copy, setup.edit().chunk_size(4096.max(reader.typesize()))) else { return };
    for _ in 0..MOST_CHANGES {
        if script.is_over() {
            break;
        }
        change(&mut editor, &mut model, script);
        if model.known {
            assert_eq!(editor.nchunks(), model.chunks.len() as u64, "chunks of the editor");
            if let (true, Some(nbytes)) = (model.exact, model.nbytes()) {
                assert_eq!(editor.nbytes(), nbytes, "bytes of the editor");
            }
        }
    }
    if let Err(e) = editor.commit() {
        assert!(!matches!(e, EditError::Store(_)), "memory does not fail: {e}");
        drop(editor);
        unchanged(&P::of(copy), &reader, content.as_ref(), setup, &e);
        return;
    }
    drop(editor);
    committed(&P::of(copy), &model, setup);
}

fn change(editor: &mut FrameEditor, model: &mut Model, script: &mut Script<'_>) {
    let (operation, chunks) = (script.byte() % 14, editor.nchunks());
    match operation {
        0 => {
            let data = data(editor, script);
            let result = editor.append(&data);
            append(editor, model, &data, result.is_ok());
        }
        1 => {
            let data = data(editor, script);
            let result = editor.append_chunk(&data);
            insert(editor, model, chunks, data, result.is_ok());
        }
        2 => {
            let (at, data) = (script.below(chunks + 1), data(editor, script));
            let result = editor.insert(at, &data);
            insert(editor, model, at, data, result.is_ok());
        }
        3 => {
            let (at, zeros) = (script.below(chunks + 1), data(editor, script).len());
            let result = editor.insert_special(at, SpecialValue::Zero, zeros);
            insert(editor, model, at, vec![0; zeros], result.is_ok());
        }
        4 => {
            let (at, data) = (script.below(chunks), data(editor, script));
            if editor.update(at, &data).is_ok() {
                replace(editor, model, at, data);
            }
        }
        5 => {
            let (at, value) = (script.below(chunks), special(script));
            let len = model.chunks.get(at as usize).and_then(|chunk| chunk.as_ref()).map(Vec::len);
            if editor.update_special(at, value).is_ok() && model.known {
                let found = editor.chunk(at).ok();
                if let (Some(len), Some(found)) = (len, &found) {
                    assert_eq!(found.len(), len, "chunk {at} of one value");
                    let zero = matches!(value, SpecialValue::Zero);
                    assert!(!zero || found.iter().all(|&byte| byte == 0), "chunk {at} of zeros");
                }
                model.chunks[at as usize] = found;
            }
        }
        6 => {
            let at = script.below(chunks);
            if editor.delete(at).is_ok() && model.known {
                model.chunks.remove(at as usize);
            }
        }
        7 => reorder(editor, model, script.byte()),
        8 => {
            let _ = editor.make_variable();
        }
        9 | 10 => {
            let (name, len) = (format!("layer {}", script.byte() % 3), usize::from(script.byte()) * 5);
            let content = pattern(len, script.byte());
            if editor.set_vlmetalayer(&name, &content).is_ok() {
                model.vlmetalayers.insert(name, content);
            }
        }
        11 => {
            let at = script.below(model.metalayers.len() as u64) as usize;
            let Some((name, old)) = model.metalayers.iter().nth(at).map(|(name, old)| (name.clone(), old)) else {
                return;
            };
            // The shape of an array is for an array's own editor.
            if name != "b2nd" && name != "caterva" && !name.starts_with("oxiblosc") {
                let content = pattern(old.len(), script.byte());
                if editor.set_metalayer(&name, &content).is_ok() {
                    model.metalayers.insert(name, content);
                }
            }
        }
        12 => {
            let at = script.below(model.vlmetalayers.len() as u64) as usize;
            let Some(name) = model.vlmetalayers.keys().nth(at).cloned() else { return };
            if editor.delete_vlmetalayer(&name).is_ok() {
                model.vlmetalayers.remove(&name);
            }
        }
        _ => {
            for at in (0..chunks.min(64)).rev() {
                if editor.delete(at).is_ok() && model.known {
                    model.chunks.remove(at as usize);
                }
            }
        }
    }
}

/// Data of a length at which something may go wrong.
fn data(editor: &FrameEditor, script: &mut Script<'_>) -> Vec<u8> {
    let (typesize, chunk) = (editor.typesize(), editor.chunk_size().unwrap_or(1000));
    let choice = script.byte();
    let len = match choice % 8 {
        0 => 0,
        1 => typesize,
        2 => chunk - chunk.min(1),
        3 | 4 => chunk,
        5 => chunk + 1,
        6 => 2 * chunk + typesize,
        _ => usize::from(choice),
    };
    pattern(len.min(MOST_DATA), choice)
}

fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| (i / 3) as u8 ^ seed).collect()
}

fn special(script: &mut Script<'_>) -> SpecialValue<'static> {
    match script.byte() % 3 {
        0 => SpecialValue::Zero,
        1 => SpecialValue::Nan,
        _ => SpecialValue::Uninit,
    }
}

/// A chunk as it was given, or as it is now where filters and codecs may lose something.
fn kept(editor: &mut FrameEditor, model: &Model, at: u64, data: Vec<u8>) -> Option<Vec<u8>> {
    let found = editor.chunk(at);
    match found {
        Ok(found) if model.lossy => Some(found),
        Ok(found) => {
            assert!(
                found == data,
                "chunk {at} differs from the data that were written: {} bytes of {}",
                found.len(),
                data.len()
            );
            Some(found)
        }
        // A codec that needs the shape of an array, say.
        Err(_) if model.lossy => None,
        Err(e) => panic!("chunk {at} has just been written: {e}"),
    }
}

fn insert(editor: &mut FrameEditor, model: &mut Model, at: u64, data: Vec<u8>, done: bool) {
    if done && model.known {
        let kept = kept(editor, model, at, data);
        model.chunks.insert(at as usize, kept);
    }
}

fn replace(editor: &mut FrameEditor, model: &mut Model, at: u64, data: Vec<u8>) {
    if model.known {
        model.chunks[at as usize] = kept(editor, model, at, data);
    }
}

/// Checks that appending kept the old bytes and added the new ones, or some of them if it failed half-way.
fn append(editor: &mut FrameEditor, model: &mut Model, data: &[u8], done: bool) {
    if !model.known {
        return;
    }
    let last = model.chunks.len().saturating_sub(1);
    let before = model.chunks.split_off(last).pop().flatten();
    let tail: Vec<Option<Vec<u8>>> = (last as u64..editor.nchunks()).map(|i| editor.chunk(i).ok()).collect();
    let whole: Option<Vec<_>> = tail.iter().cloned().collect();
    if let (Some(whole), Some(before), false) = (whole, before.or((last == 0).then(Vec::new)), model.lossy) {
        let expected = [&before, data].concat();
        let found = whole.concat();
        let (len, given) = (found.len(), data.len());
        assert!(expected.starts_with(&found), "append changed the data: {} + {given} gives {len}", before.len());
        assert!(!done || found.len() == expected.len(), "append lost data: {} + {given} gives {len}", before.len());
    }
    model.chunks.extend(tail);
}

fn reorder(editor: &mut FrameEditor, model: &mut Model, by: u8) {
    let chunks = editor.nchunks();
    if chunks > 1 << 12 {
        return;
    }
    let order: Vec<u64> = (0..chunks).map(|i| (i + u64::from(by)) % chunks).collect();
    if editor.reorder(&order).is_ok() && model.known {
        let mut old = std::mem::take(&mut model.chunks);
        model.chunks = order.iter().map(|&from| old[from as usize].take()).collect();
    }
}

/// Checks that readers see the old frame after a commit was refused.
fn unchanged<P: Place>(
    place: &P,
    old: &FrameReader<P>,
    content: Option<&Content>,
    setup: &Setup,
    why: &dyn std::fmt::Display,
) {
    let Some(reader) = open(place, setup.read()) else {
        panic!("a commit was refused ({why}), but the frame no longer opens")
    };
    assert!(reader.frame() == old.frame(), "a commit was refused ({why}), but the frame has changed");
    let now = Content::of(&reader, setup);
    let same = now.as_ref().map(|now| &now.chunks) == content.map(|content| &content.chunks);
    assert!(same, "a commit was refused ({why}), but the chunks have changed");
}

/// Checks a frame after a commit.
fn committed<P: Place>(place: &P, model: &Model, setup: &Setup) {
    let reader = match FrameReader::with_options(place.clone(), setup.read()) {
        Ok(reader) => reader,
        Err(e) => panic!("a committed frame does not open: {e}"),
    };
    for (name, content) in &model.metalayers {
        assert!(reader.metalayer(name).is_some_and(|found| found == content), "metalayer {name:?} differs");
    }
    for (name, content) in &model.vlmetalayers {
        let found = reader.vlmetalayer(name);
        let same = found.as_ref().is_ok_and(|found| found.as_ref().is_some_and(|found| found == content));
        assert!(same, "variable-length metalayer {name:?} differs");
    }
    if !model.known {
        return;
    }
    assert_eq!(reader.nchunks(), model.chunks.len() as u64, "chunks of a committed frame");
    if let (true, Some(nbytes)) = (model.exact, model.nbytes()) {
        assert_eq!(reader.nbytes(), nbytes, "bytes of a committed frame");
    }
    for (i, chunk) in (0..).zip(&model.chunks) {
        if let Some(expected) = chunk {
            match reader.chunk(i) {
                Ok(found) => assert!(found == expected[..], "chunk {i} of a committed frame differs"),
                Err(e) => panic!("chunk {i} of a committed frame does not decode: {e}"),
            }
        }
    }
    if model.good {
        match reader.verify() {
            Ok(report) => assert!(report.is_good(), "the frame was good before the commit: {report}"),
            Err(e) => panic!("a committed frame cannot be verified: {e}"),
        }
    }
    if model.exact && model.chunks.iter().all(Option::is_some) {
        match reader.bytes(0..reader.nbytes()) {
            Ok(found) => {
                let expected: Vec<u8> = model.chunks.iter().flatten().flatten().copied().collect();
                assert!(found == expected[..], "the bytes of a committed frame differ");
            }
            Err(e) => panic!("the chunks of a committed frame decode, but its bytes do not: {e}"),
        }
    }
}
