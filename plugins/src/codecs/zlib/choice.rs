//! Which encoder takes a stream.
//!
//! Each choice was made on data sets of the role `tuned`: the fastest encoder whose result is not larger than that of zlib's
//! level. To judge one, let [`choose`] return another encoder and run
//! `cargo run --release -p oxiblosc-bench -- --codec zlib`.
//!
//! - zlib stays ahead in size where nearly everything repeats, because it alone looks far enough back there.
//! - libdeflate's blocks cross byte planes, and those of the greedy and the parsing encoder do not.
//! - Without a filter there are no planes, and libdeflate finds far matches of three bytes that the greedy encoder does not
//!   look for.
//! - Bit planes of 32 KiB repeat as far back as deflate can refer to, which is farther than zlib and libdeflate look.

use std::cell::OnceCell;
use std::ops::Range;

use memchr::memmem;
use oxiblosc_core::FilterId;

use self::Encoder::{Greedy, Libdeflate, Parsing, Quick, Zlib};
use super::quick::QuickEncoder;
use crate::codecs::sample::{different_triples, is_noise_of, sample};

/// The encoder of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoder {
    Quick,
    /// Compares up to this many earlier positions at each one.
    Greedy {
        ways: usize,
    },
    Parsing,
    /// libdeflate at this level of its own.
    Libdeflate(u8),
    Zlib,
}

/// Compares as many positions as the greedy encoder can.
const GREEDY: Encoder = Greedy { ways: 4 };

/// Pieces of a sample.
const PIECES: usize = 8;

/// Bytes of a piece.
const PIECE: usize = 1024;

/// Of the letters of log lines and JSON, taken as items of two bytes and more and shuffled, fewer triples differ, in percent.
/// The greedy encoder misses far matches there from level 4 on.
const LETTERS: usize = 13;

/// From this level on there is time to see whether all of a filtered stream shrinks to one part in [`REGULAR`], which samples
/// do not tell where the same comes back after more bytes than a piece has, as in columns of regular times.
const CAREFUL: u8 = 6;

/// See [`CAREFUL`]. As encoding stops where it has taken so much, it is cheap for all other data.
const REGULAR: usize = 16;

/// At lower levels what is regular after a filter is told by [`comes_back`], and only looked for where a sample shrinks to so
/// many percent, or as said at [`SEARCHED`].
const REGULAR_SAMPLE: usize = 35;

/// Where so many percent of the triples differ, the other encoders mostly find what comes back. Fewer kinds of triples are in
/// more places than they try, and more of them pass for noise.
const SEARCHED: Range<usize> = 12..90;

/// The encoder for a stream of items of `typesize` bytes that have been through `filter`. `room`, at least a part of
/// [`REGULAR`] of the stream, is overwritten.
pub(super) fn choose(
    quick: &mut QuickEncoder,
    level: u8,
    filter: FilterId,
    typesize: usize,
    src: &[u8],
    room: &mut [u8],
) -> Encoder {
    if level <= 1 {
        return Quick;
    }
    let mut data = Data { src, typesize, quick, shrunk: None, triples: OnceCell::new() };
    let encoder = match filter {
        FilterId::SHUFFLE => after_shuffle(level, &mut data),
        FilterId::BITSHUFFLE => after_bitshuffle(level, &mut data),
        FilterId::BYTEDELTA => after_bytedelta(level, &mut data),
        _ => unfiltered(level, &mut data),
    };
    if encoder == Zlib {
        return Zlib;
    }
    let asked = match filter {
        FilterId::NONE if level < CAREFUL => true,
        // Bit planes by the parsing encoder are smaller than by zlib.
        FilterId::BITSHUFFLE if level >= CAREFUL => false,
        _ => level < CAREFUL && data.shrinks(REGULAR_SAMPLE) || !SEARCHED.contains(&data.triples()),
    };
    let mut regular = asked && comes_back(src);
    if !regular && level >= CAREFUL && filter != FilterId::NONE {
        let least = room.len().min(src.len() / REGULAR);
        regular = quick.compress(src, &mut room[..least]).is_some();
    }
    if regular { Zlib } else { encoder }
}

/// Whether what is at most of a few places has been there before, within reach of deflate, as in the byte planes of numbers
/// in regular steps. The greedy encoder finds too near matches there, which are too short, and takes longer than zlib.
fn comes_back(src: &[u8]) -> bool {
    /// Bytes that are looked for at each place, the number of places, and how many may be new.
    const WANTED: usize = 32;
    const PLACES: usize = 8;
    const MOST_NEW: usize = 2;
    const REACH: usize = 1 << 15;
    let (mut old, mut new) = (0, 0);
    for part in 0..PLACES {
        // Late in each part, so that there is something before it in its byte plane, and not where two planes meet.
        let at = (100 * part + 82) * (src.len() / (100 * PLACES));
        let Some(wanted) = src[at..].first_chunk::<WANTED>() else { break };
        // Runs of a byte say nothing, and are found by all encoders.
        if wanted.iter().all(|byte| *byte == wanted[0]) {
            continue;
        }
        if memmem::find(&src[at.saturating_sub(REACH)..at], wanted).is_some() {
            old += 1;
        } else {
            new += 1;
            if new > MOST_NEW {
                return false;
            }
        }
    }
    old > 2 * new
}

fn after_shuffle(level: u8, data: &mut Data<'_>) -> Encoder {
    // What the other encoders lose where nearly everything repeats grows with the level.
    let repetitive = match level {
        ..4 => 4,
        4 | 5 => 7,
        6.. => 10,
    };
    if data.shrinks(repetitive) {
        return Zlib;
    }
    if !data.is_bytes() && level >= 4 {
        let variety = data.triples();
        match level {
            4 if variety < LETTERS => return Libdeflate(5),
            5 if variety < LETTERS => return Zlib,
            6.. if variety < 12 => return Zlib,
            _ => {}
        }
        // Each plane of a column of times is either all the same or much like numbers far before it.
        if variety >= 30 && data.shrinks(43) {
            return if level < 8 { Libdeflate(level.max(5) + 1) } else { Zlib };
        }
    }
    // The upper bytes of floats of four bytes match in more places than our encoders look at.
    let floats = data.typesize == 4;
    match level {
        2 => Greedy { ways: 1 },
        3 => Greedy { ways: 2 },
        5 if floats && data.triples() >= 50 => Libdeflate(6),
        4 | 5 => GREEDY,
        _ if data.is_noise() => GREEDY,
        _ if data.is_bytes() && data.shrinks(30) => Zlib,
        6 | 7 => Libdeflate(level),
        9.. if floats && data.triples() >= 50 => Libdeflate(8),
        // Noise is much the same to all encoders, and libdeflate's is through it first.
        9.. if data.shrinks(98) => Parsing,
        _ => Libdeflate(8),
    }
}

fn after_bitshuffle(level: u8, data: &mut Data<'_>) -> Encoder {
    let repetitive = match level {
        ..4 => 4,
        4 => 10,
        5.. => 12,
    };
    if data.shrinks(repetitive) || level >= 4 && !data.is_bytes() && data.triples() < 12 {
        return Zlib;
    }
    // Of noise there is little to find, and whose blocks end with it are the smallest.
    let noisy = !data.is_bytes() && data.triples() >= 50;
    match level {
        2 => Greedy { ways: 1 },
        3 => Greedy { ways: 2 },
        5 if data.is_bytes() && data.shrinks(70) => Libdeflate(6),
        4 | 5 => GREEDY,
        _ if data.is_noise() => GREEDY,
        6 | 7 if noisy => GREEDY,
        7 if data.is_bytes() => Libdeflate(7),
        6 => Libdeflate(6),
        _ => Parsing,
    }
}

fn after_bytedelta(level: u8, data: &mut Data<'_>) -> Encoder {
    let repetitive = match level {
        ..=3 => 4,
        5 => 20,
        4 | 6.. => 10,
    };
    let least_variety = match level {
        ..5 => 0,
        5 => LETTERS,
        6.. => 12,
    };
    if data.shrinks(repetitive) || level >= 5 && !data.is_bytes() && data.triples() < least_variety {
        return Zlib;
    }
    match level {
        2 => Greedy { ways: 1 },
        3 => Greedy { ways: 2 },
        // Single bytes have no planes of noise: their differences repeat as masks and text do.
        4 | 5 if data.is_bytes() => Libdeflate(level + 1),
        4 | 5 => GREEDY,
        _ if data.is_noise() => GREEDY,
        6 if data.shrinks(25) => Zlib,
        _ if data.is_bytes() && data.shrinks(30) => Zlib,
        // Differences of bytes that hardly repeat are left to the codes, which the parsing encoder fits to each plane.
        9.. if data.is_bytes() || data.triples() >= 85 => Parsing,
        _ => Libdeflate(level.min(8)),
    }
}

fn unfiltered(level: u8, data: &mut Data<'_>) -> Encoder {
    let repetitive = if level < 4 { 4 } else { 10 };
    if data.shrinks(repetitive) || level >= 7 && !data.is_bytes() && data.triples() < 25 {
        return Zlib;
    }
    match level {
        // zlib and libdeflate search noise as long as anything else, and find as little.
        _ if data.is_noise() => GREEDY,
        4..=6 if data.is_bytes() && data.shrinks(55) => Libdeflate(level + 1),
        4..=6 if !data.is_bytes() && data.shrinks(60) => Zlib,
        // libdeflate's level 4 takes the first match, and what is left of the mantissas of rounded floats costs 5 to
        // 15 % more.
        4 if !data.is_bytes() => Libdeflate(5),
        // Pixels have near matches of three bytes, and coordinates have far ones.
        9.. if !data.shrinks(80) && data.is_bytes() => Parsing,
        9.. if !data.shrinks(80) => Zlib,
        8.. if data.shrinks(12) => Zlib,
        8.. if data.is_bytes() => Libdeflate(8),
        8.. => Libdeflate(7),
        _ => Libdeflate(level),
    }
}

/// A stream, and what is known of it.
struct Data<'a> {
    src: &'a [u8],
    typesize: usize,
    quick: &'a mut QuickEncoder,
    /// The length of a sample, and to how many bytes it shrinks.
    shrunk: Option<(usize, usize)>,
    triples: OnceCell<usize>,
}

impl Data<'_> {
    fn is_bytes(&self) -> bool {
        self.typesize == 1
    }

    /// Whether a sample shrinks to `percent` of its length, or less.
    fn shrinks(&mut self, percent: usize) -> bool {
        let (len, shrunk) = *self.shrunk.get_or_insert_with(|| {
            let mut pieces = [0; PIECES * PIECE];
            let sample = sample(self.src, PIECE, &mut pieces);
            let mut room = [0; PIECES * PIECE];
            let shrunk = self.quick.compress(sample, &mut room[..sample.len()]);
            (sample.len(), shrunk.unwrap_or(usize::MAX))
        });
        shrunk <= len * percent / 100
    }

    /// See [`different_triples`].
    fn triples(&self) -> usize {
        *self.triples.get_or_init(|| different_triples(self.src))
    }

    fn is_noise(&self) -> bool {
        is_noise_of(self.src, self.typesize, self.triples())
    }
}
