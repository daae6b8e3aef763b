//! The four synthetic data sets. Each is the same on every machine.

use std::f64::consts::TAU;

/// xorshift64*: the same sequence everywhere, fast, and not compressible.
pub(crate) struct Random(u64);

impl Random {
    /// Sequences of neighbouring seeds have nothing in common: the seed goes through the finalizer of SplitMix64.
    pub(crate) fn seeded(seed: u64) -> Self {
        let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // Zero would stay zero.
        Self((bits ^ (bits >> 31)).max(1))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Uniform in -1..1.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Uniform in 0..1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..`end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.unit() * end as f64) as usize
    }

    /// Close to a normal distribution of variance 1: the sum of three uniform numbers of variance 1/3.
    pub(crate) fn normal(&mut self) -> f64 {
        self.uniform() + self.uniform() + self.uniform()
    }
}

/// A sum of slow waves in float64: neighbours differ in their low mantissa bytes only.
pub(crate) fn smooth_f64(bytes: usize) -> Vec<u8> {
    // Each wave is a rotation by a fixed angle, so a step costs a complex product instead of a sine.
    let mut waves = [(1.0, 4096.0), (0.25, 611.0), (0.03, 53.0)]
        .map(|(amplitude, period): (f64, f64)| (amplitude, 0.0, (TAU / period).cos(), (TAU / period).sin()));
    collect(bytes, |_| {
        let mut sum = 0.0;
        for (re, im, cos, sin) in &mut waves {
            (*re, *im) = (*re * *cos - *im * *sin, *re * *sin + *im * *cos);
            sum += *re;
        }
        sum.to_le_bytes()
    })
}

/// A wave with noise in the upper half of the mantissa, float32: what a sensor delivers.
pub(crate) fn noisy_f32(bytes: usize) -> Vec<u8> {
    let mut random = Random(0x5eed_0001);
    let (mut re, mut im) = (1.0, 0.0);
    let (sin, cos) = (TAU / 2000.0f64).sin_cos();
    collect(bytes, |_| {
        (re, im) = (re * cos - im * sin, re * sin + im * cos);
        ((300.0 + 20.0 * re + 0.5 * random.normal()) as f32).to_le_bytes()
    })
}

/// Nanoseconds since 1970 of events that come every millisecond, give or take some microseconds, with a pause now and
/// then; int64.
pub(crate) fn timestamps_i64(bytes: usize) -> Vec<u8> {
    let mut random = Random(0x5eed_0002);
    let mut now = 1_700_000_000_000_000_000i64;
    collect(bytes, |_| {
        let bits = random.next();
        now += 1_000_000 + (bits & 0xfff) as i64;
        if bits >> 52 == 0 {
            now += 3_600_000_000_000;
        }
        now.to_le_bytes()
    })
}

/// A 12-bit camera image, 2048 pixels wide, in uint16: dark background, bright spots, noise that grows with the signal.
pub(crate) fn image_u16(bytes: usize) -> Vec<u8> {
    const WIDTH: usize = 2048;
    let mut random = Random(0x5eed_0003);
    let mut spots = [(0.0f64, 0.0f64, 0.0f64); 4];
    collect(bytes, |i| {
        let (x, y) = (i % WIDTH, i / WIDTH);
        if x == 0 && y % 256 == 0 {
            // A new row of spots: one in each quarter of the width.
            for (quarter, spot) in spots.iter_mut().enumerate() {
                let column = (quarter * 512 + 256) as f64 + 150.0 * random.uniform();
                *spot = (column, y as f64 + 128.0 + 60.0 * random.uniform(), 1500.0 + 1000.0 * random.uniform());
            }
        }
        let (cx, cy, height) = spots[x / 512];
        let distance = (x as f64 - cx).powi(2) + (y as f64 - cy).powi(2);
        let signal = 100.0 + height / (1.0 + distance / 900.0);
        ((signal + random.normal() * signal.sqrt() * 0.5) as u16).min(4095).to_le_bytes()
    })
}

/// `bytes` bytes of items made by `item`, which is told the item's number.
fn collect<const N: usize>(bytes: usize, mut item: impl FnMut(usize) -> [u8; N]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.next_multiple_of(N));
    (0..bytes.div_ceil(N)).for_each(|i| out.extend_from_slice(&item(i)));
    out.truncate(bytes);
    out
}
