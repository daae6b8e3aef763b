//! Cases that bring every value of every dimension together with every value of every other one.

use std::collections::HashSet;

use oxiblosc_conformance::data::Random;

use crate::case::{Case, Chunk, Data, Door, Drops, Encode, Extras, Fault, Item, Mode, Piece, Size, Threads, Way};

const DIMENSIONS: usize = 13;
/// Cases that are drawn for each one that is taken: the one with the most new pairs is.
const CANDIDATES: usize = 40;
/// A frame of more chunks takes its time and shows nothing that one of so many does not.
const MOST_CHUNKS: u64 = 6000;

/// Which value of each dimension.
type Choice = [usize; DIMENSIONS];
/// Two dimensions and a value of each.
type Pair = (usize, usize, usize, usize);

/// Draws cases of these sizes.
pub(crate) struct Pairs {
    sizes: &'static [Size],
    random: Random,
    left: HashSet<Pair>,
}

impl Pairs {
    pub(crate) fn new(sizes: &'static [Size], seed: u64) -> Self {
        let mut this = Self { sizes, random: Random::new(seed), left: HashSet::new() };
        this.begin();
        this
    }

    /// How many pairs no case has had yet.
    pub(crate) fn left(&self) -> usize {
        self.left.len()
    }

    /// Starts again: the next cases cover all pairs once more.
    pub(crate) fn begin(&mut self) {
        let lens = self.lens();
        for a in 0..DIMENSIONS {
            for b in a + 1..DIMENSIONS {
                self.left.extend((0..lens[a]).flat_map(|x| (0..lens[b]).map(move |y| (a, x, b, y))));
            }
        }
    }

    /// The next case; `None` when all pairs have been covered.
    pub(crate) fn next(&mut self) -> Option<Case> {
        let lens = self.lens();
        loop {
            // The same one in every run: the order of a set is not.
            let wanted = *self.left.iter().min()?;
            let mut best: Option<(usize, Choice)> = None;
            for _ in 0..CANDIDATES {
                let mut choice: Choice = std::array::from_fn(|i| self.random.below(lens[i]));
                (choice[wanted.0], choice[wanted.2]) = (wanted.1, wanted.3);
                if self.case(&choice, 0).nbytes() / self.case(&choice, 0).chunk_size() as u64 > MOST_CHUNKS {
                    continue;
                }
                let new = pairs(&choice).filter(|pair| self.left.contains(pair)).count();
                if best.is_none_or(|(most, _)| new > most) {
                    best = Some((new, choice));
                }
            }
            let Some((_, choice)) = best else {
                // The two do not go together.
                self.left.remove(&wanted);
                continue;
            };
            for pair in pairs(&choice) {
                self.left.remove(&pair);
            }
            let seed = self.random.next_u64() % 1_000_000;
            return Some(self.case(&choice, seed));
        }
    }

    fn lens(&self) -> Choice {
        [
            Way::ALL.len(),
            Mode::ALL.len(),
            self.sizes.len(),
            Piece::ALL.len(),
            Threads::ALL.len(),
            Chunk::ALL.len(),
            Item::ALL.len(),
            Data::ALL.len(),
            Fault::ALL.len(),
            Drops::ALL.len(),
            Door::ALL.len(),
            Encode::ALL.len(),
            Extras::ALL.len(),
        ]
    }

    fn case(&self, choice: &Choice, seed: u64) -> Case {
        let [way, mode, size, piece, threads, chunk, item, data, fault, drops, door, encode, extras] = *choice;
        Case {
            way: Way::ALL[way],
            mode: Mode::ALL[mode],
            size: self.sizes[size],
            piece: Piece::ALL[piece],
            threads: Threads::ALL[threads],
            chunk: Chunk::ALL[chunk],
            item: Item::ALL[item],
            data: Data::ALL[data],
            fault: Fault::ALL[fault],
            drops: Drops::ALL[drops],
            door: Door::ALL[door],
            encode: Encode::ALL[encode],
            extras: Extras::ALL[extras],
            seed,
        }
    }
}

fn pairs(choice: &Choice) -> impl Iterator<Item = Pair> + '_ {
    (0..DIMENSIONS).flat_map(move |a| (a + 1..DIMENSIONS).map(move |b| (a, choice[a], b, choice[b])))
}

#[test]
fn every_pair_is_in_a_case() {
    const SIZES: &[Size] = &[Size::Empty, Size::Several, Size::Mib20];
    let mut generator = Pairs::new(SIZES, 1);
    let cases: Vec<Case> = std::iter::from_fn(|| generator.next()).collect();
    assert_eq!(generator.left(), 0);
    assert!(cases.len() < 300, "{} cases", cases.len());
    for &way in Way::ALL {
        for &fault in Fault::ALL {
            assert!(cases.iter().any(|case| case.way == way && case.fault == fault), "{way:?} {fault:?}");
        }
        for &size in SIZES {
            assert!(cases.iter().any(|case| case.way == way && case.size == size), "{way:?} {size:?}");
        }
    }
    let mut again = Pairs::new(SIZES, 1);
    assert!(std::iter::from_fn(|| again.next()).eq(cases), "the same cases in every run");
}
