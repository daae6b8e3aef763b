//! Data sets that follow from the seed of a run: nobody has seen them before, so nothing can have been fitted to them.

use std::f64::consts::TAU;

use crate::synthetic::Random;

/// What a generated set is like. The parameters of each are drawn at random, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Integers that walk at random.
    Walk,
    /// Floating-point numbers with few digits.
    Quantized,
    /// Runs of zeros and ones, or of rare values in zeros.
    Mask,
    /// A few values, some more often than others.
    Categories,
    /// Words of a random vocabulary, as bytes.
    Text,
    /// Structures of several fields of different kinds.
    Records,
    /// Times of events.
    Times,
    /// A smooth field over a grid, and noise.
    Field,
    /// Stretches of the others, one after the other.
    Mixture,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Walk,
        Self::Quantized,
        Self::Mask,
        Self::Categories,
        Self::Text,
        Self::Records,
        Self::Times,
        Self::Field,
        Self::Mixture,
    ];

    /// Name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Walk => "walk",
            Self::Quantized => "quantized",
            Self::Mask => "mask",
            Self::Categories => "categories",
            Self::Text => "text",
            Self::Records => "records",
            Self::Times => "times",
            Self::Field => "field",
            Self::Mixture => "mixture",
        }
    }
}

/// A set that has not been made yet.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    /// What it is like.
    pub family: Family,
    /// Bytes of an item.
    pub typesize: usize,
    number: usize,
    seed: u64,
    items: usize,
}

/// The first `count` recipes of a seed: all families in turn.
pub fn recipes(seed: u64, count: usize) -> Vec<Recipe> {
    let mut random = Random::seeded(seed);
    let recipe = |number: usize| {
        let family = Family::ALL[number % Family::ALL.len()];
        let typesize = match family {
            Family::Text => 1,
            Family::Mask => pick(&mut random, &[1, 1, 2, 4]),
            Family::Quantized | Family::Field => pick(&mut random, &[4, 8]),
            Family::Times => 8,
            Family::Records => pick(&mut random, &[12, 16, 20, 24, 32]),
            Family::Walk | Family::Categories | Family::Mixture => pick(&mut random, &[1, 2, 4, 8]),
        };
        // From 200 kB to 6 MB, as likely between 1 and 2 as between 2 and 4; hardly ever a whole number of blocks.
        let bytes = 200e3 * 30f64.powf(random.unit());
        Recipe { family, typesize, number, seed: random.next(), items: bytes as usize / typesize }
    };
    (0..count).map(recipe).collect()
}

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len())]
}

impl Recipe {
    /// Its name: the family, its number in the run, and the bits of an item.
    pub fn name(&self) -> String {
        format!("{}-{}-{}", self.family.name(), self.number, 8 * self.typesize)
    }

    /// Makes the items.
    pub fn generate(&self) -> Vec<u8> {
        let mut random = Random::seeded(self.seed);
        let mut out = Vec::with_capacity(self.items * self.typesize);
        while out.len() < self.items * self.typesize {
            let left = self.items - out.len() / self.typesize;
            match self.family {
                Family::Mixture => {
                    let of = [Family::Walk, Family::Mask, Family::Categories, Family::Field, Family::Walk];
                    let family = pick(&mut random, &of);
                    let most = 1 << pick(&mut random, &[10, 13, 16, 18]);
                    let items = left.min(1 + random.below(most));
                    stretch(family, self.typesize, items, &mut random, &mut out);
                }
                family => stretch(family, self.typesize, left, &mut random, &mut out),
            }
        }
        out.truncate(self.items * self.typesize);
        out
    }
}

/// Appends `items` items of a family with parameters of its own.
fn stretch(family: Family, typesize: usize, items: usize, random: &mut Random, out: &mut Vec<u8>) {
    match family {
        Family::Walk => walk(typesize, items, random, out),
        Family::Quantized => quantized(typesize, items, random, out),
        Family::Mask => mask(typesize, items, random, out),
        Family::Categories => categories(typesize, items, random, out),
        Family::Text => text(items, random, out),
        Family::Records => records(typesize, items, random, out),
        Family::Times => times(items, random, out),
        Family::Field => field(typesize, items, random, out),
        Family::Mixture => {}
    }
}

/// The low bytes of `value`; an item of more than eight is filled with zeros.
fn push(value: i64, typesize: usize, out: &mut Vec<u8>) {
    let bytes = value.to_le_bytes();
    out.extend((0..typesize).map(|i| bytes.get(i).copied().unwrap_or(0)));
}

fn push_float(value: f64, typesize: usize, out: &mut Vec<u8>) {
    match typesize {
        4 => out.extend((value as f32).to_le_bytes()),
        8 => out.extend(value.to_le_bytes()),
        _ => push(value as i64, typesize, out),
    }
}

fn walk(typesize: usize, items: usize, random: &mut Random, out: &mut Vec<u8>) {
    // Steps of up to 2^bits, some of them zero; now and then a jump.
    let step = 1i64 << random.below(typesize * 6);
    let (still, jump) = (random.unit().powi(2), 0.01 * random.unit().powi(3));
    let mut value = random.next() as i64 >> (64 - 7 * typesize.min(8));
    for _ in 0..items {
        let dice = random.unit();
        if dice < jump {
            value = value.wrapping_add(step.wrapping_mul((random.next() >> 50) as i64));
        } else if dice > still {
            value = value.wrapping_add((random.uniform() * step as f64).round() as i64);
        }
        push(value, typesize, out);
    }
}

fn quantized(typesize: usize, items: usize, random: &mut Random, out: &mut Vec<u8>) {
    let digits = 10f64.powi(random.below(5) as i32);
    let (base, spread) = (1000.0 * random.uniform(), 100.0 * random.unit());
    let inertia = random.unit().sqrt();
    let mut value = 0.0;
    for _ in 0..items {
        value = inertia * value + spread * random.normal();
        push_float(((base + value) * digits).round() / digits, typesize, out);
    }
}

fn mask(typesize: usize, items: usize, random: &mut Random, out: &mut Vec<u8>) {
    let lengths = [4.0, 1.0].map(|scale| 1.0 + scale * 2f64.powf(10.0 * random.unit()));
    let value = if random.below(2) == 0 { 1 } else { random.next() as i64 & 0x7fff };
    let (mut on, mut left) = (false, 0usize);
    for _ in 0..items {
        if left == 0 {
            on = !on;
            // Lengths of a geometric distribution.
            left = 1 + (-lengths[usize::from(on)] * (1.0 - random.unit()).ln()) as usize;
        }
        left -= 1;
        push(if on { value } else { 0 }, typesize, out);
    }
}

fn categories(typesize: usize, items: usize, random: &mut Random, out: &mut Vec<u8>) {
    let values: Vec<i64> = (0..2 + random.below(60)).map(|_| random.next() as i64 >> random.below(60)).collect();
    // The larger the exponent, the more often come the first of them.
    let (skew, again) = (1.0 + 3.0 * random.unit(), random.unit().powi(2));
    let mut value = values[0];
    for _ in 0..items {
        if random.unit() > again {
            value = values[(random.unit().powf(skew) * values.len() as f64) as usize];
        }
        push(value, typesize, out);
    }
}

fn text(bytes: usize, random: &mut Random, out: &mut Vec<u8>) {
    let letters = 20 + random.below(40);
    let word = |random: &mut Random| -> Vec<u8> {
        let letter = |random: &mut Random| b'A' + (random.unit() * random.unit() * letters as f64) as u8;
        (0..2 + random.below(9)).map(|_| letter(random)).collect()
    };
    let words: Vec<Vec<u8>> = (0..200 + random.below(5000)).map(|_| word(random)).collect();
    // What follows a word is one of a few, mostly.
    let next: Vec<[usize; 4]> = words.iter().map(|_| [(); 4].map(|()| random.below(words.len()))).collect();
    let (bound, skew) = (random.unit(), 1.0 + 3.0 * random.unit());
    let (mut at, end) = (0, out.len() + bytes);
    while out.len() < end {
        out.extend_from_slice(&words[at]);
        out.push(if random.below(12) == 0 { b'\n' } else { b' ' });
        at = match random.unit() < bound {
            true => next[at][random.below(4)],
            false => (random.unit().powf(skew) * words.len() as f64) as usize,
        };
    }
    out.truncate(end);
}

fn records(typesize: usize, items: usize, random: &mut Random, out: &mut Vec<u8>) {
    // Fields of four bytes: each column is made on its own, then woven.
    let families = [Family::Walk, Family::Quantized, Family::Mask, Family::Categories, Family::Field];
    let columns: Vec<Vec<u8>> = (0..typesize / 4)
        .map(|_| {
            let mut column = Vec::with_capacity(4 * items);
            stretch(pick(random, &families), 4, items, random, &mut column);
            column
        })
        .collect();
    for row in 0..items {
        columns.iter().for_each(|column| out.extend_from_slice(&column[4 * row..4 * row + 4]));
    }
}

fn times(items: usize, random: &mut Random, out: &mut Vec<u8>) {
    let unit = pick(random, &[1i64, 1_000, 1_000_000, 1_000_000_000]);
    let step = unit * (1 + random.below(60) as i64);
    let (jitter, pause) = (step as f64 * random.unit().powi(4), 0.01 * random.unit().powi(2));
    let mut now = 1_500_000_000 * unit + (random.next() >> 40) as i64;
    for _ in 0..items {
        now += step + if random.unit() < pause { 1000 * step } else { 0 };
        push(now + (jitter * random.uniform()) as i64, 8, out);
    }
}

fn field(typesize: usize, items: usize, random: &mut Random, out: &mut Vec<u8>) {
    let width = 16 + random.below(2000);
    let waves: Vec<[f64; 4]> = (0..4)
        .map(|_| {
            let period = 8.0 * 200f64.powf(random.unit());
            let (sin, cos) = (TAU * random.unit()).sin_cos();
            [period.sqrt() * random.unit(), sin * TAU / period, cos * TAU / period, TAU * random.unit()]
        })
        .collect();
    let scale = if matches!(typesize, 4 | 8) && random.below(4) > 0 {
        1.0
    } else {
        2f64.powi(6 * typesize.min(4) as i32) / 100.0
    };
    let noise = 10f64.powf(-7.0 * random.unit());
    for i in 0..items {
        let (x, y) = ((i % width) as f64, (i / width) as f64);
        let sum: f64 = waves.iter().map(|[height, dx, dy, phase]| height * (x * dx + y * dy + phase).sin()).sum();
        push_float(scale * (sum + noise * random.normal()), typesize, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_seed_makes_other_bytes() {
        let [first, second] = [1, 2].map(|seed| recipes(seed, Family::ALL.len()));
        for (a, b) in first.iter().zip(&second) {
            assert_eq!(a.family, b.family);
            assert_ne!(a.generate(), b.generate(), "{}", a.name());
        }
    }

    #[test]
    fn neighbouring_seeds_have_nothing_in_common() {
        let mut lengths: Vec<_> = (0..50).map(|seed| recipes(seed, 1)[0].items).collect();
        lengths.sort_unstable();
        lengths.dedup();
        assert!(lengths.len() > 45);
    }
}
