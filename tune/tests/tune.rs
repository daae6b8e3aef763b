//! Searches from begin to end.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::time::Duration;

use oxiblosc::{CodecId, Inline, Pool, Registry};
use oxiblosc_tune::{Purpose, Sample, Subject, TuneError, TuneOptions};

/// Items of four bytes that grow, 400 KB of them.
fn items() -> Vec<u8> {
    (0..100_000u32).flat_map(|i| (i * 3 + i % 7).to_le_bytes()).collect()
}

#[test]
fn what_is_found_works_and_is_in_order() {
    let data = items();
    let sample = Sample::new(&data, 4);
    let (seen, last) = (Cell::new(0), Cell::new(None));
    let options = TuneOptions::new().levels([5, 1, 5]).thread_counts([1, 2, 3, 0]);
    let tuned = options.tune_watched(&sample, |progress| {
        assert!(progress.done >= seen.get() && progress.done <= progress.total);
        seen.set(progress.done);
        last.set(Some(progress));
        ControlFlow::Continue(())
    });
    let tuned = tuned.expect("built-in codecs work");
    let results = tuned.measurements();
    let plain = results.iter().filter(|r| r.candidate.block_size.is_none() && r.candidate.chunk_size.is_none());
    // Five codecs, five combinations of filters, two levels.
    assert_eq!(plain.count(), 50);
    assert!(results.len() > 50, "other sizes are tried, too");
    let last = last.get().expect("it was called");
    assert_eq!((last.done, last.total), (results.len(), results.len()));
    assert!(results.windows(2).all(|pair| pair[0].ratio() >= pair[1].ratio()));
    assert!(results.iter().all(|result| result.nbytes == data.len()));
    assert!(tuned.skipped().iter().all(|skipped| matches!(skipped.subject, Subject::Plugin(_))));

    // The front has the best of each kind, and nothing on it is beaten.
    let front: Vec<_> = tuned.front().collect();
    assert_eq!(front[0].ratio(), results[0].ratio());
    let fastest = results.iter().map(|result| result.decode_speed()).fold(0.0, f64::max);
    assert!(front.iter().any(|result| result.decode_speed() == fastest));

    assert_eq!(tuned.recommended().map(|(purpose, _)| purpose).collect::<Vec<_>>(), Purpose::ALL);
    for (purpose, best) in tuned.recommended() {
        let chunk = oxiblosc::compress(&data, &best.candidate.params(), &Inline).expect("it worked before");
        assert_eq!(oxiblosc::decompress(&chunk, &Inline).expect("a chunk"), data, "{purpose}");
        assert_eq!(best.threads.iter().map(|speed| speed.threads).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(best.threads.iter().all(|speed| speed.encode_speed > 1e3 && speed.decode_speed > 1e3), "{best:?}");
    }
    let others = results.iter().filter(|result| !tuned.recommended().any(|(_, best)| best == *result));
    assert!(others.into_iter().all(|result| result.threads.is_empty()));
}

#[test]
fn sizes_and_threads_can_be_left_out() {
    let options = TuneOptions::new().levels([1]).sizes(false).thread_counts([]).pool(&Pool::new(2));
    let tuned = options.tune(&Sample::new(&items(), 4)).expect("built-in codecs work");
    assert_eq!(tuned.measurements().len(), 25);
    assert!(tuned.measurements().iter().all(|result| result.threads.is_empty()));
}

#[test]
fn without_time_one_combination_is_tried() {
    let tuned = TuneOptions::new().budget(Duration::ZERO).tune(&Sample::new(&items(), 4)).expect("one works");
    let [only] = tuned.measurements() else { panic!("{:?}", tuned.measurements()) };
    assert_eq!(only.candidate.level, 1);
    // A part of the sample.
    assert_eq!(only.nbytes, 128 << 10);
    assert!(only.threads.is_empty());
    let last = tuned.skipped().last().expect("the others");
    assert!(last.for_lack_of_time && matches!(last.subject, Subject::Combinations(count) if count >= 14), "{last:?}");
}

/// NDLZ takes arrays of two dimensions, in items of one byte.
#[test]
fn arrays_have_codecs_of_their_own() {
    let data: Vec<u8> = (0..600 * 500).map(|i| (i / 500 / 8 + i % 500 / 8) as u8).collect();
    let options = TuneOptions::new().levels([1]).thread_counts([1, 2]);
    let of_array = |sample: &Sample| {
        let tuned = options.tune(sample).expect("built-in codecs work");
        let names = tuned.measurements().iter().filter(|r| r.candidate.of_array).map(|r| r.candidate.to_string());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    assert_eq!(of_array(&Sample::new(&data, 1)), [""; 0]);
    let sample = Sample::new(&data, 1).array([600, 500], "|u1");
    assert_eq!(of_array(&sample), ["ndlz=4 at level 1", "ndlz=8 at level 1"]);
    // Another size of items: the array is none of these.
    assert_eq!(of_array(&Sample::new(&data, 1).array([600, 250], "<u2")), [""; 0]);
}

#[test]
fn floats_may_lose_what_is_allowed() {
    let data: Vec<u8> = (0..50_000).flat_map(|i| ((i as f32).sqrt() + 1.0).to_le_bytes()).collect();
    let options = TuneOptions::new().levels([1]).sizes(false).max_error(0.001);
    let tuned = options.tune(&Sample::new(&data, 4)).expect("built-in codecs work");
    let lossy = tuned.measurements().iter().filter(|r| r.candidate.filter_names.contains(&"trunc_prec"));
    assert_eq!(lossy.count(), 5 * 3);
    assert_eq!(tuned.best_for(Purpose::Archive).candidate.active_filters().next().map(|(.., bits)| bits), Some(10));
    let of_ints = Sample::new(&data, 4).array([50_000], "<i4");
    assert_eq!(options.tune(&of_ints).err(), Some(TuneError::NoFloats));
    let wrong = TuneOptions::new().max_error(1.5).tune(&Sample::new(&data, 4));
    assert_eq!(wrong.err(), Some(TuneError::MaxError { found: "1.5".into() }));
}

#[test]
fn it_stops_when_told() {
    let calls = RefCell::new(Vec::new());
    let stopped = TuneOptions::new().tune_watched(&Sample::new(&items(), 4), |progress| {
        calls.borrow_mut().push(progress.done);
        if progress.done == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(stopped.err(), Some(TuneError::Stopped));
    let calls = calls.into_inner();
    assert_eq!(calls.iter().filter(|done| **done == 3).count(), 1, "nothing is done after it");
    assert!(calls.len() > 20, "it is called between pieces, too");
}

#[test]
fn nothing_to_try() {
    assert_eq!(TuneOptions::new().tune(&Sample::new(&[], 4)).err(), Some(TuneError::Empty));
    let sample = Sample::new(&items(), 4);
    let reason = |options: TuneOptions| match options.tune(&sample) {
        Err(TuneError::NothingWorks { reason }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(TuneOptions::new().registry(&Registry::empty())), "there is no codec to try");
    assert_eq!(reason(TuneOptions::new().levels([])), "there is no level to try");
    assert!(reason(TuneOptions::new().levels([10])).contains("level"));
    let zstd = TuneOptions::new().levels([0]).tune(&sample).expect("level 0 stores");
    assert!(zstd.measurements().iter().any(|result| result.candidate.codec == CodecId::ZSTD));
}
