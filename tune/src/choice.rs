//! Which combinations of codec, level and filters to try.

use oxiblosc::registry::CodecInfo;
use oxiblosc::{Chain, CodecId, Pool};

use crate::array::ArraySample;
use crate::budget::{Budget, part};
use crate::candidate::Candidate;
use crate::costs::Costs;
use crate::filters::Filters;
use crate::others::others;
use crate::probe::Probe;
use crate::sample::Sample;
use crate::skipped::{Skipped, Subject};
use crate::steps::{Steps, Stopped};

/// What is chosen from.
pub(crate) struct Chooser<'a> {
    pub(crate) probe: Probe<'a>,
    /// The sample as an array, for codecs that need one.
    pub(crate) array: Option<&'a ArraySample>,
    /// In rising order, at least one.
    pub(crate) levels: &'a [u8],
    /// So many bits of the mantissa of floats are enough.
    pub(crate) mantissa_bits: Option<u8>,
    pub(crate) budget: Budget<'a>,
    pub(crate) steps: &'a Steps<'a>,
}

/// What to try, and what not.
pub(crate) struct Choice {
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) skipped: Vec<Skipped>,
    /// What the first look at each codec suggests.
    pub(crate) costs: Costs,
}

impl Chooser<'_> {
    /// Every lossless codec that can encode, at each level, with the usual lossless filters for items of this size and with
    /// those others that make the beginning of the sample smaller.
    ///
    /// The pieces of the sample have no shape. Codecs for arrays are tried without filters on the array, if there is one;
    /// filters for arrays are left out. If some bits of the mantissa of floats are enough, filters that drop the others are
    /// tried as well.
    pub(crate) fn choose(&self, sample: &Sample) -> Result<Choice, Stopped> {
        let Probe { typesize, registry, .. } = self.probe;
        let (mut skipped, mut costs) = (Vec::new(), Costs::default());
        let (mut codecs, mut of_arrays): (Vec<&CodecInfo>, Vec<Candidate>) = Default::default();
        for info in registry.codecs().map(|entry| entry.info()) {
            self.steps.check()?;
            let begin = self.budget.now();
            let found = match (info.traits.encode, unfit(info.traits.lossy, info.traits.needs_array), self.array) {
                (false, ..) => Err("it only reads".to_owned()),
                // Without any codec there is no result.
                _ if !codecs.is_empty() && !self.has_time() => {
                    skipped.extend(self.out_of_time(Subject::Plugin(info.plugin())));
                    continue;
                }
                (_, Some(Unfit::Array), Some(array)) => self.of_array(info, array).map(|found| of_arrays.extend(found)),
                (_, Some(reason), _) => Err(reason.text().to_owned()),
                (_, None, _) => match self.probe.encoded_len(info, &Filters::none()) {
                    Ok(_) => {
                        codecs.push(info);
                        Ok(())
                    }
                    Err(error) => Err(Chain(&error).to_string()),
                },
            };
            match found {
                Ok(()) => {
                    let took = self.budget.now().saturating_sub(begin);
                    costs.expect(info.id, self.levels[0], self.probe.scaled(took, sample.len()));
                }
                Err(reason) => skipped.push(Skipped::plugin(info.plugin(), reason)),
            }
        }
        let mut filters: Vec<Filters> = Filters::usual(typesize, registry).collect();
        if let Some(codec) = codecs.first() {
            filters.extend(others(self, codec, &mut skipped)?);
        }
        if let Some(bits) = self.mantissa_bits {
            filters.extend(Filters::lossy(typesize, bits, registry));
        }
        let mut candidates = Vec::new();
        for codec in codecs {
            for filters in &filters {
                candidates.extend(self.levels.iter().map(|&level| Candidate::new(codec, filters, level, typesize)));
            }
        }
        candidates.extend(of_arrays);
        Ok(Choice { candidates, skipped, costs })
    }

    /// A codec for arrays, with the meta bytes with which it compresses this one.
    ///
    /// # Errors
    /// Why it does not, with any of them.
    fn of_array(&self, codec: &CodecInfo, array: &ArraySample) -> Result<Vec<Candidate>, String> {
        let Probe { typesize, registry, .. } = self.probe;
        let with = |codec_meta, level| Candidate {
            codec_meta,
            of_array: true,
            ..Candidate::new(codec, &Filters::none(), level, typesize)
        };
        // The side of cells in NDLZ. Nothing says which bytes others take, but for the one that is the default.
        let metas: &[u8] = if codec.id == CodecId::NDLZ { &[4, 8] } else { &[0] };
        let mut found = Vec::new();
        let mut reason = "it does not take this array".to_owned();
        for &meta in metas {
            let tried = array.encode(with(meta, self.levels[0]).params(), registry, &Pool::inline());
            match tried.and_then(|encoded| array.decode(&encoded, registry, &Pool::inline())) {
                Ok(_) => found.extend(self.levels.iter().map(|&level| with(meta, level))),
                Err(error) => reason = error,
            }
        }
        if found.is_empty() { Err(reason) } else { Ok(found) }
    }

    pub(crate) fn has_time(&self) -> bool {
        self.budget.fits(std::time::Duration::ZERO, part::TRIALS)
    }

    pub(crate) fn out_of_time(&self, subject: Subject) -> Option<Skipped> {
        self.budget.whole.map(|whole| Skipped::for_lack_of_time(subject, whole))
    }
}

/// Why a plugin cannot be compared with the others.
#[derive(Clone, Copy)]
pub(crate) enum Unfit {
    Lossy,
    Array,
}

impl Unfit {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Lossy => "it is lossy",
            Self::Array => "it needs the shape of an array",
        }
    }
}

pub(crate) fn unfit(lossy: bool, needs_array: bool) -> Option<Unfit> {
    match (lossy, needs_array) {
        (true, _) => Some(Unfit::Lossy),
        (_, true) => Some(Unfit::Array),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;
    use std::ops::ControlFlow;
    use std::time::Duration;

    use oxiblosc::codec::CodecTraits;
    use oxiblosc::filter::FilterTraits;
    use oxiblosc::registry::FilterInfo;
    use oxiblosc::{FilterId, Registry, provider};

    use super::*;
    use crate::budget::Clock;
    use crate::filters::USUAL_FOR_ITEMS;
    use crate::others::MOST_OTHERS;
    use crate::test_data::{Idle, Ramp};

    const LEVELS: [u8; 3] = [1, 5, 9];

    fn choose(typesize: usize, registry: &Registry, budget: Option<Duration>) -> Choice {
        choose_by(&|| Duration::ZERO, typesize, registry, budget)
    }

    fn choose_by(clock: Clock<'_>, typesize: usize, registry: &Registry, budget: Option<Duration>) -> Choice {
        let data: Vec<u8> = (0..100_000u32).flat_map(|i| (i.wrapping_mul(7919) as u16).to_le_bytes()).collect();
        let sample = Sample::new(&data, typesize);
        let chooser = Chooser {
            probe: Probe::new(&sample, LEVELS[0], registry),
            array: None,
            levels: &LEVELS,
            mantissa_bits: None,
            budget: Budget::new(budget, clock),
            steps: &Steps::new(&|_| ControlFlow::Continue(())),
        };
        chooser.choose(&sample).expect("nobody stops it")
    }

    fn names(choice: &Choice) -> Vec<String> {
        choice.candidates.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn built_in_plugins_are_tried_as_ever() {
        let registry = Registry::builtin().expect("they are linked");
        for (typesize, combinations) in [(1, 3), (2, 5)] {
            let choice = choose(typesize, registry, None);
            assert_eq!(choice.candidates.len(), 5 * combinations * LEVELS.len());
            // Those that only read, lose something or need an array.
            assert!(choice.skipped.iter().all(|skipped| matches!(skipped.subject, Subject::Plugin(_))));
        }
    }

    #[test]
    fn without_time_there_is_one_codec() {
        let registry = Registry::builtin().expect("they are linked");
        let choice = choose(2, registry, Some(Duration::ZERO));
        assert_eq!(choice.candidates.len(), 5 * LEVELS.len());
        let late = choice.skipped.iter().filter(|skipped| skipped.for_lack_of_time);
        assert!(late.clone().count() >= 4, "{:?}", choice.skipped);
        assert!(late.into_iter().all(|skipped| skipped.reason == "the budget of 0 s is used up"));
    }

    /// A quarter of the budget is for this, by a clock that each look at it moves.
    #[test]
    fn what_there_is_no_time_for_is_said() {
        let registry = Registry::builtin().expect("they are linked");
        let now = Cell::new(Duration::ZERO);
        let clock = || {
            now.set(now.get() + Duration::from_millis(100));
            now.get()
        };
        let choice = choose_by(&clock, 2, registry, Some(Duration::from_secs(4)));
        let codecs: BTreeSet<_> = choice.candidates.iter().map(|candidate| candidate.codec_name).collect();
        let name = |skipped: &Skipped| match skipped.subject {
            Subject::Plugin(plugin) if skipped.for_lack_of_time => Some(plugin.name),
            _ => None,
        };
        let late: BTreeSet<_> = choice.skipped.iter().filter_map(name).collect();
        assert!((2..5).contains(&codecs.len()), "{codecs:?}");
        assert!(late.contains("zstd") && late.is_disjoint(&codecs), "{late:?}");
        // All filters of what is tried are tried, at all levels.
        assert_eq!(choice.candidates.len(), codecs.len() * 5 * LEVELS.len());
    }

    #[test]
    fn what_somebody_adds_is_tried_if_it_can_help() {
        let builtin = Registry::builtin().expect("they are linked");
        let mut registry = builtin.clone();
        let mut filter = |id, name, traits, step, fails| {
            let info = FilterInfo::new(FilterId(id), name, traits, provider!());
            registry.add_filter(info, Box::new(Ramp { step, fails })).expect("a free id");
        };
        // This one makes all blocks alike, as 7919 is what the data grows by.
        filter(200, "ramp", FilterTraits::LOSSLESS, 7919, false);
        filter(201, "wrong_ramp", FilterTraits::LOSSLESS, 101, false);
        filter(202, "fails", FilterTraits::LOSSLESS, 0, true);
        filter(203, "loses", FilterTraits::LOSSY, 0, false);
        filter(204, "for_arrays", FilterTraits::LOSSLESS.for_arrays(), 0, false);
        let mut codec = |id, name, traits| {
            let info = CodecInfo::new(CodecId(id), name, traits, provider!());
            registry.add_codec(info, Box::new(Idle)).expect("a free id");
        };
        codec(200, "idle", CodecTraits::PLAIN);
        codec(201, "reads", CodecTraits::PLAIN.decode_only());
        codec(202, "lossy_codec", CodecTraits::PLAIN.lossy());

        let choice = choose(2, &registry, None);
        let tried = names(&choice);
        assert!(names(&choose(2, builtin, None)).iter().all(|usual| tried.contains(usual)));
        assert!(tried.contains(&"idle at level 5, shuffle".to_owned()));
        assert!(tried.contains(&"zstd at level 9, ramp".to_owned()));
        assert!(tried.contains(&"lz4 at level 1, ramp, shuffle".to_owned()));
        for (unused, reason) in [
            ("fails", "not today"),
            ("loses", "it is lossy"),
            ("for_arrays", "it needs the shape of an array"),
            ("reads", "it only reads"),
            ("lossy_codec", "it is lossy"),
        ] {
            assert!(!tried.iter().any(|name| name.contains(unused)), "{unused}");
            let is_it = |skipped: &&Skipped| matches!(skipped.subject, Subject::Plugin(name) if name.name == unused);
            let told = choice.skipped.iter().find(is_it);
            assert!(told.is_some_and(|skipped| skipped.reason.contains(reason)), "{unused}: {told:?}");
        }
        // No more than there is time for.
        assert!(tried.len() <= 6 * (USUAL_FOR_ITEMS.len() + MOST_OTHERS) * LEVELS.len());
    }
}
