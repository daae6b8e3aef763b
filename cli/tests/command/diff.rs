//! `oxiblosc diff`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::args;
use crate::program::{Run, array_bytes, array_path, run, run_with};

/// A frame of `data`, with more options.
fn frame(dir: &Path, name: &str, data: &[u8], more: &[&str]) -> PathBuf {
    let path = dir.join(name);
    let args = args!["compress", "-", &path, "--quiet"].into_iter().chain(more.iter().map(Into::into));
    run_with(args, data).ok();
    path
}

fn json_of(run: Run, status: i32) -> Value {
    assert_eq!((run.status, run.stderr.as_str()), (status, ""));
    serde_json::from_slice(&run.stdout).expect("JSON")
}

#[test]
fn what_differs_in_frames() {
    let dir = tempdir().expect("a directory");
    let data = array_bytes("fmri.npy", 400_000);
    let a = frame(dir.path(), "a", &data, &["--typesize", "2", "--chunk-size", "50000"]);
    // Cut and encoded in another way.
    let b = frame(dir.path(), "b", &data, &["--typesize", "2", "--chunk-size", "33334", "--codec", "lz4"]);
    let equal = json_of(run(args!["diff", &a, &b, "--only", "data", "--json"]), 0);
    assert_eq!((&equal["equal"], &equal["data"]["items"]), (&json!(true), &json!([200_000, 200_000])));
    assert_eq!((&equal["data"]["first"], &equal["parameters"]), (&Value::Null, &json!({})));
    let text = run(args!["diff", &a, &b]);
    assert_eq!((text.status, text.stderr.as_str()), (1, ""));
    let text = String::from_utf8(text.stdout).expect("text");
    assert_eq!(text.lines().next(), Some("data: 200000 items, all equal"));
    assert!(text.contains("chunksize: 50000 and 33334\n") && text.contains("codec: zstd and lz4\n"), "{text}");
    assert!(String::from_utf8(run(args!["diff", &a, &a]).ok()).expect("text").ends_with(" are equal\n"));

    // Three items, two of them in one chunk of the first; the last one on either side of a chunk of the second.
    let mut other = data.clone();
    for at in [50_001, 60_000, 399_999] {
        other[at] ^= 0xFF;
    }
    let c = frame(dir.path(), "c", &other, &["--typesize", "2", "--chunk-size", "77778"]);
    for (x, y, chunks) in [(&a, &c, 2), (&c, &a, 2), (&b, &c, 2)] {
        let told = json_of(run(args!["diff", x, y, "--only", "data", "--json"]), 1);
        assert_eq!(told["data"]["differing_items"], 3);
        assert_eq!(told["data"]["differing_chunks"], chunks, "{}", x.display());
        assert_eq!((&told["data"]["first"]["item"], &told["data"]["first"]["index"]), (&json!(25_000), &Value::Null));
    }
    let quiet = run(args!["diff", &a, &c, "--quiet"]);
    assert_eq!((quiet.status, quiet.stdout.len(), quiet.stderr.len()), (1, 0, 0));

    // More items, and an incomplete one at the end.
    let longer = frame(dir.path(), "longer", &[&data[..], b"more!"].concat(), &["--typesize", "2"]);
    let told = json_of(run(args!["diff", &a, &longer, "--only", "data", "--json"]), 1);
    assert_eq!(told["data"]["items"], json!([200_000, 200_003]));
    assert_eq!((&told["data"]["differing_items"], &told["data"]["first"]), (&json!(0), &Value::Null));
    let text = String::from_utf8(run(args!["diff", &a, &longer, "--only", "data"]).stdout).expect("text");
    assert!(text.contains("the first 200000 items are equal") && text.contains("has 3 more"), "{text}");
    // Of other sizes: bytes.
    let bytes = frame(dir.path(), "bytes", &data, &[]);
    json_of(run(args!["diff", &a, &bytes, "--only", "data", "--json"]), 0);
}

#[test]
fn what_differs_in_arrays() {
    let dir = tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    let npy = fs::read(array_path("fmri.npy")).expect("the array is in the repository");
    let compress = |bytes: &[u8], name: &str, chunks: &str| {
        fs::write(path("data.npy"), bytes).expect("a file");
        run(args!["compress", path("data.npy"), path(name), "--chunks", chunks, "--quiet"]).ok();
    };
    compress(&npy, "a", "1,5,50,50");
    compress(&npy, "b", "2,24,96,1");
    json_of(run(args!["diff", path("a"), path("b"), "--only", "data", "--json"]), 0);
    // The items [1, 5, 49, 49] and [1, 5, 49, 50] are in neighbouring chunks of the first, and in others of the second.
    let item = ((24 + 5) * 96 + 49) * 128 + 49;
    let mut other = npy.clone();
    let at = npy.len() - 1_179_648 + 2 * item;
    let old = i16::from_le_bytes([npy[at], npy[at + 1]]);
    other[at..at + 2].copy_from_slice(&(old + 300).to_le_bytes());
    other[at + 2] ^= 1;
    compress(&other, "c", "1,5,50,50");
    let told = json_of(run(args!["diff", path("a"), path("c"), "--json"]), 1);
    assert_eq!(told["data"]["first"], json!({ "item": item, "index": [1, 5, 49, 49], "a": old, "b": old + 300 }));
    assert_eq!((&told["data"]["differing_items"], &told["data"]["differing_chunks"]), (&json!(2), &json!(2)));
    assert_eq!((&told["data"]["largest_difference"], &told["parameters"]), (&json!(300.0), &json!({})));
    // All but one item of a row of chunks.
    let mut most: Vec<u8> = other.clone();
    most[at..].iter_mut().for_each(|byte| *byte = !*byte);
    compress(&most, "d", "1,5,50,50");
    let told = json_of(run(args!["diff", path("c"), path("d"), "--json"]), 1);
    assert_eq!(told["data"]["differing_items"], 1_179_648 / 2 - item);
    // In C order these are the rest of the slab at [1, 5], and all slabs of chunks from [1, 10] on.
    assert_eq!(told["data"]["differing_chunks"], 4 * 2 * 3);

    // A part has other rows, another shape, or is the same.
    run(args!["copy", path("a"), path("rows"), "--slice", ":1"]).ok();
    let told = json_of(run(args!["diff", path("a"), path("rows"), "--only", "data", "--json"]), 1);
    assert_eq!((&told["data"]["differing_items"], &told["data"]["equal"]), (&json!(0), &json!(false)));
    run(args!["copy", path("a"), path("columns"), "--slice", "..., :5"]).ok();
    let told = json_of(run(args!["diff", path("a"), path("columns"), "--only", "data", "--json"]), 2);
    assert!(told["data"]["not_compared"].as_str().is_some_and(|reason| reason.contains("shapes")), "{told}");
    run(args!["copy", path("a"), path("all"), "--layout", "sparse"]).ok();
    run(args!["diff", path("a"), path("all"), "--quiet"]).ok();
    // An array and a frame of the same items.
    let plain = frame(dir.path(), "plain", &array_bytes("fmri.npy", 1_179_648), &["--typesize", "2"]);
    json_of(run(args!["diff", path("a"), plain, "--only", "data", "--json"]), 0);
    // Items of other sizes are compared as bytes, and the chunks are those of the array all the same.
    let bytes: Vec<u8> = array_bytes("fmri.npy", 1_179_648).iter().map(|byte| !byte).collect();
    let plain = frame(dir.path(), "bytes", &bytes, &["--typesize", "1"]);
    let told = json_of(run(args!["diff", path("a"), plain, "--only", "data", "--json"]), 1);
    assert_eq!(
        (&told["data"]["differing_items"], &told["data"]["differing_chunks"]),
        (&json!(1_179_648), &told["data"]["chunks"])
    );
}

#[test]
fn what_differs_in_metalayers() {
    let dir = tempdir().expect("a directory");
    let layer = |name: &str, content: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, content).expect("a file");
        path.display().to_string()
    };
    let (kelvin, celsius) = (layer("kelvin", b"\xa1K"), layer("celsius", b"\xa1C"));
    let of = |name: &str, more: &[String]| {
        frame(dir.path(), name, b"data", &more.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let a = of("a", &["--meta".into(), format!("unit={kelvin}"), "--vlmeta".into(), format!("same={kelvin}")]);
    let b = of(
        "b",
        &[
            "--meta".into(),
            format!("unit={celsius}"),
            "--vlmeta".into(),
            format!("same={kelvin}"),
            "--vlmeta".into(),
            format!("new={celsius}"),
        ],
    );
    let told = json_of(run(args!["diff", &a, &b, "--json"]), 1);
    assert_eq!(told["data"]["equal"], true);
    assert_eq!(
        told["metadata"],
        json!([
            { "place": "meta", "name": "unit", "a": "K", "b": "C" },
            { "place": "vlmeta", "name": "new", "a": null, "b": "C" },
        ])
    );
    let text = String::from_utf8(run(args!["diff", &a, &b, "--only", "metadata"]).stdout).expect("text");
    let expected = format!("meta unit: \"K\" and \"C\"\nvlmeta new: only in {}\n", b.display());
    assert_eq!(text, expected);
    run(args!["diff", &a, &b, "--only", "data", "--only", "parameters"]).ok();
}

#[test]
fn what_cannot_be_compared_is_no_difference() {
    let dir = tempdir().expect("a directory");
    let a = frame(dir.path(), "a", &array_bytes("fmri.npy", 300_000), &["--chunk-size", "64K"]);
    let mut bytes = fs::read(&a).expect("a file");
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    let cut = dir.path().join("cut");
    fs::write(&cut, bytes).expect("a file");
    for (x, y) in [(&a, &cut), (&cut, &a), (&a, &dir.path().join("missing"))] {
        let failed = run(args!["diff", x, y]);
        assert_eq!((failed.status, failed.stdout.len()), (2, 0));
        assert!(failed.stderr.starts_with("oxiblosc: ") && failed.stderr.lines().count() == 1, "{}", failed.stderr);
    }
    // Chunks, and a chunk beside a frame.
    let chunk = dir.path().join("chunk");
    run_with(args!["compress", "-", &chunk, "--format", "chunk", "--quiet"], &array_bytes("fmri.npy", 300_000)).ok();
    run(args!["diff", &chunk, &chunk]).ok();
    json_of(run(args!["diff", &chunk, &a, "--only", "data", "--json"]), 0);
    // Nothing and nothing.
    let empty = frame(dir.path(), "empty", b"", &[]);
    run(args!["diff", &empty, &empty]).ok();
    json_of(run(args!["diff", &empty, &a, "--only", "data", "--json"]), 1);
}
