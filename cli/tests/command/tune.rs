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
    // Five codecs, five choices of filters, three levels.
    assert_eq!(results.len(), 75);
    assert!(results.iter().all(|result| result["ratio"].as_f64().is_some_and(|ratio| ratio > 0.9)));
    let svg = fs::read_to_string(&plot).expect("a file");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<title>").count(), 75 + 5 + 5);

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

#[test]
fn a_table_for_people() {
    let text = String::from_utf8(run_with(args!["tune", "-"], &array_bytes("astronaut.npy", 20_000)).ok());
    let text = text.expect("text");
    assert!(text.starts_with("codec    level  filters"), "{text}");
    assert_eq!(text.matches("\nfor ").count(), 3, "{text}");
}

#[test]
fn nothing_to_try() {
    run_with(args!["tune", "-"], b"").bad_data();
    run(args!["tune", "/no/such/file"]).bad_data();
    run(args!["tune", "-", "--typesize", "256"]).bad_usage();
    run_with(args!["tune", "-", "--plot", "/no/such/directory/plot.svg"], &[1; 100]).bad_data();
}
