//! What one cell of a drawing stands for, with its letter and its colours.

use oxiblosc::chunk::{ChunkHeader, SpecialKind};

/// What a chunk is, as far as it has been looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::info) enum ChunkClass {
    Blocks,
    VariableBlocks,
    Stored,
    Zeros,
    Nans,
    Value,
    Uninit,
    Lazy,
    Instrumented,
    /// Only the index has been looked at.
    Unseen,
    /// Its header cannot be read.
    Unreadable,
}

impl ChunkClass {
    /// Every class, in the order of legends.
    pub(in crate::info) const ALL: [Self; 11] = [
        Self::Blocks,
        Self::VariableBlocks,
        Self::Stored,
        Self::Zeros,
        Self::Nans,
        Self::Value,
        Self::Uninit,
        Self::Lazy,
        Self::Instrumented,
        Self::Unseen,
        Self::Unreadable,
    ];

    pub(super) fn of(header: &ChunkHeader) -> Self {
        match header.special() {
            Some(kind) => Self::special(kind),
            None if header.is_lazy() => Self::Lazy,
            None if header.is_instrumented() => Self::Instrumented,
            None if header.is_stored() => Self::Stored,
            None if header.has_vl_blocks() => Self::VariableBlocks,
            None => Self::Blocks,
        }
    }

    pub(super) fn special(kind: SpecialKind) -> Self {
        match kind {
            SpecialKind::Zero => Self::Zeros,
            SpecialKind::Nan => Self::Nans,
            SpecialKind::Value => Self::Value,
            SpecialKind::Uninit => Self::Uninit,
        }
    }

    /// Its name, the one that `info` has for the body of a single chunk.
    pub(in crate::info) fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::VariableBlocks => "vlblocks",
            Self::Stored => "stored",
            Self::Zeros => "zeros",
            Self::Nans => "nans",
            Self::Value => "value",
            Self::Uninit => "uninit",
            Self::Lazy => "lazy",
            Self::Instrumented => "instrumented",
            Self::Unseen => "not looked at",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A range of compression ratios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::info) struct RatioLevel(u8);

/// Where the next level begins, with what is shown below it. What compresses badly is dark.
const LEVELS: [(f64, char, &str, u8, &str); 6] = [
    (1.1, '\u{2588}', "below 1.1x", 160, "#d55e00"),
    (2.0, '\u{2593}', "below 2x", 172, "#e69f00"),
    (4.0, '\u{2592}', "below 4x", 178, "#f0e442"),
    (8.0, '\u{2591}', "below 8x", 72, "#009e73"),
    (32.0, ':', "below 32x", 74, "#56b4e9"),
    (f64::INFINITY, '.', "32x and more", 67, "#c6dbef"),
];

impl RatioLevel {
    pub(in crate::info) fn of(ratio: f64) -> Self {
        let level = LEVELS.iter().position(|level| ratio < level.0).unwrap_or(LEVELS.len() - 1);
        // Lossless: there are six.
        Self(level as u8)
    }

    fn level(self) -> &'static (f64, char, &'static str, u8, &'static str) {
        &LEVELS[usize::from(self.0).min(LEVELS.len() - 1)]
    }
}

/// One cell of a drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::info) enum Mark {
    Empty,
    Header,
    Index,
    Trailer,
    /// What follows the last complete chunk of an open-ended frame.
    LeftOver,
    Hole,
    /// Offsets of blocks within a chunk.
    BlockStarts,
    Dictionary,
    Chunk(ChunkClass),
    Ratio(RatioLevel),
    UnknownRatio,
    /// Along an axis: where a chunk begins, where a block begins, and the rest.
    ChunkEdge,
    BlockEdge,
    Axis,
}

impl Mark {
    /// The ratio of decoded to encoded bytes.
    pub(super) fn ratio(nbytes: u64, cbytes: Option<u64>) -> Self {
        match cbytes {
            _ if nbytes == 0 => Self::UnknownRatio,
            None => Self::UnknownRatio,
            // Such a chunk exists only in the index.
            Some(0) => Self::Ratio(RatioLevel::of(f64::INFINITY)),
            Some(cbytes) => Self::Ratio(RatioLevel::of(nbytes as f64 / cbytes as f64)),
        }
    }

    pub(super) fn letter(self) -> char {
        match self {
            Self::Empty => ' ',
            Self::Header => 'H',
            Self::Index => 'I',
            Self::Trailer => 'T',
            Self::LeftOver => 'X',
            Self::BlockStarts => 'B',
            Self::Dictionary => 'D',
            Self::Hole => '.',
            Self::Chunk(class) => match class {
                ChunkClass::Blocks => '#',
                ChunkClass::VariableBlocks => 'V',
                ChunkClass::Stored => 'S',
                ChunkClass::Zeros => '0',
                ChunkClass::Nans => 'N',
                ChunkClass::Value => '=',
                ChunkClass::Uninit => '_',
                ChunkClass::Lazy => 'L',
                ChunkClass::Instrumented => 'M',
                ChunkClass::Unseen => '?',
                ChunkClass::Unreadable => '!',
            },
            Self::Ratio(level) => level.level().1,
            Self::UnknownRatio => '?',
            Self::ChunkEdge => '|',
            Self::BlockEdge => '+',
            Self::Axis => '-',
        }
    }

    /// What it stands for, in a legend; `None` for what needs no explanation.
    pub(super) fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Empty | Self::Axis => return None,
            Self::Header => "header",
            Self::Index => "index",
            Self::Trailer => "trailer",
            Self::LeftOver => "left over",
            Self::BlockStarts => "block starts",
            Self::Dictionary => "dictionary",
            Self::Hole => "hole",
            Self::Chunk(class) => class.name(),
            Self::Ratio(level) => level.level().2,
            Self::UnknownRatio => "unknown ratio",
            Self::ChunkEdge => "a chunk begins",
            Self::BlockEdge => "a block begins",
        })
    }

    /// Its place in a legend.
    pub(super) fn rank(self) -> usize {
        match self {
            Self::Empty | Self::Axis => 0,
            Self::Header => 1,
            Self::BlockStarts => 2,
            Self::Dictionary => 3,
            Self::Chunk(class) => 4 + ChunkClass::ALL.iter().position(|other| *other == class).unwrap_or_default(),
            Self::Hole => 20,
            Self::Index => 21,
            Self::Trailer => 22,
            Self::LeftOver => 23,
            Self::ChunkEdge => 24,
            Self::BlockEdge => 25,
            Self::Ratio(level) => 26 + usize::from(level.0),
            Self::UnknownRatio => 40,
        }
    }

    /// Its colour on a terminal of 256 colours; `None` for that of text.
    pub(super) fn terminal_colour(self) -> Option<u8> {
        Some(match self {
            Self::Empty | Self::UnknownRatio | Self::Axis | Self::BlockEdge | Self::ChunkEdge => return None,
            Self::Header => 36,
            Self::Index | Self::BlockStarts => 178,
            Self::Trailer | Self::Dictionary => 132,
            Self::LeftOver => 160,
            Self::Hole => 240,
            Self::Chunk(class) => match class {
                ChunkClass::Blocks => 32,
                ChunkClass::VariableBlocks => 74,
                ChunkClass::Stored => 166,
                ChunkClass::Zeros | ChunkClass::Uninit => 245,
                ChunkClass::Nans => 243,
                ChunkClass::Value => 175,
                ChunkClass::Unseen => return None,
                ChunkClass::Lazy | ChunkClass::Instrumented | ChunkClass::Unreadable => 160,
            },
            Self::Ratio(level) => level.level().3,
        })
    }

    /// Its colour in a picture, distinguishable with colour blindness.
    pub(super) fn colour(self) -> &'static str {
        match self {
            Self::Empty => "none",
            Self::Header => "#009e73",
            Self::Index | Self::BlockStarts => "#e69f00",
            Self::Trailer | Self::Dictionary => "#882255",
            Self::LeftOver => "#000000",
            Self::Hole => "#ffffff",
            Self::Chunk(class) => match class {
                ChunkClass::Blocks => "#0072b2",
                ChunkClass::VariableBlocks => "#56b4e9",
                ChunkClass::Stored => "#d55e00",
                ChunkClass::Zeros => "#bbbbbb",
                ChunkClass::Nans => "#777777",
                ChunkClass::Value => "#cc79a7",
                ChunkClass::Uninit => "#dddddd",
                ChunkClass::Unseen => "#f4f4f4",
                ChunkClass::Lazy | ChunkClass::Instrumented | ChunkClass::Unreadable => "#000000",
            },
            Self::Ratio(level) => level.level().4,
            Self::UnknownRatio => "#f4f4f4",
            Self::ChunkEdge => "#000000",
            Self::BlockEdge => "#888888",
            Self::Axis => "#eeeeee",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_has_a_letter_of_its_own() {
        let ratios = [1.0, 1.5, 3.0, 5.0, 20.0, f64::INFINITY].map(|ratio| Mark::Ratio(RatioLevel::of(ratio)));
        // A hole and a good ratio never share a row.
        let marks = [Mark::Header, Mark::Index, Mark::Trailer, Mark::LeftOver, Mark::BlockStarts, Mark::Dictionary];
        let marks = marks.into_iter().chain([Mark::ChunkEdge, Mark::BlockEdge, Mark::Axis]);
        let all = ChunkClass::ALL.map(Mark::Chunk).into_iter().chain(ratios).chain(marks);
        let mut letters: Vec<_> = all.map(Mark::letter).collect();
        let count = letters.len();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), count);
    }

    #[test]
    fn ratios() {
        assert_eq!(Mark::ratio(100, Some(100)), Mark::Ratio(RatioLevel(0)));
        assert_eq!(Mark::ratio(100, Some(50)), Mark::Ratio(RatioLevel(2)));
        assert_eq!(Mark::ratio(100, Some(0)), Mark::Ratio(RatioLevel(5)));
        assert_eq!(Mark::ratio(100, None), Mark::UnknownRatio);
        assert_eq!(Mark::ratio(0, Some(32)), Mark::UnknownRatio);
    }
}
