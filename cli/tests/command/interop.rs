//! What `compress` writes opens in python-blosc2, in every layout and format.

use std::fs;
use std::process::Command;

use tempfile::tempdir;

use crate::args;
use crate::environment;
use crate::plugins::library;
use crate::program::{array_path, run, run_with};

/// Runs a Python program with arguments; `None` when there is no Python.
fn python(program: &str, args: &[std::ffi::OsString]) -> Option<()> {
    python_with(program, args, |_| {})
}

/// The same with changes to the command, which `change` makes.
fn python_with(program: &str, args: &[std::ffi::OsString], change: impl FnOnce(&mut Command)) -> Option<()> {
    let python = match environment::python() {
        Ok(python) => python,
        Err(reason) => {
            println!("skipped, no Python environment: {reason}");
            return None;
        }
    };
    let mut command = Command::new(python);
    command.args(["-B", "-c", program]).args(args);
    change(&mut command);
    let output = command.output().expect("Python starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

/// Compares an array with what python-blosc2 makes of a frame.
const SAME_ARRAY: &str = r"
import sys, numpy as np, blosc2
expected = np.load(sys.argv[1])
array = blosc2.open(sys.argv[2])
assert isinstance(array, blosc2.NDArray), type(array)
assert array.shape == expected.shape and array.dtype == expected.dtype, (array.shape, array.dtype)
found = array[()] if array.ndim == 0 else array[:]
assert np.asarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()
";

#[test]
fn arrays() {
    let dir = tempdir().expect("a directory");
    for name in ["fmri.npy", "disparity.npy", "faces.npy", "astronaut.npy", "health.npy"] {
        for layout in ["contiguous", "sparse"] {
            let frame = dir.path().join(format!("{layout}-{name}.b2nd"));
            run(args!["compress", array_path(name), &frame, "--layout", layout]).ok();
            if python(SAME_ARRAY, &args![array_path(name), &frame]).is_none() {
                return;
            }
        }
    }
}

/// Arrays that NumPy makes: all orders and ranks, dtypes with fields, and nothing at all.
#[test]
fn arrays_of_numpy() {
    const MAKE: &str = r"
import sys, numpy as np
arrays = [
    np.float64(3.5),
    np.arange(7, dtype='>i4'),
    np.asfortranarray(np.arange(3 * 4 * 5, dtype='<u2').reshape(3, 4, 5)),
    np.zeros((3, 0, 2), dtype='f4'),
    np.array([(1, 2.5), (3, 4.5)], dtype=[('a', '<i4'), ('b', '<f8')]),
    np.array([b'one', b'three'], dtype='S5'),
    np.array(['one', 'three'], dtype='U5'),
    np.array([1, 2], dtype='M8[s]'),
    np.ones((2,) * 8, dtype=bool),
]
for i, array in enumerate(arrays):
    np.save(f'{sys.argv[1]}/{i}.npy', array)
";
    let dir = tempdir().expect("a directory");
    if python(MAKE, &args![dir.path()]).is_none() {
        return;
    }
    for i in 0..9 {
        let (file, frame) = (dir.path().join(format!("{i}.npy")), dir.path().join(format!("{i}.b2nd")));
        run(args!["compress", &file, &frame]).ok();
        python(SAME_ARRAY, &args![&file, &frame]);
    }
}

#[test]
fn frames_and_their_metalayers() {
    const READ: &str = r"
import sys, blosc2
schunk = blosc2.open(sys.argv[1])
assert isinstance(schunk, blosc2.SChunk), type(schunk)
assert schunk[:] == open(sys.argv[2], 'rb').read()
assert schunk.meta['unit'] == 'K' and schunk.vlmeta['notes'] == ['no clouds', 7]
";
    let dir = tempdir().expect("a directory");
    let (unit, notes) = (dir.path().join("unit"), dir.path().join("notes"));
    fs::write(&unit, b"\xa1K").expect("a file");
    fs::write(&notes, b"\x92\xa9no clouds\x07").expect("a file");
    let (unit, notes) = (format!("unit={}", unit.display()), format!("notes={}", notes.display()));
    let raw = dir.path().join("raw");
    fs::write(&raw, &fs::read(array_path("fmri.npy")).expect("in the repository")[128..]).expect("a file");
    for layout in ["contiguous", "sparse"] {
        for options in [&[][..], &["--dict", "--codec", "lz4"], &["--filter", "delta", "--filter", "bitshuffle"]] {
            let frame = dir.path().join(format!("{layout}-{}.b2frame", options.len()));
            let args = args![
                "compress",
                &raw,
                &frame,
                "--layout",
                layout,
                "--typesize",
                "2",
                "--chunk-size",
                "300001",
                "--meta",
                &unit,
                "--vlmeta",
                &notes,
            ];
            run(args.into_iter().chain(options.iter().map(Into::into))).ok();
            let again = dir.path().join(format!("again-{layout}-{}.b2frame", options.len()));
            run(args!["recompress", &frame, &again, "--layout", layout, "--codec", "zlib"]).ok();
            run(args!["append", &again, "/dev/null"]).ok();
            run(args!["compact", &again]).ok();
            for frame in [frame, again] {
                if python(READ, &args![&frame, &raw]).is_none() {
                    return;
                }
            }
        }
    }
}

#[test]
fn appended_arrays() {
    const SAME: &str = r"
import sys, numpy as np, blosc2
expected = np.load(sys.argv[1])
found = blosc2.open(sys.argv[2])[:]
assert np.array_equal(found, np.concatenate([expected, expected, expected[:1]]))
";
    let dir = tempdir().expect("a directory");
    let frame = dir.path().join("frame.b2nd");
    run(args!["compress", array_path("health.npy"), &frame, "--chunks", "3,5000"]).ok();
    run(args!["append", &frame, array_path("health.npy")]).ok();
    let file = fs::read(array_path("health.npy")).expect("in the repository");
    run_with(args!["append", &frame, "-"], &file[128..128 + 8 * 20190]).ok();
    python(SAME, &args![array_path("health.npy"), &frame]);
}

#[test]
fn chunks() {
    const DECODE: &str = r"
import sys, blosc2
assert blosc2.decompress2(open(sys.argv[1], 'rb').read()) == open(sys.argv[2], 'rb').read()
";
    let dir = tempdir().expect("a directory");
    let (raw, chunk) = (dir.path().join("raw"), dir.path().join("chunk"));
    let bytes = fs::read(array_path("faces.npy")).expect("in the repository");
    for len in [1, 100, 100_000] {
        fs::write(&raw, &bytes[1000..1000 + len]).expect("a file");
        for format in ["chunk", "blosc1"] {
            run(args!["compress", &raw, &chunk, "--format", format, "--typesize", "8"]).ok();
            if python(DECODE, &args![&chunk, &raw]).is_none() {
                return;
            }
        }
    }
}

/// A codec and a filter in shared libraries, which both programs load: C-Blosc2 finds them as the system does.
#[test]
#[cfg(target_os = "linux")]
fn plugins_that_both_load() {
    const BOTH: &str = r#"
import sys, blosc2
data, ours, theirs = sys.argv[1:]
blosc2.register_codec("oxirle", 231)
blosc2.register_filter(232, name="oxixor")
expected = open(data, "rb").read()
assert blosc2.open(ours, mode="r")[:] == expected
cparams = {"codec": 231, "filters": [232], "filters_meta": [0], "typesize": 4, "nthreads": 4}
schunk = blosc2.SChunk(chunksize=100_000, urlpath=theirs, contiguous=True, mode="w", cparams=cparams)
for start in range(0, len(expected), 100_000):
    schunk.append_data(expected[start : start + 100_000])
assert schunk.cbytes < len(expected) / 2, schunk.cbytes
"#;
    let dir = tempdir().expect("a directory");
    let [data, ours, theirs] = ["data", "ours.b2frame", "theirs.b2frame"].map(|name| dir.path().join(name));
    let items: Vec<u8> = (0..400_000_u32).flat_map(|i| (i / 700).to_le_bytes()).collect();
    fs::write(&data, &items).expect("a file");
    let (codec, filter) = (library("oxirle"), library("oxixor"));
    let plugins = args!["--plugin", &codec, "--plugin", &filter];
    let compress = args!["compress", "-q", "--typesize", "4", "--codec", "oxirle", "--filter", "oxixor", &data, &ours];
    run(plugins.iter().chain(&compress)).ok();
    let found = python_with(BOTH, &args![&data, &ours, &theirs], |command| {
        command.env("LD_LIBRARY_PATH", codec.parent().expect("a folder"));
    });
    if found.is_some() {
        assert!(run(plugins.iter().chain(&args!["cat", &theirs])).ok() == items);
    }
}
