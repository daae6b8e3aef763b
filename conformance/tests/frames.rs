//! Every frame of `data/vectors` opens and decodes to the bytes its manifest tells. One named test per frame.

mod vectors;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use libtest_mimic::{Arguments, Failed, Trial};
use oxiblosc::blocking::FrameReader;
use oxiblosc::recover::{Found, recover};
use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkHeader};
use oxiblosc_core::frame::{
    Checksums, ChunkEntry, Frame, FrameAudit, FrameLayout, FrameOpener, FrameParams, FrameWriter, OpenStep, Sequential,
};
use oxiblosc_core::nd::{ArrayMeta, FrameSizes, Tiling};
use oxiblosc_core::{Inline, Limits, Registry};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use vectors::{Vector, nothing_is_left_out};

fn main() {
    let arguments = Arguments::from_args();
    let is_frame = |kind: &str| kind != "chunk";
    let mut tested = BTreeSet::new();
    let mut trials = Vec::new();
    for vector in Vector::all(is_frame) {
        tested.insert(vector.name());
        trials.push(Trial::test(vector.name(), move || check(&vector.path(), &vector.entry)));
    }
    trials.push(Trial::test("every frame is tested", move || nothing_is_left_out(&tested, is_frame)));
    for name in ["empty", "three", "zero", "b2nd"] {
        trials.push(Trial::test(format!("samples::{name}: the same bytes again"), move || write_again(name)));
    }
    for name in ["empty", "blosclz-shuf3", "lz4-50chunks", "backed-lz4-tail"] {
        trials.push(Trial::test(format!("early::{name}: the same bytes again"), move || write_early_again(name)));
    }
    trials.push(Trial::test("early: damage anywhere ends with a result", damage_old_frames));
    libtest_mimic::run(&arguments, trials).exit();
}

/// A frame file, or the directory of a sparse frame.
struct Source {
    path: PathBuf,
    frame: Frame,
    bytes: Bytes,
}

impl Source {
    fn open(path: &Path) -> Result<Self, Failed> {
        let sparse = path.is_dir();
        let bytes = Bytes::from(std::fs::read(if sparse { path.join("chunks.b2frame") } else { path.to_owned() })?);
        let (registry, limits) = (Registry::linked()?, Limits::default());
        let mut opener = if sparse {
            FrameOpener::sparse(bytes.len() as u64, registry, limits)
        } else {
            FrameOpener::new(bytes.len() as u64, registry, limits)
        };
        let mut rounds = 0;
        let frame = loop {
            match opener.step()? {
                OpenStep::Read(ranges) => {
                    rounds += 1;
                    for range in ranges {
                        opener.feed(range.start, bytes.slice(range.start as usize..range.end as usize));
                    }
                }
                OpenStep::Done(frame) => break *frame,
            }
        };
        if rounds > 2 {
            return Err(format!("took {rounds} rounds of reading to open").into());
        }
        Ok(Self { path: path.to_owned(), frame, bytes })
    }

    fn chunk(&self, i: u64) -> Result<Vec<u8>, Failed> {
        match self.frame.entry(i)? {
            ChunkEntry::Stored { .. } => {
                let span = self.frame.span(i)?.ok_or("no span")?;
                let bytes = &self.bytes[span.start as usize..span.end as usize];
                let exact = self.frame.exact_span(i, &ChunkHeader::parse(bytes)?)?.ok_or("no span")?;
                if exact.end > span.end {
                    return Err(format!("chunk {i} ends at {}, its span at {}", exact.end, span.end).into());
                }
                Ok(self.bytes[exact.start as usize..exact.end as usize].to_vec())
            }
            ChunkEntry::File { id } => {
                let mut bytes = std::fs::read(self.path.join(format!("{id:08X}.chunk")))?;
                let header = ChunkHeader::parse(&bytes)?;
                self.frame.check_chunk_file(i, &header, bytes.len() as u64)?;
                bytes.truncate(header.cbytes);
                Ok(bytes)
            }
            ChunkEntry::Special(_) => Ok(self.frame.special_chunk(i)?.ok_or("no special chunk")?),
        }
    }
}

fn check(path: &Path, vector: &Value) -> Result<(), Failed> {
    let source = Source::open(path)?;
    let frame = &source.frame;
    check_metadata(frame, vector)?;
    let array = if vector["kind"] == "b2nd" { Some(open_array(frame, vector)?) } else { None };
    let mut window = vec![0; array.as_ref().map_or(0, |tiling| tiling.array_bytes() as usize)];
    let mut decoder = ChunkDecoder::new(Registry::linked()?);
    let mut audit = FrameAudit::new(frame);
    let mut digest = Sha256::new();
    for i in 0..frame.nchunks() {
        let chunk = source.chunk(i)?;
        audit.chunk(i, &ChunkHeader::parse(&chunk)?)?;
        let mut ctx: ChunkContext<'_> = frame.chunk_context(i);
        ctx.nd = array.as_ref().map(Tiling::geometry);
        let decoded = decoder.decode(&chunk, &ctx, &Inline)?;
        match &array {
            Some(tiling) => tiling.chunk_to_window(i, &decoded, &tiling.whole(), &mut window)?,
            None => digest.update(decoded),
        }
    }
    audit.finish()?;
    digest.update(&window);
    let nbytes = array.map_or(frame.nbytes(), |tiling| tiling.array_bytes());
    let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if vector["sha256"] != digest {
        return Err(format!("decodes to SHA-256 {digest}, expected {}", vector["sha256"]).into());
    }
    if vector["nbytes"] != nbytes {
        return Err(format!("has {nbytes} bytes, expected {}", vector["nbytes"]).into());
    }
    check_recovery(path)
}

/// What is not damaged is recovered as a whole.
fn check_recovery(path: &Path) -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    let copy = directory.path().join("copy");
    let recovered = recover(path, &copy)?;
    if recovered.found != Found::Whole
        || !recovered.replaced.is_empty()
        || !recovered.unchecked.is_empty()
        || recovered.lost_nbytes != Some(0)
        || recovered.damaged_array.is_some()
    {
        return Err(format!("is not recovered as a whole: {recovered:?}").into());
    }
    let (old, new) = (FrameReader::open(path)?, FrameReader::open(&copy)?);
    let same = |name: &str| name == Sequential::NAME || old.metalayer(name) == new.metalayer(name);
    if !old.metalayers().names().all(|name| same(&name)) || old.metalayers().len() < new.metalayers().len() {
        return Err("a metalayer is another one after recovery".into());
    }
    for name in old.vlmetalayer_names().iter().filter(|name| *name != Checksums::NAME) {
        if old.vlmetalayer(name)? != new.vlmetalayer(name)? {
            return Err(format!("the metalayer {name:?} is another one after recovery").into());
        }
    }
    if old.bytes(0..old.nbytes())? != new.bytes(0..new.nbytes())? {
        return Err("decodes to other bytes after recovery".into());
    }
    // Only old frames without a chunk size get new chunks.
    if old.frame().header().layout == FrameLayout::Current || old.chunk_size().is_some() {
        if old.nchunks() != new.nchunks() || old.chunk_size() != new.chunk_size() {
            return Err("is cut into other chunks after recovery".into());
        }
        for i in 0..old.nchunks() {
            if old.chunk(i)? != new.chunk(i)? {
                return Err(format!("chunk {i} is another one after recovery").into());
            }
        }
    }
    Ok(())
}

/// The layout of an array; the manifest has the digest of its items in C order.
fn open_array(frame: &Frame, vector: &Value) -> Result<Tiling, Failed> {
    let meta = ArrayMeta::find(frame.metalayers()).ok_or("no b2nd metalayer")??;
    let tiling = meta.tiling(&FrameSizes::of(frame))?;
    let geometry = tiling.geometry();
    for (what, found, expected) in [
        ("shape", json!(geometry.shape), &vector["shape"]),
        ("chunks", json!(geometry.chunk_shape), &vector["chunks"]),
        ("blocks", json!(geometry.block_shape), &vector["blocks"]),
        ("dtype", json!(meta.dtype), &vector["dtype"]),
    ] {
        if *expected != Value::Null && *expected != found {
            return Err(format!("{what} is {found}, expected {expected}").into());
        }
    }
    if meta.to_bytes()? != frame.metalayers().get(ArrayMeta::NAME).map_or(&[][..], |content| content) {
        return Err("the metalayer is not written as it was read".into());
    }
    Ok(tiling)
}

/// What the manifest says beside the data; keys that it lacks are not checked.
fn check_metadata(frame: &Frame, vector: &Value) -> Result<(), Failed> {
    let same = |what: &str, found: Value, expected: &Value| match expected {
        Value::Null => Ok(()),
        expected if *expected == found => Ok(()),
        expected => Err(Failed::from(format!("{what} is {found}, expected {expected}"))),
    };
    same("nchunks", frame.nchunks().into(), &vector["nchunks"])?;
    same("typesize", frame.typesize().into(), &vector["typesize"])?;
    let names = |found: &oxiblosc_core::frame::Metalayers| {
        let mut names: Vec<_> = found.names().map(|name| name.into_owned()).collect();
        names.sort();
        Value::from(names)
    };
    same("metalayers", names(frame.metalayers()), &vector["meta"])?;
    same("vlmetalayers", names(&frame.trailer().vlmetalayers), &vector["vlmeta"])?;
    let generation = match frame.header().layout {
        FrameLayout::Early => "early",
        FrameLayout::Beta => "beta82",
        _ => "modern",
    };
    same("generation", generation.into(), &vector["generation"])?;
    if let Some(metalayers) = vector["metalayers"].as_array() {
        for (found, expected) in frame.metalayers().iter().zip(metalayers) {
            same("metalayer name", found.0.into(), &expected["name"])?;
            same("metalayer content", hex(found.1).into(), &expected["hex"])?;
        }
    }
    let mut decoder = ChunkDecoder::new(Registry::linked()?);
    let names: Vec<_> = frame.trailer().vlmetalayers.names().map(|name| name.into_owned()).collect();
    let mut user = frame.user_metadata(&mut decoder)?;
    for name in names {
        let content = frame.vlmetalayer(&name, &mut decoder)?.ok_or("the metalayer is listed")?;
        if name == "vlm" {
            user = Some(content);
        }
    }
    same("user metadata", user.map_or(Value::Null, |user| hex(&user).into()), &vector["user_meta"]["hex"])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn vector(folder: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/vectors").join(folder).join(format!("{name}.b2frame"))
}

/// A copy of a frame, chunk by chunk.
fn copy(source: &Source, params: &FrameParams) -> Result<Vec<u8>, Failed> {
    let mut writer = FrameWriter::new(params, Registry::linked()?)?;
    let mut out = writer.header();
    for i in 0..source.frame.nchunks() {
        let chunk = source.chunk(i)?;
        if let Some(write) = writer.push(&chunk)? {
            out.extend_from_slice(write.bytes(&chunk));
        }
    }
    let mut decoder = ChunkDecoder::new(Registry::linked()?);
    for name in source.frame.trailer().vlmetalayers.names() {
        let content = source.frame.vlmetalayer(&name, &mut decoder)?.ok_or("the metalayer is listed")?;
        writer.set_vlmetalayer(&name, &content)?;
    }
    out.extend(writer.finish()?);
    let header = writer.header();
    out[..header.len()].copy_from_slice(&header);
    Ok(out)
}

/// What python-blosc2 wrote is what the writer writes, apart from the thread counts in the header.
fn write_again(name: &str) -> Result<(), Failed> {
    let source = Source::open(&vector("samples", name))?;
    let mut expected = source.bytes.to_vec();
    let mut found = copy(&source, &FrameParams::from_frame(&source.frame))?;
    for bytes in [&mut expected, &mut found] {
        bytes[62..68].fill(0);
    }
    same_bytes(&found, &expected)
}

/// As `write_again`, up to the index, which the library of 2019 compressed with another version of BloscLZ.
fn write_early_again(name: &str) -> Result<(), Failed> {
    let source = Source::open(&vector("early", &format!("e87dd0af-{name}")))?;
    let mut params = FrameParams::from_frame(&source.frame);
    params.layout = FrameLayout::Early;
    let mut found = copy(&source, &params)?;
    let end = source.frame.chunks_end() as usize;
    let index = &found[end..];
    if source.frame.nchunks() > 0 && index[..2] != source.bytes[end..end + 2] {
        return Err("the index is a chunk of another version".into());
    }
    let mut expected = source.bytes[..end].to_vec();
    found.truncate(end);
    for bytes in [&mut expected, &mut found] {
        // Frame length (the index differs) and threads.
        bytes[16..24].fill(0);
        bytes[57..63].fill(0);
    }
    same_bytes(&found, &expected)
}

fn same_bytes(found: &[u8], expected: &[u8]) -> Result<(), Failed> {
    match found.iter().zip(expected).position(|(a, b)| a != b) {
        Some(at) => Err(format!("byte {at} is {:#04x}, expected {:#04x}", found[at], expected[at]).into()),
        None if found.len() != expected.len() => {
            Err(format!("{} bytes, expected {}", found.len(), expected.len()).into())
        }
        None => Ok(()),
    }
}

/// Frames of the years 2019 to 2021, each byte of their metadata replaced, and cut at every length.
fn damage_old_frames() -> Result<(), Failed> {
    let (registry, limits) = (Registry::linked()?, Limits::default());
    let read = |bytes: Bytes| -> Result<(), Failed> {
        let mut opener = FrameOpener::new(bytes.len() as u64, registry, limits);
        while let Ok(OpenStep::Read(ranges)) = opener.step() {
            for range in ranges {
                opener.feed(range.start, bytes.slice(range.start as usize..range.end as usize));
            }
        }
        if let Ok(OpenStep::Done(frame)) = opener.step() {
            let mut decoder = ChunkDecoder::new(registry);
            let _ = frame.user_metadata(&mut decoder);
            for i in 0..frame.nchunks().min(100) {
                let _ = (frame.entry(i), frame.span(i), frame.chunk_len(i));
            }
        }
        Ok(())
    };
    for name in ["beta1-zstd-delta", "beta5-lz4hc-zerochunk-user", "beta5-backed-empty", "616f5b50-lz4-2meta-tail"] {
        let source = Source::open(&vector("early", name))?;
        let header = 0..source.frame.header().header_len as usize;
        for at in header.chain(source.frame.chunks_end() as usize..source.bytes.len()) {
            for value in [0x00, 0x01, 0x7F, 0x80, 0xFF, source.bytes[at] ^ 1] {
                let mut bytes = source.bytes.to_vec();
                bytes[at] = value;
                read(bytes.into())?;
            }
        }
        for len in 0..source.bytes.len() {
            read(source.bytes.slice(..len))?;
        }
    }
    Ok(())
}
