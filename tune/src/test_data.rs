//! Data and plugins for tests.

use bytes::Bytes;
use oxiblosc::codec::{Codec, CodecContext, CodecError};
use oxiblosc::filter::{BlockContext, Filter, FilterError};
use oxiblosc::{CodecId, Registry};

use crate::candidate::Candidate;
use crate::filters::Filters;

/// Bytes of each data set: more than the default block, and little enough for an exhaustive search.
const LEN: usize = 300_000;

/// LZ4 without filters.
pub(crate) fn candidate(level: u8) -> Candidate {
    let registry = Registry::builtin().expect("they are linked");
    let codec = registry.codec(CodecId::LZ4).expect("it is built in");
    Candidate::new(codec.info(), &Filters::none(), level, 4)
}

/// The middle of a real array, with the size of its items.
fn real(name: &str, typesize: usize) -> (String, Bytes, usize) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/data/arrays").join(name);
    let bytes = std::fs::read(path).expect("the array is in the repository");
    // The header of these files has 128 bytes.
    let start = 128 + (bytes.len() - 128 - LEN) / 2 / typesize * typesize;
    (name.to_owned(), Bytes::from(bytes).slice(start..start + LEN), typesize)
}

/// Eight data sets: their names, their bytes, and the sizes of their items.
pub(crate) fn data_sets() -> Vec<(String, Bytes, usize)> {
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 40
    };
    let walk = (0..LEN / 8).scan(0_u64, |at, _| {
        *at += noise() % 1000;
        Some(*at)
    });
    let walk: Bytes = walk.flat_map(u64::to_le_bytes).collect();
    let sine: Bytes = (0..LEN / 4).flat_map(|i| ((i as f32 / 100.0).sin() * 1000.0).to_le_bytes()).collect();
    let words: Bytes = (0..LEN).map(|i| b"the quick brown fox jumps over the lazy dog "[(i * i / 700) % 44]).collect();
    vec![
        real("fmri.npy", 2),
        real("disparity.npy", 4),
        real("faces.npy", 8),
        real("astronaut.npy", 1),
        real("health.npy", 8),
        ("a walk".into(), walk, 8),
        ("a sine".into(), sine, 4),
        ("words".into(), words, 1),
    ]
}

/// Subtracts from each item its number times a step, so that some data become all zeros; or fails.
#[derive(Clone)]
pub(crate) struct Ramp {
    pub(crate) step: u16,
    pub(crate) fails: bool,
}

impl Filter for Ramp {
    fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        if self.fails {
            return Err(FilterError::Other("not today".into()));
        }
        dst.copy_from_slice(src);
        for (i, item) in dst.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            *item = u16::from_le_bytes(*item).wrapping_sub((i as u16).wrapping_mul(self.step)).to_le_bytes();
        }
        Ok(())
    }

    fn backward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        dst.copy_from_slice(src);
        for (i, item) in dst.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            *item = u16::from_le_bytes(*item).wrapping_add((i as u16).wrapping_mul(self.step)).to_le_bytes();
        }
        Ok(())
    }
}

/// Never finds anything to compress.
#[derive(Clone)]
pub(crate) struct Idle;

impl Codec for Idle {
    fn compress(&mut self, _: &CodecContext<'_>, _: &[u8], _: &mut [u8]) -> Result<Option<usize>, CodecError> {
        Ok(None)
    }

    fn decompress(&mut self, _: &CodecContext<'_>, _: &[u8], _: &mut [u8]) -> Result<usize, CodecError> {
        Ok(0)
    }
}
