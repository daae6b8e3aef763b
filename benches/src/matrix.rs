//! Which combinations are measured in the short and in the full form.

use std::time::Duration;

use crate::settings::{Codec, Filter};
use crate::workload::{Role, Source};

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A cross section, in less than two minutes.
    Short,
    /// Everything, in less than twenty minutes.
    Full,
    /// Chunks and items of held and generated sets alone, in less than twenty minutes.
    Unseen,
}

/// What is measured, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Filters alone.
    Filters,
    /// Chunks of the nine sets that need no network.
    Chunks,
    /// Chunks and items of the others.
    Sets,
    /// Parts of what is compressed.
    Accesses,
    /// Frames from end to end.
    Streams,
    /// More threads, by wall clock.
    Threads,
    /// Beside what the machine can do.
    Limits,
    /// Processes, by wall clock.
    Commands,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Filters,
        Self::Chunks,
        Self::Sets,
        Self::Accesses,
        Self::Streams,
        Self::Threads,
        Self::Limits,
        Self::Commands,
    ];

    /// The groups of its rows.
    pub const fn groups(self) -> &'static [&'static str] {
        match self {
            Self::Filters => &["filter"],
            Self::Chunks => &["compress", "decompress"],
            Self::Sets => &["compress", "decompress", "items"],
            Self::Accesses => &["access", "changes"],
            Self::Streams => &["stream"],
            Self::Threads => &["threads"],
            Self::Limits => &["limits"],
            Self::Commands => &["commands"],
        }
    }
}

/// How a data set is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// The codec.
    pub codec: Codec,
    /// The filter.
    pub filter: Filter,
    /// The level.
    pub level: u8,
    /// The threads.
    pub threads: usize,
    /// Bytes of a chunk, when it is not the usual one.
    pub chunk: Option<usize>,
}

/// Which settings are of interest; an empty list stands for all there are.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Only {
    /// Chunks and streams of these codecs only.
    #[arg(long = "codec", value_name = "NAME", value_delimiter = ',')]
    codecs: Vec<Codec>,
    /// Chunks and streams with these filters only.
    #[arg(long = "filter", value_name = "NAME", value_delimiter = ',')]
    filters: Vec<Filter>,
    /// Chunks and streams of these levels only.
    #[arg(long = "level", value_name = "LEVEL", value_delimiter = ',')]
    levels: Vec<u8>,
    /// Chunks and streams with so many threads only.
    #[arg(long = "threads", value_name = "COUNT", value_delimiter = ',')]
    threads: Vec<usize>,
}

impl Only {
    /// Whether `case` is one of them.
    pub fn includes(&self, case: &Case) -> bool {
        self.includes_settings(case.codec, case.filter, case.level, case.threads)
    }

    /// Whether levels are named.
    pub fn names_levels(&self) -> bool {
        !self.levels.is_empty()
    }

    /// Whether these settings are among them.
    pub fn includes_settings(&self, codec: Codec, filter: Filter, level: u8, threads: usize) -> bool {
        fn among<T: PartialEq>(list: &[T], value: T) -> bool {
            list.is_empty() || list.contains(&value)
        }
        among(&self.codecs, codec)
            && among(&self.filters, filter)
            && among(&self.levels, level)
            && among(&self.threads, threads)
    }
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

impl Case {
    /// Bytes of a chunk: large enough for threads and caches to matter, small enough that the slowest settings, at a
    /// megabyte per second, get a few rounds.
    pub fn chunk_len(&self) -> usize {
        let slow = self.level == 9 && matches!(self.codec, Codec::Zstd | Codec::Zlib | Codec::Lz4Hc);
        self.chunk.unwrap_or(if slow { MIB } else { 4 * MIB })
    }

    /// The share of the time that compression gets, in proportion to what three rounds of it take, in hundredths of a
    /// second on some machine; what is fast gets as much as some dozen rounds take.
    pub fn compress_weight(&self) -> u32 {
        let (low, middle, high) = match self.codec {
            Codec::BloscLz | Codec::Lz4 => (5, 6, 6),
            Codec::Lz4Hc => (16, 57, 35),
            Codec::Zlib => (18, 50, 56),
            Codec::Zstd => (9, 60, 240),
        };
        let rounds = match self.level {
            ..=3 => low,
            4..=6 => middle,
            _ => high,
        };
        self.scaled(rounds).max(24)
    }

    /// The share that decompression gets.
    pub fn decompress_weight(&self) -> u32 {
        self.scaled(3).max(12)
    }

    /// From chunks of the usual size to chunks of this one.
    fn scaled(&self, weight: usize) -> u32 {
        let usual = Self { chunk: None, ..*self }.chunk_len();
        u32::try_from(weight * self.chunk_len() / usual).unwrap_or(u32::MAX)
    }
}

impl Form {
    /// Name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Full => "full",
            Self::Unseen => "unseen",
        }
    }

    /// How long a group may take; the groups follow each other.
    pub fn time(self, part: Part) -> Duration {
        let [short, full] = match part {
            Part::Chunks => [30, 240],
            Part::Sets => [12, 380],
            Part::Filters => [6, 40],
            Part::Accesses => [12, 100],
            Part::Streams => [10, 80],
            Part::Threads => [6, 50],
            Part::Limits => [4, 20],
            Part::Commands => [4, 40],
        };
        Duration::from_secs(match self {
            Self::Short => short,
            Self::Full => full,
            Self::Unseen => 900,
        })
    }

    /// Which parts there are.
    pub const fn parts(self) -> &'static [Part] {
        match self {
            Self::Short | Self::Full => &Part::ALL,
            Self::Unseen => &[Part::Sets],
        }
    }

    /// For how many levels of one to nine a set of a package is measured with each codec and filter.
    pub const fn levels_of_sets(self) -> usize {
        match self {
            Self::Short => 1,
            Self::Full => 2,
            Self::Unseen => 3,
        }
    }

    /// How many sets are generated: one or more of each family.
    pub const fn generated_sets(self) -> usize {
        match self {
            Self::Short => 3,
            Self::Full => 9,
            Self::Unseen => 18,
        }
    }

    /// The sets out of packages that belong to the form: for the short one some whose packages are small.
    pub fn includes_set(self, source: &Source) -> bool {
        const SMALL: [&str; 6] =
            ["c-u8", "messages-u8", "instruments-i16", "population-i32", "glucose-i64", "cities-f64"];
        match self {
            Self::Short => SMALL.contains(&source.name),
            Self::Full => true,
            Self::Unseen => source.role == Role::Held,
        }
    }

    /// How each data set is compressed and decompressed.
    pub fn cases(self) -> Vec<Case> {
        let mut cases = Vec::new();
        for codec in Codec::ALL {
            for filter in Filter::ALL {
                for level in [1, 5, 9] {
                    let case = Case { codec, filter, level, threads: 1, chunk: None };
                    if self == Self::Full || case.in_short_form() {
                        cases.push(case);
                    }
                }
            }
        }
        cases
    }

    /// Chunk sizes that [`Form::sized_cases`] goes through; the usual one is in [`Form::cases`].
    pub fn chunk_sizes(self) -> &'static [usize] {
        match self {
            Self::Short => &[64 * KIB, 64 * MIB],
            Self::Full => &[64 * KIB, 256 * KIB, MIB, 16 * MIB, 64 * MIB],
            Self::Unseen => &[],
        }
    }

    /// How the data sets of [`Form::sized_workloads`] are compressed in chunks of other sizes.
    pub fn sized_cases(self) -> Vec<Case> {
        let mut cases = Vec::new();
        for &size in self.chunk_sizes() {
            for codec in [Codec::Lz4, Codec::Zstd] {
                if self == Self::Full || codec == Codec::Lz4 {
                    let case = Case { codec, filter: Filter::Shuffle, level: 5, threads: 1, chunk: Some(size) };
                    cases.push(case);
                }
            }
        }
        cases
    }

    /// Data sets that are also compressed in chunks of other sizes.
    pub const fn sized_workloads(self) -> &'static [&'static str] {
        &["disparity-f32", "smooth-f64"]
    }
}

impl Case {
    /// Level 5 with shuffle for all codecs; bit shuffle and the other levels for those that are taken for speed.
    fn in_short_form(&self) -> bool {
        let fast = matches!(self.codec, Codec::BloscLz | Codec::Lz4);
        match (self.filter, self.level) {
            (Filter::Shuffle, 5) => true,
            (Filter::Shuffle, 1) => self.codec == Codec::Zstd,
            (Filter::Shuffle, 9) => fast,
            (Filter::Bitshuffle, 5) => self.codec == Codec::Lz4 || self.codec == Codec::Zstd,
            (Filter::None | Filter::Bytedelta, 5) => self.codec == Codec::Lz4,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_form_is_the_whole_product_and_contains_the_short_one() {
        let full = Form::Full.cases();
        assert_eq!(full.len(), 5 * 4 * 3);
        assert!(Form::Short.cases().iter().all(|case| full.contains(case)));
        for codec in Codec::ALL {
            assert!(Form::Short.cases().iter().any(|case| case.codec == codec));
        }
    }

    #[test]
    fn a_selection_leaves_out_what_it_does_not_name() {
        let only = Only { codecs: vec![Codec::Lz4], levels: vec![1, 9], ..Only::default() };
        let kept = Form::Full.cases().iter().filter(|case| only.includes(case)).count();
        assert_eq!(kept, 4 * 2);
        assert!(Form::Full.cases().iter().all(|case| Only::default().includes(case)));
    }

    #[test]
    fn data_sets_consist_of_whole_chunks() {
        for case in Form::Full.cases().iter().chain(&Form::Full.sized_cases()) {
            assert_eq!(crate::workload::BYTES % case.chunk_len(), 0);
        }
    }
}
