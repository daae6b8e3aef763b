//! `oxiblosc tune`.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, run, run_with};

#[test]
fn recommendations_are_options_of_compress() {
    let dir = tempdir().expect("a directory");
    let plot = dir.path().join("plot.svg");
    let data = array_bytes("fmri.npy", 100_001);
    let output = run_with(args!["tune", "-", "--typesize", "2", "--json", "--plot", &plot], &data).ok();
    let told: Value = serde_json::from_slice(&output).expect("JSON");
    assert_eq!((&told["typesize"], &told["sample_bytes"]), (&2.into(), &100_001.into()));
    let results = told["results"].as_array().expect("a list");
    // Five codecs, five choices of filters, three levels; and the best of them with other blocks.
    let with_sizes = |result: &&Value| !result["block_size"].is_null() || !result["chunk_size"].is_null();
    let refined = results.iter().filter(with_sizes).count();
    assert_eq!(results.len() - refined, 75);
    assert!(refined > 0);
    assert!(results.iter().all(|result| result["ratio"].as_f64().is_some_and(|ratio| ratio > 0.9)));
    let svg = fs::read_to_string(&plot).expect("a file");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<title>").count(), results.len() + 5 + 5);
    // What is recommended has a ring, and what nothing beats a line.
    assert_eq!((svg.matches("<circle ").count(), svg.matches("<polyline ").count()), (4, 1));

    for row in results.iter().step_by(7).chain(told["recommended"].as_array().expect("a list")) {
        let options = row["options"].as_str().expect("text").split(' ').map(Into::into);
        let frame = run_with(args!["compress", "-", "-"].into_iter().chain(options), &data).ok();
        assert!(run_with(args!["cat", "-"], &frame).ok() == data, "{row}");
    }
}

/// A codec for arrays is tried on the first rows of an array, and on nothing else.
#[test]
fn codecs_for_arrays_are_tried_on_arrays() {
    let dir = tempdir().expect("a directory");
    let (input, frame) = (dir.path().join("steps.npy"), dir.path().join("steps.b2nd"));
    let mut header = b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (600, 500), }".to_vec();
    header.resize(127, b' ');
    header.push(b'\n');
    let items: Vec<u8> = (0..600 * 500).map(|i| (i / 500 / 8 + i % 500 / 8) as u8).collect();
    fs::write(&input, [&header[..], &items].concat()).expect("a file");
    let told: Value = serde_json::from_slice(&run(args!["tune", &input, "--json"]).ok()).expect("JSON");
    let rows: Vec<_> =
        told["results"].as_array().expect("a list").iter().filter(|row| row["codec"] == "ndlz").collect();
    // Two sizes of cells, at three levels.
    assert_eq!(rows.len(), 6, "{told:#}");
    for row in rows {
        assert!(row["ratio"].as_f64().is_some_and(|ratio| ratio > 2.0), "{row}");
        let options = row["options"].as_str().expect("text").split(' ').map(Into::into);
        run(args!["compress", "-q", &input, &frame].into_iter().chain(options)).ok();
        assert!(run(args!["cat", &frame]).ok() == items, "{row}");
    }
}

/// What is recommended has its speeds with 1, 2, 4 and more threads, up to the number of processors.
#[test]
fn more_threads_are_tried_with_what_is_recommended() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts: Vec<usize> = (0..16).map(|bit| 1 << bit).take_while(|count| *count < processors).collect();
    counts.push(processors);
    let expected = if processors == 1 { vec![] } else { counts };
    let data = array_bytes("fmri.npy", 100_000);
    let told: Value =
        serde_json::from_slice(&run_with(args!["tune", "-", "--typesize", "2", "--json"], &data).ok()).expect("JSON");
    for best in told["recommended"].as_array().expect("a list") {
        let speeds = best["threads"].as_array().expect("a list");
        let counts: Vec<_> = speeds.iter().filter_map(|speed| speed["threads"].as_u64()).map(|n| n as usize).collect();
        assert_eq!(counts, expected);
        for speed in ["encode_bytes_per_second", "decode_bytes_per_second"] {
            assert!(speeds.iter().all(|row| row[speed].as_f64().is_some_and(|speed| speed > 1e3)), "{best}");
        }
    }
    let text = String::from_utf8(run_with(args!["tune", "-", "--typesize", "2"], &data).ok()).expect("text");
    let rows = text.split_once("threads   encode MB/s   decode MB/s\n").map_or(0, |(_, rows)| rows.lines().count());
    assert!(rows.is_multiple_of(expected.len().max(1)) && (rows > 0) == (processors > 1), "{text}");
}

#[test]
fn a_table_for_people() {
    let text = String::from_utf8(run_with(args!["tune", "-"], &array_bytes("astronaut.npy", 20_000)).ok());
    let text = text.expect("text");
    assert!(text.starts_with("codec    level  filters"), "{text}");
    assert_eq!(text.matches("\nfor ").count(), 4, "{text}");
}

#[test]
fn nothing_to_try() {
    run_with(args!["tune", "-"], b"").bad_data();
    run(args!["tune", "/no/such/file"]).bad_data();
    run(args!["tune", "-", "--typesize", "256"]).bad_usage();
    run_with(args!["tune", "-", "--plot", "/no/such/directory/plot.svg"], &[1; 100]).bad_data();
}

/// Loss is tried only where it is allowed, and stays within what is allowed.
#[test]
fn floats_may_lose_what_is_allowed() {
    let dir = tempdir().expect("a directory");
    let (input, frame) = (dir.path().join("data"), dir.path().join("frame"));
    let data = array_bytes("disparity.npy", 400_000);
    fs::write(&input, &data).expect("a file");
    let json = |args: &[std::ffi::OsString]| -> Value {
        let args = args!["tune", &input, "--json"].into_iter().chain(args.iter().cloned());
        serde_json::from_slice(&run(args).ok()).expect("JSON")
    };
    let lossy = |row: &&Value| row["options"].as_str().is_some_and(|options| options.contains("trunc_prec"));
    let plain = json(&args!["--typesize", "4", "--budget", "2"]);
    assert_eq!(plain["results"].as_array().expect("a list").iter().filter(lossy).count(), 0);

    let told = json(&args!["--typesize", "4", "--max-error", "0.001", "--threads", "2"]);
    let results = told["results"].as_array().expect("a list");
    let row = results.iter().find(lossy).unwrap_or_else(|| panic!("none: {told:#}"));
    // 2^-10 is less than a thousandth.
    let options = row["options"].as_str().expect("text");
    assert!(options.contains("--filter trunc_prec=10"), "{options}");
    let args = args!["compress", "-q", &input, &frame].into_iter().chain(options.split(' ').map(Into::into));
    run(args).ok();
    let back = run(args!["cat", &frame]).ok();
    assert!(back != data && back.len() == data.len());
    for (a, b) in data.as_chunks::<4>().0.iter().zip(back.as_chunks::<4>().0) {
        let (a, b) = (f32::from_le_bytes(*a), f32::from_le_bytes(*b));
        assert!(a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 0.001 * a.abs(), "{a} and {b}");
    }
    // It is smaller than what loses nothing.
    let smallest = told["recommended"].as_array().and_then(|best| best.last()).expect("one for each purpose");
    assert!(smallest["for"] == "the smallest result" && lossy(&smallest), "{smallest}");

    for wrong in ["0", "1", "-0.5", "nan", "x"] {
        run(args!["tune", &input, "--typesize", "4", format!("--max-error={wrong}")]).bad_usage();
    }
    assert!(run(args!["tune", &input, "--max-error", "0.1"]).bad_usage().contains("--typesize"));
    run(args!["tune", crate::program::array_path("fmri.npy"), "--max-error", "0.1"]).bad_usage();
}

#[test]
fn a_budget_ends_the_search() {
    let data = array_bytes("fmri.npy", 1_000_000);
    let args = args!["tune", "-", "--typesize", "2", "--budget", "0", "--json"];
    let told: Value = serde_json::from_slice(&run_with(args, &data).ok()).expect("JSON");
    assert_eq!(told["results"].as_array().map(Vec::len), Some(1));
    assert_eq!(told["recommended"].as_array().map(Vec::len), Some(4));
    let reason = told["not_tried"].as_array().and_then(|skipped| skipped.last()).expect("the others");
    assert!(reason["reason"].as_str().is_some_and(|reason| reason.contains("budget")), "{reason}");
    run_with(args!["tune", "-", "--budget", "-1"], &data).bad_usage();
}
