//! Bytes that are made when they are needed, so that a gigabyte can be written and compared without being held.

use std::ops::Range;

use oxiblosc_conformance::data::Random;

use crate::case::Data;

/// Bytes are made in pages of this size, each from its own number, so that any of them can be made alone.
const PAGE: u64 = 4 << 10;

/// The bytes that go into a frame, and must come out of it.
#[derive(Debug, Clone)]
pub(crate) struct Payload {
    data: Data,
    len: u64,
    /// Mixed data change their kind after so many bytes: chunks of one value stand beside others then.
    segment: u64,
    seed: u64,
}

impl Payload {
    pub(crate) fn new(data: Data, len: u64, segment: u64, seed: u64) -> Self {
        Self { data, len, segment: segment.max(1), seed }
    }

    /// The first `len` bytes.
    pub(crate) fn first(&self, len: u64) -> Self {
        Self { len: len.min(self.len), ..self.clone() }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The bytes `range`, as far as there are any.
    pub(crate) fn bytes(&self, range: Range<u64>) -> Vec<u8> {
        let end = range.end.min(self.len);
        let mut out = vec![0; end.saturating_sub(range.start) as usize];
        self.fill(range.start, &mut out);
        out
    }

    /// Says where `found` first differs from the bytes at `at`.
    pub(crate) fn compare(&self, at: u64, found: &[u8]) -> Result<(), String> {
        if at + found.len() as u64 > self.len {
            return Err(format!("{} bytes at {at}, but there are only {}", found.len(), self.len));
        }
        let mut expected = [0; PAGE as usize];
        let mut at = at;
        for found in found.chunks(PAGE as usize) {
            let expected = &mut expected[..found.len()];
            self.fill(at, expected);
            if let Some(i) = found.iter().zip(&*expected).position(|(a, b)| a != b) {
                return Err(format!("byte {} is {:#04x}, expected {:#04x}", at + i as u64, found[i], expected[i]));
            }
            at += found.len() as u64;
        }
        Ok(())
    }

    fn fill(&self, at: u64, out: &mut [u8]) {
        let mut at = at;
        let mut rest = out;
        while !rest.is_empty() {
            let page = at / PAGE;
            let skip = (at % PAGE) as usize;
            // Segments need not end where pages do.
            let left = self.segment - at % self.segment;
            let len = (PAGE as usize - skip).min(rest.len()).min(usize::try_from(left).unwrap_or(usize::MAX));
            let (here, behind) = rest.split_at_mut(len);
            self.fill_page(self.kind_at(at), page, skip, here);
            at += len as u64;
            rest = behind;
        }
    }

    /// The kind of data at a position.
    fn kind_at(&self, at: u64) -> Kind {
        match self.data {
            Data::Noise => Kind::Noise,
            Data::Series => Kind::Series,
            Data::Zeros => Kind::Constant(0),
            Data::Mixed => {
                let segment = at / self.segment;
                match Random::new(self.seed ^ segment.wrapping_mul(0x9e37_79b9)).below(6) {
                    0 | 1 => Kind::Constant(0),
                    // NaNs, of 4 bytes or of 8.
                    2 => Kind::Constant(0xff),
                    3 => Kind::Constant(1 + segment as u8 % 200),
                    4 => Kind::Noise,
                    _ => Kind::Series,
                }
            }
        }
    }

    fn fill_page(&self, kind: Kind, page: u64, skip: usize, out: &mut [u8]) {
        match kind {
            Kind::Constant(byte) => out.fill(byte),
            Kind::Series => {
                for (i, byte) in out.iter_mut().enumerate() {
                    let position = page * PAGE + (skip + i) as u64;
                    *byte = (position / 24 + position % 3) as u8;
                }
            }
            Kind::Noise => {
                let mut random = Random::new(self.seed ^ page.wrapping_mul(0xd129_42f1_0a0d_4a7b));
                let (mut i, end) = (0, skip + out.len());
                while i < end {
                    let word = random.next_u64().to_le_bytes();
                    if i >= skip && i + 8 <= end {
                        out[i - skip..i - skip + 8].copy_from_slice(&word);
                    } else {
                        for (k, byte) in word.into_iter().enumerate() {
                            if (skip..end).contains(&(i + k)) {
                                out[i + k - skip] = byte;
                            }
                        }
                    }
                    i += 8;
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Noise,
    Series,
    Constant(u8),
}

#[test]
fn any_part_can_be_made_alone() {
    for &data in Data::ALL {
        let payload = Payload::new(data, 20_011, 7_001, 5);
        let whole = payload.bytes(0..u64::MAX);
        assert_eq!(whole.len(), 20_011);
        for range in [0..0, 0..1, 1..9, 4090..4110, 6999..7003, 8191..20_011, 13..12_288] {
            assert_eq!(
                payload.bytes(range.clone()),
                whole[range.start as usize..range.end as usize],
                "{data:?} {range:?}"
            );
        }
        assert_eq!(payload.compare(0, &whole), Ok(()));
        let mut other = whole.clone();
        other[10_000] ^= 1;
        assert!(payload.compare(0, &other).unwrap_err().starts_with("byte 10000 is"));
        assert!(payload.compare(1, &whole).is_err());
    }
}
