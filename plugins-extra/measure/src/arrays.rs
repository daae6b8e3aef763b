//! Columns of numbers: real arrays, and series of timestamps.

use std::fs;
use std::path::Path;

use oxiblosc_pco::NumberKind;

use crate::Result;

/// The type of numbers, without their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Unsigned,
    Signed,
    Float,
}

impl Kind {
    pub(crate) const fn of_pco(self) -> NumberKind {
        match self {
            Self::Unsigned => NumberKind::Unsigned,
            Self::Signed => NumberKind::Signed,
            Self::Float => NumberKind::Float,
        }
    }
}

/// Numbers of one type, little-endian.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) typesize: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Column {
    /// The numbers in `bytes`, which are floats.
    pub(crate) fn floats<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = f64> + use<'a> {
        bytes.chunks_exact(self.typesize).map(|bytes| match bytes {
            [a, b, c, d] => f32::from_le_bytes([*a, *b, *c, *d]).into(),
            _ => f64::from_le_bytes(bytes.try_into().expect("floats of 4 or 8 bytes")),
        })
    }
}

/// The test arrays.
pub(crate) fn load(folder: &Path) -> Result<Vec<Column>> {
    let names = ["fmri", "disparity", "faces", "health", "astronaut"];
    names.iter().map(|name| read(&folder.join(format!("{name}.npy")), name)).collect()
}

/// Reads a version 1 `.npy` file (NEP 1): magic, version, length of the header, a dictionary in ASCII, the numbers.
fn read(path: &Path, name: &str) -> Result<Column> {
    let file = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let column = || {
        let (len, rest) = file.strip_prefix(b"\x93NUMPY\x01\x00")?.split_first_chunk::<2>()?;
        let (header, bytes) = rest.split_at_checked(u16::from_le_bytes(*len).into())?;
        let descr = std::str::from_utf8(header).ok()?.split("'descr': '").nth(1)?.split('\'').next()?;
        let kind = match descr.get(1..2)? {
            "u" => Kind::Unsigned,
            "i" => Kind::Signed,
            "f" => Kind::Float,
            _ => return None,
        };
        let name = format!("{name}, {}", descr.get(1..)?);
        Some(Column { name, kind, typesize: descr.get(2..)?.parse().ok()?, bytes: bytes.to_vec() })
    };
    Ok(column().ok_or_else(|| format!("{}: not an array of numbers", path.display()))?)
}

/// Items of a series.
const ITEMS: u64 = 200_000;

/// Nanoseconds since 1970 of readings each millisecond: by a clock with little jitter, by one that sometimes misses
/// readings, and by a program that other programs interrupt. Then a counter whose rate drifts, and seconds of events, as 4
/// bytes.
pub(crate) fn series() -> Vec<Column> {
    const START: u64 = 1_700_000_000_000_000_000;
    const STEP: u64 = 1_000_000;
    let mut random = Random(1);
    let steady = (0..ITEMS).map(|i| START + i * STEP + random.below(40)).collect::<Vec<_>>();
    let mut now = START;
    let gaps = (0..ITEMS).map(|_| {
        now += STEP * if random.below(100) == 0 { 1 + random.below(50) } else { 1 };
        now
    });
    let gaps = gaps.collect::<Vec<_>>();
    let noisy = (0..ITEMS).map(|i| START + i * STEP + random.below(STEP / 2)).collect::<Vec<_>>();
    let mut total = 0u64;
    let drift = (0..ITEMS).map(|i| {
        total += (1e6 + 5e5 * (i as f64 / 3000.0).sin()) as u64;
        total
    });
    let drift = drift.collect::<Vec<_>>();
    let mut events = 1_700_000_000u32;
    let events = (0..ITEMS).flat_map(|_| {
        events += random.below(4) as u32;
        events.to_le_bytes()
    });
    let events = Column { name: "events, u4".into(), kind: Kind::Unsigned, typesize: 4, bytes: events.collect() };
    let wide = |name: &str, items: Vec<u64>| Column {
        name: format!("{name}, u8"),
        kind: Kind::Unsigned,
        typesize: 8,
        bytes: items.into_iter().flat_map(u64::to_le_bytes).collect(),
    };
    vec![
        wide("steady clock", steady),
        wide("gaps", gaps),
        wide("jitter of half a step", noisy),
        wide("drifting rate", drift),
        events,
    ]
}

/// The same numbers each time (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 20) % bound
    }
}
