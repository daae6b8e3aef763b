//! What goes in comes out, through files and pipes.

use std::fs;

use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, run, run_with};

/// Bytes of a chunk in these tests; lengths around it make short last chunks.
const CHUNK: usize = 10_000;
const LENGTHS: [usize; 10] = [0, 1, 31, 32, 33, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 4567];

#[test]
fn files_of_all_lengths() {
    let dir = tempdir().expect("a directory");
    let (input, output) = (dir.path().join("data"), dir.path().join("data.b2frame"));
    for length in LENGTHS {
        for typesize in ["1", "2", "8", "7", "300"] {
            let data = array_bytes("fmri.npy", length);
            fs::write(&input, &data).expect("a file");
            run(args!["compress", &input, &output, "--typesize", typesize, "--chunk-size", "10000"]).ok();
            assert!(run(args!["cat", &output]).ok() == data, "{length} bytes, type size {typesize}");
            run(args!["verify", &output, "--quiet"]).ok();
        }
    }
}

#[test]
fn pipes_of_all_lengths() {
    for length in LENGTHS {
        let data = array_bytes("fmri.npy", length);
        let frame = run_with(args!["compress", "-", "-", "--typesize", "2", "--chunk-size", "10000"], &data).ok();
        assert_eq!(frame[2..10], *b"b2frame\0");
        assert!(run_with(args!["cat", "-"], &frame).ok() == data, "{length} bytes");
        run_with(args!["verify", "-", "--quiet"], &frame).ok();
    }
}

#[test]
fn every_codec_filter_and_split() {
    let data = array_bytes("faces.npy", 100_000);
    for codec in ["blosclz", "lz4", "lz4hc", "zlib", "zstd", "0", "5"] {
        for filters in [vec!["none"], vec!["shuffle"], vec!["bitshuffle"], vec!["delta", "shuffle"]] {
            for split in ["auto", "always", "never", "forward"] {
                let mut args =
                    args!["compress", "-", "-", "--typesize", "8", "--codec", codec, "--split", split].to_vec();
                args.extend(filters.iter().flat_map(|filter| args!["--filter", filter]));
                let frame = run_with(&args, &data).ok();
                assert!(run_with(args!["cat", "-"], &frame).ok() == data, "{codec} {filters:?} {split}");
            }
        }
    }
}

#[test]
fn every_level_and_number_of_threads() {
    let data = array_bytes("astronaut.npy", 300_000);
    for level in 0..=9 {
        let level = level.to_string();
        let frame = |threads: &str| {
            let args = args!["compress", "-", "-", "--level", &level, "--threads", threads, "--chunk-size", "64K"];
            run_with(args, &data).ok()
        };
        let one = frame("1");
        assert!(one == frame("3"), "level {level}: the frame depends on the number of threads");
        assert!(run_with(args!["cat", "-", "--threads", "3"], &one).ok() == data, "level {level}");
    }
}

#[test]
fn lossy_filters_take_their_meta() {
    let data = array_bytes("faces.npy", 100_000);
    let frame = |meta: &str| {
        let filter = format!("trunc_prec={meta}");
        let args = args!["compress", "-", "-", "-q", "--typesize", "8", "--filter", filter, "--filter", "shuffle"];
        run_with(args, &data).ok()
    };
    // 52 bits of mantissa: keeping 12 is dropping 40.
    assert!(frame("12") == frame("12"));
    let back = run_with(args!["cat", "-"], &frame("-40")).ok();
    assert!(back == run_with(args!["cat", "-"], &frame("12")).ok());
    assert!(back != data && back.len() == data.len());
}

#[test]
fn arrays_give_their_type_size() {
    let dir = tempdir().expect("a directory");
    let output = dir.path().join("out.b2frame");
    for (name, typesize, nbytes) in
        [("fmri.npy", 2, 1_179_648), ("disparity.npy", 4, 1_482_000), ("health.npy", 8, 1_615_200)]
    {
        run(args!["compress", array_path(name), &output]).ok();
        assert!(run(args!["cat", &output]).ok() == array_bytes(name, nbytes), "{name}");
        let info: serde_json::Value =
            serde_json::from_slice(&run(args!["info", "--json", &output]).ok()).expect("JSON");
        assert_eq!(info["typesize"], typesize, "{name}");
        assert_eq!(info["nbytes"], nbytes, "{name}");
    }
}

#[test]
fn an_array_can_be_taken_as_it_is() {
    let file = fs::read(array_path("fmri.npy")).expect("the array is in the repository");
    let frame = run(args!["compress", "--raw", array_path("fmri.npy"), "-"]).ok();
    assert!(run_with(args!["cat", "-"], &frame).ok() == file);
}

#[test]
fn arrays_through_pipes() {
    let file = fs::read(array_path("fmri.npy")).expect("the array is in the repository");
    let frame = run_with(args!["compress", "-", "-"], &file).ok();
    assert!(run_with(args!["cat", "-"], &frame).ok() == array_bytes("fmri.npy", 1_179_648));
}

#[test]
fn single_chunks() {
    for length in LENGTHS {
        let data = array_bytes("fmri.npy", length);
        let chunk = run_with(args!["compress", "-", "-", "--format", "chunk", "--typesize", "2"], &data).ok();
        assert!(chunk.len() <= length + 32, "{length} bytes became {}", chunk.len());
        assert!(run_with(args!["cat", "-"], &chunk).ok() == data, "{length} bytes");
    }
}

#[test]
fn ranges_of_items() {
    let data = array_bytes("fmri.npy", 40_000);
    let frame = run_with(args!["compress", "-", "-", "--typesize", "2", "--chunk-size", "6000"], &data).ok();
    let chunk = run_with(args!["compress", "-", "-", "--typesize", "2", "--format", "chunk"], &data).ok();
    for (items, bytes) in [
        ("0:0", 0..0),
        (":1", 0..2),
        ("2999:3001", 5998..6002),
        ("100:15000", 200..30_000),
        ("19999:", 39_998..40_000),
        ("20000:", 40_000..40_000),
        (":", 0..40_000),
        ("10:1000000", 20..40_000),
    ] {
        for compressed in [&frame, &chunk] {
            let found = run_with(args!["cat", "-", "--items", items], compressed).ok();
            assert!(found == data[bytes.clone()], "{items}");
        }
    }
}

#[test]
fn an_output_file_is_replaced_and_keeps_its_permissions() {
    let dir = tempdir().expect("a directory");
    let output = dir.path().join("out.b2frame");
    fs::write(&output, "something else").expect("a file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&output, fs::Permissions::from_mode(0o640)).expect("allowed");
    }
    run_with(args!["compress", "-", &output], b"data").ok();
    assert_eq!(run(args!["cat", &output]).ok(), b"data");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&output).expect("a file").permissions().mode() & 0o777, 0o640);
    }
    assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 1);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_a_device_is_not_replaced() {
    let dir = tempdir().expect("a directory");
    let (file, link) = (dir.path().join("file"), dir.path().join("link"));
    fs::write(&file, "").expect("a file");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    run_with(args!["compress", "-", &link], b"data").ok();
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    assert_eq!(run(args!["cat", &file]).ok(), b"data");
    run_with(args!["compress", "-", "/dev/null"], b"data").ok();
    assert!(!fs::metadata("/dev/null").expect("a device").is_file());
}
