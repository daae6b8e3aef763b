//! Plugins that take too much time or memory.

use std::time::{Duration, Instant};

use oxiblosc_conformance::Promise;
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};

use crate::rle::{Flaw, Rle};
use crate::{HEAP, assert_broken, check_codec, check_filter, with_codec, with_filter};

/// What damaged data makes a plugin do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// Processor time without end.
    Time,
    /// Time without doing anything.
    Sleep,
    /// As many bytes as the data says.
    Memory,
    /// Bytes without end.
    MoreAndMore,
    /// More than there are addresses.
    Absurd,
    /// A stack without end.
    Stack,
}

/// A limit that no call of these plugins comes near, unless it has no end.
const SHORT: Duration = Duration::from_millis(400);

impl Takes {
    fn take(self, asked: u32) {
        // Threads that are left behind do not run for as long as the other tests.
        let begun = Instant::now();
        let lasts = || begun.elapsed() < Duration::from_secs(8);
        match self {
            Self::Time => while lasts() {},
            Self::Sleep => {
                while lasts() {
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
            Self::Memory => drop(std::hint::black_box(vec![0u8; asked as usize])),
            Self::Absurd => drop(std::hint::black_box(vec![0u8; (asked as usize) << 20])),
            Self::Stack => drop(std::hint::black_box(deeper(1))),
            Self::MoreAndMore => {
                let mut taken = Vec::new();
                loop {
                    taken.push(std::hint::black_box(vec![1u8; 1 << 20]));
                }
            }
        }
    }
}

/// Calls itself without end, as a recursive decoder does on nested data.
#[expect(unconditional_recursion, reason = "that is the flaw")]
fn deeper(depth: u64) -> u64 {
    std::hint::black_box(deeper(std::hint::black_box(depth + 1)) + depth)
}

#[derive(Clone)]
struct Greedy(Rle, Takes);

impl Codec for Greedy {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.0.compress(ctx, src, dst)
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        if let Some(len) = src.get(1..5) {
            let asked = u32::from_le_bytes(len.try_into().unwrap());
            if asked as usize > 1 << 28 {
                self.1.take(asked);
            }
        }
        self.0.decompress(ctx, src, dst)
    }
}

#[derive(Clone)]
struct GreedyFilter(Takes);

impl Filter for GreedyFilter {
    fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        dst.copy_from_slice(src);
        Ok(())
    }

    fn backward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        if src.starts_with(&[0xff, 0xff, 0xff]) {
            self.0.take(u32::MAX);
        }
        dst.copy_from_slice(src);
        Ok(())
    }
}

#[test]
fn calls_that_do_not_end_are_reported_and_not_waited_for() {
    for takes in [Takes::Time, Takes::Sleep] {
        let registry = with_codec(CodecTraits::PLAIN, Greedy(Rle::new(Flaw::None), takes));
        let report = check_codec(&registry).time_limit(SHORT).run().unwrap();
        assert_broken(&format!("{takes:?}"), &report, Promise::Time);
        assert!(report.failure(Promise::Time.name()).unwrap().contains("input: "), "{report}");
    }
    let registry = with_filter(FilterTraits::LOSSLESS, GreedyFilter(Takes::Time));
    assert_broken("filter", &check_filter(&registry).time_limit(SHORT).run().unwrap(), Promise::Time);
}

#[test]
fn memory_that_damaged_data_asks_for_is_reported() {
    // Counted by the allocator: exactly, and beside other tests.
    let registry = with_codec(CodecTraits::PLAIN, Greedy(Rle::new(Flaw::None), Takes::Memory));
    let check = check_codec(&registry).counting(&HEAP).memory_limit(1 << 29);
    assert_broken("codec", &check.run().unwrap(), Promise::Memory);
    let registry = with_filter(FilterTraits::LOSSLESS, GreedyFilter(Takes::Memory));
    let check = check_filter(&registry).counting(&HEAP).memory_limit(1 << 29);
    assert_broken("filter", &check.run().unwrap(), Promise::Memory);
}

/// Without such an allocator it is the system that tells.
#[test]
#[cfg(target_os = "linux")]
fn memory_is_measured_without_help() {
    child("resources::memory_in_a_child", true, "");
}

/// A call that never stops taking memory cannot be stopped: the program ends, with the report.
#[test]
#[cfg(target_os = "linux")]
fn memory_without_end_ends_the_program_with_a_report() {
    child("resources::more_and_more_in_a_child", false, "BROKEN memory is in proportion");
}

const CHILD: &str = "OXIBLOSC_KIT_CHILD";

/// Runs a test of this file in a process of its own, whose memory no other test has used.
fn child(test: &str, succeeds: bool, says: &str) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.success(), succeeds, "{said}\n{}", String::from_utf8_lossy(&output.stdout));
    assert!(said.contains(says), "{said}");
}

#[test]
fn memory_in_a_child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let registry = with_codec(CodecTraits::PLAIN, Greedy(Rle::new(Flaw::None), Takes::Memory));
    assert_broken("codec", &check_codec(&registry).run().unwrap(), Promise::Memory);
}

#[test]
fn more_and_more_in_a_child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let registry = with_codec(CodecTraits::PLAIN, Greedy(Rle::new(Flaw::None), Takes::MoreAndMore));
    let report = check_codec(&registry).memory_limit(64 << 20).time_limit(Duration::from_secs(60)).run().unwrap();
    unreachable!("{report}");
}

/// In a child the end of the process is a failure like others.
#[cfg(target_os = "linux")]
fn ends_the_process(takes: Takes, promise: Promise, says: &str, test: &str) {
    let registry = with_codec(CodecTraits::PLAIN, Greedy(Rle::new(Flaw::None), takes));
    let check = check_codec(&registry).memory_limit(64 << 20).time_limit(Duration::from_secs(60)).in_child(test);
    let report = check.run().unwrap();
    assert_broken(&format!("{takes:?}"), &report, promise);
    let failure = report.failure(promise.name()).unwrap();
    assert!(failure.contains(says) && failure.contains("input: "), "{report}");
}

#[test]
#[cfg(target_os = "linux")]
fn an_absurd_allocation_is_reported() {
    let test = "resources::an_absurd_allocation_is_reported";
    ends_the_process(Takes::Absurd, Promise::Memory, "memory allocation of ", test);
}

#[test]
#[cfg(target_os = "linux")]
fn memory_without_end_is_reported() {
    let test = "resources::memory_without_end_is_reported";
    ends_the_process(Takes::MoreAndMore, Promise::Memory, "MiB taken, and no end", test);
}

#[test]
#[cfg(target_os = "linux")]
fn a_stack_without_end_is_reported() {
    let test = "resources::a_stack_without_end_is_reported";
    ends_the_process(Takes::Stack, Promise::Damage, "ended by signal", test);
}

#[test]
fn a_child_without_the_test_is_a_failure() {
    let registry = with_codec(CodecTraits::PLAIN, Rle::new(Flaw::None));
    let report = check_codec(&registry).in_child("no_such_test").run().unwrap();
    assert!(report.to_string().contains("there is no test \"no_such_test\""), "{report}");
}

#[test]
fn what_survives_in_a_child_is_checked_here() {
    let registry = with_codec(CodecTraits::PLAIN, Rle::new(Flaw::None));
    let check = check_codec(&registry).in_child("resources::what_survives_in_a_child_is_checked_here");
    check.run().unwrap().assert_passed();
}
