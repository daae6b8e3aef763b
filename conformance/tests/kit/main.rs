//! The kit finds what it is there to find: each faulty plugin here breaks one promise, and correct ones pass.

mod codecs;
mod correct;
mod filters;
mod keyed;
mod pairs;
mod ranged;
mod resources;
mod rle;
mod transforms;

use oxiblosc_conformance::budget::{self, Heap};
use oxiblosc_conformance::{CodecCheck, FilterCheck, Promise, Report};
use oxiblosc_core::codec::{Codec, CodecTraits};
use oxiblosc_core::filter::{Filter, FilterTraits};
use oxiblosc_core::registry::{CodecInfo, FilterInfo};
use oxiblosc_core::{CodecId, FilterId, Registry, provider};

/// Counts what plugins take, for the tests that ask.
#[global_allocator]
static HEAP: Heap = budget::heap();

const CODEC: CodecId = CodecId(200);
const FILTER: FilterId = FilterId(200);

fn with_codec(traits: CodecTraits, codec: impl Codec + 'static) -> Registry {
    let mut registry = Registry::empty();
    registry.add_codec(CodecInfo::new(CODEC, "made", traits, provider!()), Box::new(codec)).unwrap();
    registry
}

fn with_filter(traits: FilterTraits, filter: impl Filter + 'static) -> Registry {
    let mut registry = Registry::empty();
    registry.add_filter(FilterInfo::new(FILTER, "made", traits, provider!()), Box::new(filter)).unwrap();
    registry
}

fn check_codec(registry: &Registry) -> CodecCheck<'_> {
    CodecCheck::new(registry, CODEC)
}

fn check_filter(registry: &Registry) -> FilterCheck<'_> {
    FilterCheck::new(registry, FILTER)
}

/// The promise is broken, the report says so once, and says with what.
fn find(what: &str, report: &Report, promise: Promise) -> Result<(), String> {
    let name = promise.name();
    if !report.broken().any(|broken| broken == name) {
        return Err(format!("{what}: expected {name:?} to be broken:\n{report}"));
    }
    let once = report.to_string().matches(&format!("BROKEN {name}")).count() == 1;
    if !once || report.failure(name).is_none_or(str::is_empty) {
        return Err(format!("{what}: expected one failure, and what it is:\n{report}"));
    }
    Ok(())
}

#[track_caller]
fn assert_broken(what: &str, report: &Report, promise: Promise) {
    find(what, report, promise).unwrap_or_else(|missed| panic!("{missed}"));
}

/// Checks a list of flaws, and says which of them were missed.
#[track_caller]
fn assert_all_found<F: std::fmt::Debug + Copy>(flaws: &[(F, Promise)], check: impl Fn(F) -> Report) {
    let found = |&(flaw, promise): &(F, Promise)| find(&format!("{flaw:?}"), &check(flaw), promise).err();
    let missed: Vec<String> = flaws.iter().filter_map(found).collect();
    assert!(missed.is_empty(), "{} of {} were missed\n{}", missed.len(), flaws.len(), missed.join("\n"));
}

/// Long enough for other threads to come by.
fn dawdle() {
    let begun = std::time::Instant::now();
    while begun.elapsed() < std::time::Duration::from_micros(10) {
        std::hint::spin_loop();
    }
}

#[test]
fn an_id_that_is_not_there_is_an_error() {
    assert!(check_filter(&Registry::empty()).run().is_err());
    assert!(check_codec(&Registry::empty()).run().is_err());
}

#[test]
fn reports_have_the_smallest_input_and_what_it_takes_to_see_it_again() {
    let registry = with_filter(FilterTraits::LOSSLESS, transforms::Transform(transforms::Flaw::LongBlocks));
    let report = check_filter(&registry).seed(42).run().unwrap();
    let failure = report.failure(Promise::Restores.name()).expect("it is broken").to_owned();
    for part in ["byte ", "70001 zeros", "shrunk from", "type size", "meta 0"] {
        assert!(failure.contains(part), "{part}: {report}");
    }
    assert!(report.to_string().contains("seed 42"), "{report}");
    let again = check_filter(&registry).seed(42).run().unwrap();
    assert_eq!(report.to_string(), again.to_string());
}
