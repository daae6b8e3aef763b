//! One case from beginning to end.

use oxiblosc::Summary;
use oxiblosc::blocking::{FrameWriter, NdWriter};
use oxiblosc_conformance::data::Random;
use oxiblosc_conformance::target::{Faults, no_leftovers};

use crate::append;
use crate::array::Shape;
use crate::case::{Case, Door, Fault};
use crate::check::{check, nothing_or_all};
use crate::intake::{Outcome, fill};
use crate::payload::Payload;
use crate::place::{self, BoxTarget, Place};

/// The bytes of a case.
pub(crate) fn payload(case: &Case) -> Payload {
    let len = if case.way.is_array() { Shape::of(case).nbytes() } else { case.nbytes() };
    Payload::new(case.data, len, case.chunk_size() as u64, case.seed)
}

/// What goes wrong below the target of a case.
fn faults(case: &Case) -> Faults {
    let mut random = Random::new(!case.seed);
    // Among the first calls, or among the last of many.
    let most = 1 << random.below(11);
    let call = random.below(most) as u64;
    match case.fault {
        Fault::None => Faults::none(),
        Fault::Slow => Faults::slow(3, [7000, 100_000, usize::MAX][random.below(3)], case.seed),
        Fault::Once => Faults::failing(call..call + 1),
        Fault::Always => Faults::failing(call..u64::MAX),
    }
}

/// Writes, reads, compares. The number of errors on the way.
pub(crate) fn run(case: &Case) -> Result<usize, String> {
    let (payload, faults) = (payload(case), faults(case));
    let mut errors = 0;
    if case.way.is_append() {
        return append::run(case, &payload, &faults);
    }
    if let Some((place, summary)) = write(case, &payload, &faults, &mut errors)? {
        check(&place, case, &payload, Some(&summary))?;
    }
    Ok(errors)
}

/// Writes the frame of a case, and what is there afterwards; `None` when it could not be written and, as it must be then,
/// nothing is there.
pub(crate) fn write(
    case: &Case,
    payload: &Payload,
    faults: &Faults,
    errors: &mut usize,
) -> Result<Option<(Place, Summary)>, String> {
    let (target, mut place) = place::create(case, faults);
    let outcome = match (case.way.is_array(), case.door) {
        (false, Door::Blocking) => {
            let mut writer = FrameWriter::with_target(target, case.options()).map_err(text)?;
            fill(&mut writer, case, payload, errors)?
        }
        (false, _) => fill(&mut case.options().sink(target).map_err(text)?, case, payload, errors)?,
        (true, door) => {
            let options = Shape::of(case).options(case);
            match door {
                Door::Blocking => {
                    let mut writer: NdWriter<BoxTarget> = NdWriter::with_target(target, options).map_err(text)?;
                    fill(&mut writer, case, payload, errors)?
                }
                _ => fill(&mut options.sink(target).map_err(text)?, case, payload, errors)?,
            }
        }
    };
    faults.clear();
    let there = place.settle()?;
    match outcome {
        Outcome::Closed(summary) if there => {
            no_leftovers(|| place.leftovers())?;
            Ok(Some((place, summary)))
        }
        Outcome::Closed(_) => Err("the frame is not complete".into()),
        Outcome::GivenUp { .. } if !there => Ok(None),
        Outcome::GivenUp { all_taken } => nothing_or_all(&place, case, payload, all_taken).map(|()| None),
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
