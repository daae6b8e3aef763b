//! Arrays: .npy files of every kind, raw bytes with a dtype and a shape, streams of rows.

use std::fs;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, info, run, run_with};

/// A .npy file as NumPy writes it.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let dict = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}");
    let padding = " ".repeat(64 - (10 + dict.len() + 1) % 64);
    let header = format!("{dict}{padding}\n");
    [b"\x93NUMPY\x01\0".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
}

fn told(frame: &[u8]) -> Value {
    serde_json::from_slice(&run_with(args!["info", "--json", "-"], frame).ok()).expect("JSON")
}

#[test]
fn npy_files_of_every_rank() {
    let data = array_bytes("fmri.npy", 2 * 720);
    for (shape, lens) in [
        ("()", json!([])),
        ("(0,)", json!([0])),
        ("(1,)", json!([1])),
        ("(720,)", json!([720])),
        ("(3, 0, 2)", json!([3, 0, 2])),
        ("(0, 5)", json!([0, 5])),
        ("(24, 30)", json!([24, 30])),
        ("(2, 3, 4, 5, 6)", json!([2, 3, 4, 5, 6])),
        ("(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3)", json!([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3])),
    ] {
        let items = lens.as_array().expect("a list").iter().map(|len| len.as_u64().expect("a length")).product::<u64>();
        let data = &data[..2 * items as usize];
        let frame = run_with(args!["compress", "-", "-"], &npy("'<i2'", false, shape, data)).ok();
        let told = told(&frame);
        assert_eq!((&told["kind"], &told["shape"], &told["dtype"]), (&json!("b2nd"), &lens, &json!("<i2")));
        assert_eq!(told["nbytes"], data.len(), "{shape}");
        assert!(run_with(args!["cat", "-"], &frame).ok() == data, "{shape}");
        run_with(args!["verify", "-", "--quiet"], &frame).ok();
    }
}

#[test]
fn dtypes_stay_word_for_word() {
    let data = array_bytes("fmri.npy", 12 * 52);
    for (descr, dtype) in [
        ("'>f4'", ">f4"),
        ("'|S13'", "|S13"),
        ("'<U13'", "<U13"),
        ("'<M8[ns]'", "<M8[ns]"),
        ("[('a', '<i4'), ('b', '<f8', (2, 3))]", "[('a', '<i4'), ('b', '<f8', (2, 3))]"),
    ] {
        let item = match dtype {
            ">f4" => 4,
            "|S13" => 13,
            "<M8[ns]" => 8,
            _ => 52,
        };
        let items = data.len() / item;
        let file = npy(descr, false, &format!("({items},)"), &data[..items * item]);
        let frame = run_with(args!["compress", "-", "-"], &file).ok();
        let told = told(&frame);
        assert_eq!((&told["dtype"], &told["typesize"]), (&json!(dtype), &json!(item)));
        assert!(run_with(args!["cat", "-"], &frame).ok() == data[..items * item], "{dtype}");
    }
}

#[test]
fn fortran_order_is_turned_round() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("fortran.npy");
    // Items 0.. in C order of shape (3, 4, 5), stored with the first index fastest.
    let items: Vec<u8> = (0..60u16).flat_map(u16::to_le_bytes).collect();
    let mut stored = Vec::new();
    for at in 0..60u16 {
        let (i, j, k) = (at % 3, at / 3 % 4, at / 12);
        stored.extend((i * 20 + j * 5 + k).to_le_bytes());
    }
    let file = npy("'<u2'", true, "(3, 4, 5)", &stored);
    fs::write(&path, &file).expect("a file");
    for frame in [run(args!["compress", &path, "-"]).ok(), run_with(args!["compress", "-", "-"], &file).ok()] {
        assert!(run_with(args!["cat", "-"], &frame).ok() == items);
        assert_eq!(told(&frame)["shape"], json!([3, 4, 5]));
    }
    let chunk = run(args!["compress", &path, "-", "--format", "chunk"]).ok();
    assert!(run_with(args!["cat", "-"], &chunk).ok() == items);
    fs::write(&path, &file[..file.len() - 1]).expect("a file");
    let message = run(args!["compress", &path, "-"]).bad_data();
    assert!(message.contains(&(file.len() - 1).to_string()), "{message}");
}

#[test]
fn raw_bytes_with_a_dtype() {
    let data = array_bytes("disparity.npy", 4 * 300 * 200);
    let compress = |options: &[&str]| {
        let args = args!["compress", "-", "-", "--dtype", "f4"].to_vec();
        run_with(args.into_iter().chain(options.iter().map(Into::into)), &data).ok()
    };
    for (options, shape) in [
        (&[][..], json!([60_000])),
        (&["--shape", "300,200"], json!([300, 200])),
        (&["--shape", "300,200", "--chunks", "70,90", "--blocks", "20,90"], json!([300, 200])),
        (&["--shape", "300,200", "--chunk-size", "50000", "--block-size", "5000"], json!([300, 200])),
        (&["--shape", "-1,200"], json!([300, 200])),
        (&["--shape", "-1,200", "--chunks", "7,200"], json!([300, 200])),
        (&["--shape", "-1"], json!([60_000])),
    ] {
        let frame = compress(options);
        let told = told(&frame);
        assert_eq!((&told["shape"], &told["dtype"]), (&shape, &json!("<f4")), "{options:?}");
        assert!(run_with(args!["cat", "-"], &frame).ok() == data, "{options:?}");
        run_with(args!["verify", "-", "--quiet"], &frame).ok();
    }
    let told = told(&compress(&["--shape", "300,200", "--chunk-size", "50000", "--block-size", "5000"]));
    assert!(told["chunksize"].as_u64().is_some_and(|size| (25_000..=60_000).contains(&size)), "{told}");
    assert!(told["blocksize"].as_u64().is_some_and(|size| (2_500..=5_000).contains(&size)), "{told}");
}

#[test]
fn input_of_another_length_than_the_shape() {
    for (shape, data, expected) in [
        ("3,4", &[0; 47][..], "requires 48 bytes, found 47"),
        ("3,4", &[0; 49], "requires 48 bytes, found more"),
        ("3,4", &[], "requires 48 bytes, found 0"),
        ("-1,4", &[0; 49], "16 bytes, the last one has 1"),
    ] {
        let message = run_with(args!["compress", "-", "-", "--dtype", "f4", "--shape", shape], data).bad_data();
        assert!(message.contains("standard input") && message.contains(expected), "{message}");
    }
}

#[test]
fn an_array_says_what_it_is_itself() {
    for options in [&["--dtype", "f4"][..], &["--shape", "3,4"], &["--typesize", "4"], &["--chunks", "5"]] {
        let args = args!["compress", array_path("fmri.npy"), "-"].to_vec();
        run(args.into_iter().chain(options.iter().map(Into::into))).bad_usage();
    }
}

#[test]
fn slices() {
    let dir = tempdir().expect("a directory");
    let dense = dir.path().join("dense");
    let sparse = dir.path().join("sparse");
    run(args!["compress", array_path("fmri.npy"), &dense, "--chunks", "2,7,50,60", "--blocks", "1,3,20,30"]).ok();
    run(args!["compress", array_path("fmri.npy"), &sparse, "--chunks", "1,10,96,50", "--layout", "sparse"]).ok();
    let data = array_bytes("fmri.npy", 1_179_648);
    let at = |t: usize, z: usize, y: usize, x: usize| {
        let item = ((t * 24 + z) * 96 + y) * 128 + x;
        data[2 * item..2 * item + 2].to_vec()
    };
    let expect = |slice: &str, items: Vec<[usize; 4]>| {
        let expected: Vec<u8> = items.into_iter().flat_map(|[t, z, y, x]| at(t, z, y, x)).collect();
        for frame in [&dense, &sparse] {
            assert!(run(args!["cat", frame, "--slice", slice]).ok() == expected, "{slice}");
        }
    };
    expect("1,2,3,4", vec![[1, 2, 3, 4]]);
    expect("-1,-1,-1,-1", vec![[1, 23, 95, 127]]);
    expect("0,5,:,::64", (0..96).flat_map(|y| [[0, 5, y, 0], [0, 5, y, 64]]).collect());
    expect("...,127:126:-1", (0..2 * 24 * 96).map(|i| [i / 2304, i / 96 % 24, i % 96, 127]).collect());
    expect("1,::-23,0,:3", (0..2).flat_map(|z| (0..3).map(move |x| [1, 23 - 23 * z, 0, x])).collect());
    expect("1, [4,1,1], 7, 9", vec![[1, 4, 7, 9], [1, 1, 7, 9], [1, 1, 7, 9]]);
    expect(":,0,50:40,0", vec![]);
    expect("1", (0..24 * 96 * 128).map(|i| [1, i / 12288, i / 128 % 96, i % 128]).collect());

    for slice in ["2", "0,0,0,128", "0,0,0,0,0", "0,0,0,-129"] {
        let message = run(args!["cat", &dense, "--slice", slice]).bad_usage();
        assert!(message.contains("[2, 24, 96, 128]"), "{message}");
    }
    let plain = dir.path().join("plain");
    run_with(args!["compress", "-", &plain], b"data").ok();
    assert!(run(args!["cat", &plain, "--slice", "1"]).bad_usage().contains("not an array"));
}

#[test]
fn items_of_arrays_are_counted_in_c_order() {
    let dir = tempdir().expect("a directory");
    let frame = dir.path().join("frame");
    run(args!["compress", array_path("disparity.npy"), &frame, "--chunks", "90,200"]).ok();
    assert_eq!(info(&frame)["shape"], json!([500, 741]));
    let data = array_bytes("disparity.npy", 1_482_000);
    for (items, range) in [
        (":", 0..370_500),
        ("0:1", 0..1),
        ("740:742", 740..742),
        ("100:5000", 100..5000),
        ("741:1482", 741..1482),
        ("-5:", 370_495..370_500),
        ("-2000:-1", 368_500..370_499),
        ("400000:", 0..0),
    ] {
        let expected = &data[4 * range.start..4 * range.end];
        assert!(run(args!["cat", &frame, "--items", items]).ok() == expected, "{items}");
    }
}
