//! One case: a value of each dimension, and a seed for everything that is drawn.

use std::fmt;
use std::str::FromStr;

use oxiblosc::IoMode;
use oxiblosc::chunk::EncodeParams;
use oxiblosc::frame::{FingerprintKind, SpecialPlacement};
use oxiblosc::{CodecId, Pool, WriteOptions};

/// An enumeration with a name for each value.
macro_rules! dimension {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum $name { $($(#[$value_doc])* $value,)* }

        impl $name {
            pub(crate) const ALL: &[Self] = &[$(Self::$value),*];

            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$value => $text,)* }
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().copied().find(|value| value.name() == text);
                found.ok_or_else(|| format!("there is no {} {text:?}", stringify!($name)))
            }
        }
    };
}

dimension! {
    /// Where the frame goes, and through what.
    Way {
        File = "file",
        FileInPlace = "file-in-place",
        Seek = "seek",
        /// The memory limit is not hit.
        SpoolMemory = "spool-memory",
        /// It is.
        SpoolFile = "spool-file",
        Memory = "memory",
        /// And sealed afterwards.
        OpenEnded = "open-ended",
        SeekOpenEnded = "seek-open-ended",
        ObjectSmallParts = "object-small-parts",
        Object = "object",
        /// Kept until it is complete, in a file unless it is short.
        ObjectInOrder = "object-in-order",
        SparseDirectory = "sparse-directory",
        SparseInPlace = "sparse-in-place",
        PlaceDirectory = "place-directory",
        SparseMemory = "sparse-memory",
        SparsePrefix = "sparse-prefix",
        AppendFile = "append-file",
        AppendMemory = "append-memory",
        AppendDirectory = "append-directory",
        ArrayFile = "array-file",
        ArrayMemory = "array-memory",
    }
}

dimension! {
    /// On which thread files are read and written.
    Mode { Offloaded = "offloaded", Inline = "inline", }
}

dimension! {
    /// How many bytes.
    Size {
        Empty = "0",
        One = "1",
        ChunkLess = "chunk-1",
        Chunk = "chunk",
        ChunkMore = "chunk+1",
        Several = "several",
        GatherLess = "256k-1",
        Gather = "256k",
        GatherMore = "256k+1",
        Mib20 = "20m",
        Mib64 = "64m",
        Mib256 = "256m",
        Gib = "1g",
    }
}

dimension! {
    /// How many of them are handed over at a time.
    Piece {
        /// The first and the last five thousand bytes; what lies between in pieces of a chunk.
        One = "1",
        Odd = "4099",
        Kib64 = "64k",
        Mib = "1m",
        Whole = "whole",
    }
}

dimension! {
    /// Threads of the pool that encodes and decodes.
    Threads { Default = "default", One = "one", Two = "two", Seven = "seven", Inline = "inline", }
}

dimension! {
    /// Decoded bytes of a chunk, rounded down to whole items.
    Chunk {
        Small = "5000",
        Kib64 = "64k",
        /// More than what is gathered before a file is written to.
        Large = "300k",
        Mib = "1m",
        Mib4 = "4m",
    }
}

dimension! {
    /// Bytes of an item.
    Item { One = "1", Three = "3", Eight = "8", }
}

dimension! {
    /// What the bytes are.
    Data { Noise = "noise", Series = "series", Zeros = "zeros", Mixed = "mixed", }
}

dimension! {
    /// What goes wrong below the target.
    Fault {
        None = "none",
        /// Calls are not ready, and writes take what they like.
        Slow = "slow",
        /// One call fails.
        Once = "once",
        /// From one call on all of them fail.
        Always = "always",
    }
}

dimension! {
    /// After how many polls a future is dropped.
    Drops { Never = "never", One = "1", Two = "2", Seven = "7", }
}

dimension! {
    /// The way of the bytes into the sink.
    Door { Write = "write", Send = "send", Blocking = "blocking", }
}

dimension! {
    /// How chunks are encoded.
    Encode { Default = "default", Stored = "stored", Lz4 = "lz4", Zstd = "zstd", }
}

dimension! {
    /// What else is said about the frame.
    Extras {
        Plain = "plain",
        Sequential = "sequential",
        Checked = "checked",
        StoredSpecial = "stored-special",
        LittleInFlight = "little-in-flight",
    }
}

/// A value of each dimension, and a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) way: Way,
    pub(crate) mode: Mode,
    pub(crate) size: Size,
    pub(crate) piece: Piece,
    pub(crate) threads: Threads,
    pub(crate) chunk: Chunk,
    pub(crate) item: Item,
    pub(crate) data: Data,
    pub(crate) fault: Fault,
    pub(crate) drops: Drops,
    pub(crate) door: Door,
    pub(crate) encode: Encode,
    pub(crate) extras: Extras,
    pub(crate) seed: u64,
}

impl Case {
    /// The usual way: everything at its default, incompressible data, nothing goes wrong.
    pub(crate) fn usual(way: Way, mode: Mode, size: Size) -> Self {
        Self {
            way,
            mode,
            size,
            piece: Piece::Kib64,
            threads: Threads::Default,
            chunk: Chunk::Mib,
            item: Item::Eight,
            data: Data::Noise,
            fault: Fault::None,
            drops: Drops::Never,
            door: Door::Write,
            encode: Encode::Default,
            extras: Extras::Plain,
            seed: 1,
        }
    }

    pub(crate) fn item_size(&self) -> usize {
        match self.item {
            Item::One => 1,
            Item::Three => 3,
            Item::Eight => 8,
        }
    }

    pub(crate) fn chunk_size(&self) -> usize {
        let bytes = match self.chunk {
            Chunk::Small => 5000,
            Chunk::Kib64 => 64 << 10,
            Chunk::Large => 300 << 10,
            Chunk::Mib => 1 << 20,
            Chunk::Mib4 => 4 << 20,
        };
        bytes / self.item_size() * self.item_size()
    }

    /// The bytes that are written, but for those that an array has no place for ([`crate::array::Shape`]).
    pub(crate) fn nbytes(&self) -> u64 {
        let chunk = self.chunk_size() as u64;
        match self.size {
            Size::Empty => 0,
            Size::One => 1,
            Size::ChunkLess => chunk - 1,
            Size::Chunk => chunk,
            Size::ChunkMore => chunk + 1,
            Size::Several => 3 * chunk + chunk / 3 + 1,
            Size::GatherLess => (256 << 10) - 1,
            Size::Gather => 256 << 10,
            Size::GatherMore => (256 << 10) + 1,
            Size::Mib20 => 20 << 20,
            Size::Mib64 => 64 << 20,
            Size::Mib256 => 256 << 20,
            Size::Gib => 1 << 30,
        }
    }

    /// How many bytes are handed over at `at`.
    pub(crate) fn piece_at(&self, at: u64, len: u64) -> usize {
        const EDGE: u64 = 5000;
        let most = match self.piece {
            Piece::One if at < EDGE || at + EDGE >= len => 1,
            Piece::One => (self.chunk_size() as u64).min(len - EDGE - at),
            Piece::Odd => 4099,
            Piece::Kib64 => 64 << 10,
            Piece::Mib => 1 << 20,
            Piece::Whole => u64::MAX,
        };
        most.min(len - at) as usize
    }

    pub(crate) fn io_mode(&self) -> IoMode {
        match self.mode {
            Mode::Offloaded => IoMode::Offloaded,
            Mode::Inline => IoMode::Inline,
        }
    }

    /// The pool, unless it is the default.
    pub(crate) fn pool(&self) -> Option<Pool> {
        match self.threads {
            Threads::Default => None,
            Threads::One => Some(Pool::new(1)),
            Threads::Two => Some(Pool::new(2)),
            Threads::Seven => Some(Pool::new(7)),
            Threads::Inline => Some(Pool::inline()),
        }
    }

    /// After how many polls a future is dropped.
    pub(crate) fn polls(&self) -> Option<usize> {
        match self.drops {
            Drops::Never => None,
            Drops::One => Some(1),
            Drops::Two => Some(2),
            Drops::Seven => Some(7),
        }
    }

    pub(crate) fn options(&self) -> WriteOptions {
        let mut params = EncodeParams { typesize: self.item_size(), ..EncodeParams::default() };
        match self.encode {
            Encode::Default => {}
            Encode::Stored => params.level = 0,
            Encode::Lz4 => params.codec = CodecId::LZ4,
            Encode::Zstd => (params.codec, params.level) = (CodecId::ZSTD, 1),
        }
        let mut options = WriteOptions::new(params).chunk_size(self.chunk_size());
        if let Some(pool) = self.pool() {
            options = options.pool(&pool);
        }
        match self.extras {
            Extras::Plain => options,
            // Files of their own have no order.
            Extras::Sequential => options.sequential(!self.way.is_sparse()),
            Extras::Checked => options
                .checksums(true)
                .fingerprint(FingerprintKind::default())
                .metalayer("unit", &b"\xa1K"[..])
                .vlmetalayer("note", &b"\xa4note"[..]),
            Extras::StoredSpecial => options.special(SpecialPlacement::Stored),
            Extras::LittleInFlight => options.chunks_in_flight(1).bytes_in_flight(1),
        }
    }
}

impl Way {
    pub(crate) fn is_sparse(self) -> bool {
        use Way::*;
        matches!(self, SparseDirectory | SparseInPlace | PlaceDirectory | SparseMemory | SparsePrefix | AppendDirectory)
    }

    pub(crate) fn is_append(self) -> bool {
        matches!(self, Self::AppendFile | Self::AppendMemory | Self::AppendDirectory)
    }

    pub(crate) fn is_array(self) -> bool {
        matches!(self, Self::ArrayFile | Self::ArrayMemory)
    }
}

macro_rules! fields {
    ($($field:ident),*) => {
        /// One line, from which the case can be made again.
        impl fmt::Display for Case {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(write!(f, concat!(stringify!($field), "={} "), self.$field.name())?;)*
                write!(f, "seed={}", self.seed)
            }
        }

        /// What is not said is as usual.
        impl FromStr for Case {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let mut case = Self::usual(Way::File, Mode::Offloaded, Size::Mib20);
                for word in text.split_whitespace() {
                    let (name, value) = word.split_once('=').ok_or_else(|| format!("{word:?} is no NAME=VALUE"))?;
                    match name {
                        $(stringify!($field) => case.$field = value.parse()?,)*
                        "seed" => case.seed = value.parse().map_err(|e| format!("{value:?}: {e}"))?,
                        _ => return Err(format!("a case has no {name:?}")),
                    }
                }
                Ok(case)
            }
        }
    };
}

fields!(way, mode, size, piece, threads, chunk, item, data, fault, drops, door, encode, extras);

#[test]
fn the_line_of_a_case_is_the_case() {
    let mut case = Case::usual(Way::SpoolFile, Mode::Inline, Size::Several);
    (case.fault, case.drops, case.seed) = (Fault::Always, Drops::Seven, 12_345);
    assert_eq!(case.to_string().parse(), Ok(case));
    assert_eq!("way=nowhere".parse::<Case>(), Err("there is no Way \"nowhere\"".to_owned()));
}
