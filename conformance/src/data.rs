//! Inputs that have broken filters and codecs before.

/// A named input of a given length.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The kind of data.
    pub name: &'static str,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A pseudo-random sequence, the same on every machine (xorshift64*), good enough to be incompressible.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator with this seed.
    pub const fn new(seed: u64) -> Self {
        // A state of zero would stay zero.
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number in `0..bound`; `bound` must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound as u64) as usize
    }
}

/// One input of `len` bytes of each kind: zeros, one repeated byte, incompressible noise, a rising integer sequence, a
/// smooth float series, long runs between short noise, and text.
pub fn samples(len: usize) -> Vec<Sample> {
    let mut random = Random::new(len as u64);
    let fill =
        |name, mut byte: Box<dyn FnMut(usize) -> u8 + '_>| Sample { name, bytes: (0..len).map(&mut *byte).collect() };
    let text = b"the cat sat on the mat and looked at the other cat that sat on the other mat; ";
    let noise: Vec<u8> = (0..len).map(|_| random.next_u64() as u8).collect();
    let noise = &noise;
    vec![
        fill("zeros", Box::new(|_| 0)),
        fill("constant", Box::new(|_| 0xa5)),
        fill("noise", Box::new(|i| noise[i])),
        fill("integers", Box::new(|i| ((i / 4) as u32).to_le_bytes()[i % 4])),
        fill("floats", Box::new(|i| ((i / 8) as f64 * 0.01).sin().to_le_bytes()[i % 8])),
        fill("runs", Box::new(|i| if i % 1000 < 990 { (i / 1000) as u8 } else { noise[i] })),
        fill("text", Box::new(|i| text[i % text.len()])),
    ]
}

/// Lengths around all small boundaries: tiny ones, around powers of two, around multiples of eight items of the type, and
/// some thousands of bytes that are a multiple of nothing.
pub fn lengths(typesize: usize) -> Vec<usize> {
    let mut lengths =
        vec![1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 1023, 4096, 4099, 70_001];
    let group = 8 * typesize;
    for base in [typesize, group, 16 * group, 33 * group] {
        lengths.extend([base.saturating_sub(1), base, base + 1, base + typesize / 2]);
    }
    lengths.retain(|&n| n > 0);
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_the_length_asked_for() {
        for len in [0, 1, 1000] {
            for sample in samples(len) {
                assert_eq!(sample.bytes.len(), len, "{}", sample.name);
            }
        }
    }

    #[test]
    fn lengths_straddle_a_group_of_eight_items() {
        let lengths = lengths(4);
        for n in [31, 32, 33, 34] {
            assert!(lengths.contains(&n), "{n}");
        }
    }
}
