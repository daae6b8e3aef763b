//! Frames that C-Blosc2 reads and writes, through python-blosc2.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use oxiblosc_core::Chain;
use oxiblosc_core::chunk::{EncodeParams, SplitMode};
use oxiblosc_core::id::IdRange;
use oxiblosc_core::nd::{Geometry, Selection};
use oxiblosc_core::registry::Registry;
use oxiblosc_streaming::ReadOptions;
use oxiblosc_streaming::blocking::{FrameReader, NdArray};

use super::promise::{Broken, Promise, same};
use super::session::Session;

const SCRIPT: &str = include_str!("peer.py");

/// How many frames are exchanged: each costs the start of an interpreter.
const FRAMES: usize = 4;

/// Encodes a frame with the plugins of a registry.
pub(super) type Encode<'a> = Box<dyn Fn(&Registry) -> Result<Vec<u8>, String> + 'a>;

/// A frame that both sides write and read.
pub(super) struct Exchange<'a> {
    pub(super) params: &'a EncodeParams,
    pub(super) data: &'a [u8],
    pub(super) array: Option<&'a Geometry>,
    pub(super) lossy: bool,
    pub(super) dtype: String,
    pub(super) encode: Encode<'a>,
}

/// Exchanges frames with C-Blosc2, for plugins that it has: those of other ids are not known to it.
pub(super) fn compare<'a>(
    session: &Session,
    python: &Path,
    registry: &Registry,
    id: u8,
    frames: impl Iterator<Item = Exchange<'a>>,
) {
    if IdRange::of(id) == IdRange::User {
        return session.note(format!("C-Blosc2 has no plugin with the id {id}: nothing was exchanged with it"));
    }
    // Split streams and dictionaries follow other rules there.
    let frames = frames.filter(|frame| frame.params.split == SplitMode::Never && !frame.params.use_dict);
    let frames: Vec<_> = frames.filter(|frame| frame.params.typesize <= 255).collect();
    let step = frames.len().div_ceil(FRAMES).max(1);
    for frame in frames.iter().step_by(step) {
        session.watch.says(Promise::CBlosc2, format!("  with: {}", frame.settings()));
        let result = frame.exchange(python, registry);
        let verdict =
            result.map_err(|why| Broken::new(Promise::CBlosc2, format!("{why}\n  with: {}", frame.settings())));
        session.verdict(Promise::CBlosc2, verdict);
    }
}

impl Exchange<'_> {
    fn exchange(&self, python: &Path, registry: &Registry) -> Result<(), String> {
        let files = Files::new().map_err(|e| format!("temporary files: {e}"))?;
        let ours = (self.encode)(registry)?;
        let expected = if self.lossy { self.read(&ours, registry)? } else { self.data.to_vec() };
        files.write("ours", &ours)?;
        files.write("data", self.data)?;
        let output = Command::new(python)
            .args(["-c", SCRIPT])
            .arg(files.path("ours"))
            .arg(self.settings())
            .arg(files.path("data"))
            .arg(files.path("theirs"))
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("{}: {e}", python.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("python-blosc2 fails: {}", said.lines().last().unwrap_or("it says nothing")));
        }
        same(Promise::CBlosc2, &expected, &files.read("theirs.read")?, "what C-Blosc2 reads").map_err(|b| b.detail)?;
        let theirs = self.read(&files.read("theirs.frame")?, registry)?;
        same(Promise::CBlosc2, &expected, &theirs, "what is read of C-Blosc2's frame").map_err(|b| b.detail)
    }

    fn read(&self, frame: &[u8], registry: &Registry) -> Result<Vec<u8>, String> {
        let options = ReadOptions::new().registry(registry);
        let reader = FrameReader::with_options(Bytes::copy_from_slice(frame), options);
        let reader = reader.map_err(|e| Chain(&e).to_string())?;
        let bytes = if self.array.is_some() {
            let array = NdArray::from_frame(&reader).map_err(|e| Chain(&e).to_string())?;
            array.read(&Selection::all()).map_err(|e| Chain(&e).to_string())?.into_bytes()
        } else {
            reader.bytes(0..reader.nbytes()).map_err(|e| Chain(&e).to_string())?
        };
        Ok(bytes.to_vec())
    }

    /// The settings as JSON.
    fn settings(&self) -> String {
        let EncodeParams { codec, codec_meta, level, typesize, filters, block_size, .. } = self.params;
        let ids: Vec<u8> = filters.0.iter().map(|slot| slot.id.0).collect();
        let metas: Vec<u8> = filters.0.iter().map(|slot| slot.meta).collect();
        let array = self.array.map_or("null".to_owned(), |Geometry { shape, chunk_shape, block_shape }| {
            let dtype = &self.dtype;
            format!(
                r#"{{"dtype": "{dtype}", "shape": {shape:?}, "chunks": {chunk_shape:?}, "blocks": {block_shape:?}}}"#
            )
        });
        let chunksize = 40_000 / typesize * typesize;
        format!(
            r#"{{"chunksize": {chunksize}, "array": {array}, "cparams": {{"codec": {}, "codec_meta": {codec_meta}, "clevel": {level}, "typesize": {typesize}, "blocksize": {}, "filters": {ids:?}, "filters_meta": {metas:?}, "nthreads": 1}}}}"#,
            codec.0,
            block_size.unwrap_or(0)
        )
    }
}

/// A folder for the files of one exchange.
struct Files(PathBuf);

impl Files {
    fn new() -> std::io::Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("oxiblosc-kit-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        fs::write(self.path(name), bytes).map_err(|e| format!("{name}: {e}"))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        fs::read(self.path(name)).map_err(|e| format!("{name}: {e}"))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // What stays behind is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
