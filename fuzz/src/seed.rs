//! The first inputs: the vectors and the findings of the repository, and frames that this library writes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use oxiblosc::chunk::ChunkHeader;
use oxiblosc::frame::MAGIC;

use crate::place::bundle;
use crate::script::{SCRIPTS, Script};
use crate::target::{Seeds, Target};
use crate::{codec, own};

/// Longer files slow fuzzing down more than they help.
const MOST: usize = 64 << 10;
/// So do chunks that are longer than this once they are decoded.
const MOST_DECODED: usize = 256 << 10;

/// Files and directories with data, of all folders.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/data")
}

/// Every file of these folders that is not too long, with its name. The files of a sparse frame are one.
fn inputs() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    collect(&data().join("vectors"), &mut found);
    collect(&data().join("findings"), &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() && path.join("chunks.b2frame").exists() {
            let files = fs::read_dir(&path).into_iter().flatten().flatten();
            let files = files.filter_map(|file| {
                Some((file.file_name().to_string_lossy().into_owned(), fs::read(file.path()).ok()?))
            });
            let mut files: Vec<_> = files.collect();
            files.sort();
            found.push((name, bundle(files)));
        } else if path.is_dir() {
            collect(&path, found);
        } else if !name.ends_with(".md") && !name.ends_with(".json") && !name.ends_with(".txt") {
            found.extend(fs::read(&path).ok().map(|content| (name, content)));
        }
    }
    found.retain(|(_, content)| content.len() <= MOST);
}

fn is_frame(bytes: &[u8]) -> bool {
    bytes.get(2..10) == Some(&MAGIC[..])
}

fn is_directory(bytes: &[u8]) -> bool {
    crate::place::files(bytes).iter().any(|(name, _)| name == "chunks.b2frame")
}

/// The contiguous frames among the vectors alone.
#[cfg(test)]
pub(crate) fn vectors() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    collect(&data().join("vectors"), &mut found);
    found.retain(|(_, bytes)| is_frame(bytes));
    found
}

/// The contiguous frames among the inputs, and those of this library.
fn contiguous() -> Vec<(String, Vec<u8>)> {
    inputs().into_iter().filter(|(_, bytes)| is_frame(bytes)).chain(own::contiguous()).collect()
}

fn chunks() -> Vec<(String, Vec<u8>)> {
    let short = |bytes: &[u8]| ChunkHeader::parse(bytes).is_ok_and(|header| header.nbytes <= MOST_DECODED);
    inputs().into_iter().filter(|(_, bytes)| !is_frame(bytes) && !is_directory(bytes) && short(bytes)).collect()
}

fn directories() -> Vec<(String, Vec<u8>)> {
    inputs().into_iter().filter(|(_, bytes)| is_directory(bytes)).chain(own::sparse()).collect()
}

/// The seeds of a target.
pub fn of(target: &Target) -> Vec<(String, Vec<u8>)> {
    let scripted = |list: Vec<(String, Vec<u8>)>| {
        let scripts = SCRIPTS.iter().cycle();
        list.into_iter().zip(scripts).map(|((name, body), script)| (name, Script::join(&body, script))).collect()
    };
    match target.seeds {
        Seeds::Chunks => chunks(),
        Seeds::Frames => contiguous(),
        Seeds::Early => contiguous().into_iter().filter(|(_, bytes)| bytes[0] != 0x9E).collect(),
        Seeds::Open => {
            own::open_ended().into_iter().chain(contiguous().into_iter().map(|(n, frame)| (n, opened(frame)))).collect()
        }
        Seeds::Arrays => contiguous().into_iter().filter(|(_, frame)| has_array(frame)).collect(),
        Seeds::ScriptedArrays => scripted(contiguous().into_iter().filter(|(_, frame)| has_array(frame)).collect()),
        Seeds::ScriptedFrames => scripted(contiguous()),
        Seeds::Directories => directories(),
        Seeds::ScriptedDirectories => scripted(directories()),
        Seeds::Streams(id) => streams(id.0),
    }
}

fn has_array(frame: &[u8]) -> bool {
    let head = &frame[..frame.len().min(400)];
    [&b"\xa4b2nd"[..], b"\xa7caterva"].iter().any(|name| head.windows(name.len()).any(|window| window == *name))
}

/// The frame without totals: as its header is before its writer closes it.
fn opened(mut frame: Vec<u8>) -> Vec<u8> {
    if frame.len() > 47 {
        frame[16..24].fill(0);
        frame[30..38].fill(0);
        frame[39..47].fill(0);
    }
    frame
}

/// Streams of a codec out of the vectors, and two that no vector has: of a codec of arrays there are only frames.
fn streams(id: u8) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> =
        chunks().into_iter().filter_map(|(name, chunk)| Some((name, stream(&chunk, id)?))).collect();
    let hello = b"\x05\x10hello";
    found.push(("hello".to_owned(), [&[5, 0, 0, 1, 0, 0], &hello[..]].concat()));
    let ramp: Vec<u8> = (0..64u16).flat_map(|i| f32::from(i).to_le_bytes()).collect();
    found.push(("ramp".to_owned(), [&[0, 1, 0, 4, 4, 0], &ramp[..]].concat()));
    found
}

/// The first stream of a chunk that this codec made, with what the codec is told before it.
fn stream(chunk: &[u8], id: u8) -> Option<Vec<u8>> {
    let header = ChunkHeader::parse(chunk).ok()?;
    let found = header.codec().ok()?.0;
    if (found != id && !(found == 1 && id == 2)) || header.is_stored() || header.special().is_some() {
        return None;
    }
    let word = |at: usize| Some(u32::from_le_bytes(*chunk.get(at..)?.first_chunk()?) as usize);
    let start = word(header.header_len())?;
    let block = header.nbytes.min(header.blocksize);
    let len = if header.is_split() { block / usize::from(header.typesize) } else { block };
    let payload = chunk.get(start + 4..start + 4 + word(start)?)?;
    let mut out = vec![0; codec::PREFIX];
    out[..3].copy_from_slice(&(len as u32).to_le_bytes()[..3]);
    out[3] = header.typesize;
    out[4] = header.codec_meta;
    out.extend_from_slice(payload);
    Some(out)
}

/// Writes the seeds of a target to `folder`. Returns the number of files.
///
/// # Errors
/// When they cannot be written.
pub fn write(target: &Target, folder: &Path) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let seeds = of(target);
    for (i, (name, content)) in seeds.iter().enumerate() {
        fs::write(folder.join(format!("{i:03}-{name}")), content)?;
    }
    Ok(seeds.len())
}

/// The environment variable that names a folder, which a program for libFuzzer fills with the seeds of its target
/// before it begins.
pub const FOLDER: &str = "OXIBLOSC_FUZZ_SEED";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_something_to_begin_with() {
        for target in Target::ALL {
            assert!(!of(target).is_empty(), "{}", target.name);
        }
    }
}
