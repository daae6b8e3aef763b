//! Every chunk file of `data/vectors` decodes to the bytes its manifest tells, as a whole and block by block. One named
//! test per file.

mod vectors;

use std::collections::BTreeSet;
use std::path::PathBuf;

use libtest_mimic::{Arguments, Failed, Trial};
use oxiblosc as _;
use oxiblosc_core::chunk::{BlockMap, ChunkContext, ChunkDecoder, MapProgress};
use oxiblosc_core::{Inline, Registry};
use sha2::{Digest, Sha256};

fn main() {
    let arguments = Arguments::from_args();
    let is_chunk = |kind: &str| kind == "chunk";
    let mut tested = BTreeSet::new();
    let mut trials = Vec::new();
    for vector in vectors::Vector::all(is_chunk) {
        tested.insert(vector.name());
        trials.push(Trial::test(vector.name(), move || Vector::new(&vector).check()));
    }
    trials.push(Trial::test("every chunk is tested", move || vectors::nothing_is_left_out(&tested, is_chunk)));
    libtest_mimic::run(&arguments, trials).exit();
}

struct Vector {
    path: PathBuf,
    nbytes: usize,
    /// How many leading bytes are defined.
    compare: usize,
    sha256: String,
}

impl Vector {
    fn new(vector: &vectors::Vector) -> Self {
        let number = |key: &str| vector.entry[key].as_u64().and_then(|n| usize::try_from(n).ok());
        let nbytes = number("nbytes").expect("every vector has nbytes");
        let compare = number("compare_bytes");
        let sha256 = vector.text(if compare.is_some() { "sha256_of_first_compare_bytes" } else { "sha256" });
        Self { path: vector.path(), nbytes, compare: compare.unwrap_or(nbytes), sha256: sha256.to_owned() }
    }

    fn check(self) -> Result<(), Failed> {
        let chunk = std::fs::read(&self.path)?;
        let mut decoder = ChunkDecoder::new(Registry::linked()?);
        let ctx = ChunkContext::default();
        let whole = decoder.decode(&chunk, &ctx, &Inline)?;
        if whole.len() != self.nbytes {
            return Err(format!("decodes to {} bytes, expected {}", whole.len(), self.nbytes).into());
        }
        let digest = Sha256::digest(&whole[..self.compare]);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        if digest != self.sha256 {
            return Err(format!("decodes to SHA-256 {digest}, expected {}", self.sha256).into());
        }

        // The same again from ranges of bytes, as a reader of a remote file does it.
        let map = match BlockMap::parse(&chunk[..32])? {
            MapProgress::Ready(map) => map,
            MapProgress::NeedPrefix(len) => match BlockMap::parse(&chunk[..len])? {
                MapProgress::Ready(map) => map,
                MapProgress::NeedPrefix(len) => match BlockMap::parse(&chunk[..len])? {
                    MapProgress::Ready(map) => map,
                    MapProgress::NeedPrefix(more) => return Err(format!("needs {len}, then {more} bytes").into()),
                },
            },
        };
        let mut first: Option<Vec<u8>> = None;
        for block in 0..map.block_count() {
            let span = &chunk[map.span(block)];
            let decoded = decoder.decode_block(&map, block, span, first.as_deref(), &ctx)?;
            let bytes = map.block_bytes(block).ok_or("a vector with blocks of variable length")?;
            if decoded != whole[bytes] {
                return Err(format!("block {block} differs from the whole").into());
            }
            first.get_or_insert(decoded);
        }
        Ok(())
    }
}
