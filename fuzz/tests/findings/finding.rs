//! What is in `data/findings`.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use oxiblosc::Limits;
use oxiblosc::blocking::FrameReader;
use oxiblosc::chunk::ChunkHeader;
use oxiblosc::frame::{FrameHeader, MAGIC};
use oxiblosc::sparse::MemoryDirectory;
use oxiblosc_fuzz::{bundle, directory, files};

use crate::entry::Entry;

/// A file that showed a defect once.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    /// Its path in the folder.
    pub(crate) name: String,
    /// Its bytes; those of a directory as a bundle.
    pub(crate) bytes: Bytes,
}

/// What a finding is.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Contiguous(Bytes),
    Sparse(MemoryDirectory),
    Chunk(Bytes),
    Packed(Bytes),
}

impl Finding {
    /// All of them, in order of their names.
    pub(crate) fn all() -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/data/findings");
        let mut found = Vec::new();
        collect(&root, &root, &mut found);
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// Bytes that `entry` asks for by what it does, and that the default limits allow: the content of metalayers, twice as
    /// it is compared, and chunks as a whole.
    pub(crate) fn asked(&self, entry: &Entry) -> usize {
        let limits = Limits::default();
        // A stream gives chunks before it is known whether the frame is whole.
        let header = FrameHeader::parse_unfinished(&self.bytes).ok().filter(|_| entry.chunks);
        let chunk = header.and_then(|header| header.chunk_size.fixed()).unwrap_or(0).min(limits.chunk_bytes);
        let Ok(reader) = FrameReader::from_bytes(self.bytes.clone()) else { return chunk };
        let layers = reader.frame().trailer().vlmetalayers.iter();
        let layers = layers.filter_map(|(_, chunk)| Some(ChunkHeader::parse(chunk).ok()?.nbytes));
        2 * layers.filter(|&len| len <= limits.metalayer_bytes).max().unwrap_or(0) + chunk
    }

    pub(crate) fn kind(&self) -> Kind {
        let bytes = self.bytes.clone();
        if bytes.get(2..10) == Some(&MAGIC[..]) {
            Kind::Contiguous(bytes)
        } else if files(&bytes).iter().any(|(name, _)| name == "chunks.b2frame") {
            Kind::Sparse(directory(&bytes))
        } else if self.name.starts_with("transport/") {
            Kind::Packed(bytes)
        } else {
            Kind::Chunk(bytes)
        }
    }
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<Finding>) {
    for path in list(folder) {
        let name = path.strip_prefix(root).expect("it is below the root").to_string_lossy().replace('\\', "/");
        if path.join("chunks.b2frame").exists() {
            let files = list(&path).into_iter().map(|file| {
                let name = file.file_name().expect("a file of a directory").to_string_lossy().into_owned();
                (name, read(&file))
            });
            found.push(Finding { name, bytes: bundle(files).into() });
        } else if path.is_dir() {
            collect(root, &path, found);
        } else if !name.ends_with(".md") {
            found.push(Finding { name, bytes: read(&path).into() });
        }
    }
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the findings are in the repository");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a folder can be listed").path()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).expect("the findings are in the repository")
}
