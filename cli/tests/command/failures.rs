//! Exit statuses, messages, and what a failed run leaves behind: nothing.

use std::fs;
use std::io::Read;
use std::path::Path;

use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, command, run, run_with};

#[test]
fn bad_usage() {
    run([""; 0]).bad_usage();
    run(args!["squeeze"]).bad_usage();
    run(args!["compress", "-"]).bad_usage();
    for options in [
        &args!["--level", "10"][..],
        &args!["--level", "-1"],
        &args!["--codec", "lzma"],
        &args!["--codec", "250"],
        &args!["--codec", "snappy"],
        &args!["--codec-meta", "256"],
        &args!["--filter", "shufle"],
        &args!["--filter", "31"],
        &args!["--filter", "trunc_prec=300"],
        &args!["--typesize", "0"],
        &args!["--typesize", "2147483648"],
        &args!["--chunk-size", "0"],
        &args!["--chunk-size", "3G"],
        &args!["--block-size", "many"],
        &args!["--split", "sometimes"],
        &args!["--threads", "0"],
        &args!["--format", "gzip"],
        &args!["--layout", "round"],
        &args!["--layout", "sparse"],
        &args!["--codec", "blosclz", "--dict"],
        &args!["--meta", "name"],
        &args!["--meta", "=file"],
        &args!["--meta", "a-name-of-more-than-thirty-one-bytes=/dev/null"],
        &args!["--vlmeta", "name="],
        &args!["--meta", "a=/dev/null", "--format", "chunk"],
        &args!["--vlmeta", "a=/dev/null", "--format", "blosc1"],
        &args!["--vlmeta", "a=/dev/null", "--format", "early"],
        &args!["--layout", "sparse", "--format", "early"],
        &args!["--format", "blosc1", "--filter", "delta"],
        &args!["--format", "blosc1", "--dict"],
        &args!["--format", "early", "--codec", "250"],
        &args!["--format", "early", "--filter", "bytedelta"],
        &args!["--format", "early", "--dtype", "f4"],
        &args!["--format", "early", "--typesize", "256"],
        &args!["--codec", "ndlz", "--codec-meta", "5", "--dtype", "u1", "--shape", "0,8"],
        &args!["--codec", "ndlz", "--codec-meta", "4"],
        &args!["--codec", "zfp_acc", "--typesize", "4"],
        &args!["--codec", "zfp_rate", "--codec-meta", "50", "--format", "chunk", "--typesize", "4"],
        &args!["--shape", "2,3"],
        &args!["--chunks", "2,3"],
        &args!["--meta", "b2nd=/dev/null"],
        &args!["--meta", "caterva=/dev/null"],
        &args!["--meta", "oxiblosc=/dev/null"],
        &args!["--vlmeta", "b2nd=/dev/null"],
        &args!["--vlmeta", "oxiblosc_checksums=/dev/null"],
        &args!["--meta", "a=/dev/null", "--meta", "a=/dev/zero"],
        &args!["--vlmeta", "a=/dev/null", "--vlmeta", "a=/dev/null"],
        &args!["--format", "chunk", "--chunk-size", "1M"],
        &args!["--format", "blosc1", "--chunk-size", "1M"],
        &args!["--filter", "trunc_prec=99", "--typesize", "4"],
        &args!["--filter", "trunc_prec=10", "--typesize", "2"],
        &args!["--filter", "int_trunc=99", "--dtype", "i4"],
        &args!["--dtype", "O"],
        &args!["--dtype", "i3"],
        &args!["--dtype", "f5"],
        &args!["--dtype", "[('a', 'i4'), ('a', 'i4')]"],
        &args!["--dtype", "f4", "--shape", "2,-1"],
        &args!["--dtype", "f4", "--shape", "2,3", "--chunks", "2"],
        &args!["--dtype", "f4", "--shape", "2,3", "--chunks", "0,3"],
        &args!["--dtype", "f4", "--shape", "-1,0"],
        &args!["--dtype", "f4", "--typesize", "2"],
        &args!["--dtype", "f4", "--shape", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"],
    ] {
        let message = run(args!["compress", "-", "-"].iter().chain(options)).bad_usage();
        assert!(!message.contains("panicked"), "{options:?}: {message}");
    }
    let seven = ["--filter", "shuffle"].repeat(7);
    run(args!["compress", "-", "-"].into_iter().chain(seven.into_iter().map(Into::into))).bad_usage();
    for items in ["", "3", "5:3", "a:b"] {
        run(args!["cat", "-", "--items", items]).bad_usage();
    }
    for slice in ["", " ", "a", "1:2:3:4", "[1", "...,..."] {
        run(args!["cat", "-", "--slice", slice]).bad_usage();
    }
    run(args!["cat", "-", "--slice", "1", "--items", "1:2"]).bad_usage();
    run(args!["append", "-", "-"]).bad_usage();
    run(args!["compact", "-"]).bad_usage();
}

/// What others cannot read is written, and said.
#[test]
fn warnings() {
    let data = array_bytes("faces.npy", 8000);
    for (options, what) in [
        (&["--typesize", "8", "--filter", "trunc_prec=-5"][..], "python-blosc2"),
        (&["--filter", "bytedelta=200"], "python-blosc2"),
        (&["--typesize", "128", "--filter", "bytedelta"], "python-blosc2"),
        (&["--filter", "delta", "--filter", "shuffle", "--filter", "delta"], "C-Blosc2"),
    ] {
        let compress = || args!["compress", "-", "-"].into_iter().chain(options.iter().map(Into::into));
        let warned = run_with(compress(), &data);
        let said = &warned.stderr;
        assert!(warned.status == 0 && said.lines().count() == 1, "{options:?}: {said}");
        assert!(said.starts_with("oxiblosc: warning: standard output: ") && said.contains(what), "{options:?}: {said}");
        let frame = run_with(compress().chain(["--quiet".into()]), &data).ok();
        // The filters of the input stay, and with them what is to be said.
        let again = run_with(args!["recompress", "-", "-"], &frame);
        assert_eq!((again.status, &again.stderr), (0, said), "{options:?}");
        run_with(args!["recompress", "-", "-", "--filter", "shuffle"], &frame).ok();
    }
    // Parts of an array, but not of a frame, need the first block of a chunk, which C-Blosc2 may not have decoded.
    let array = array_path("fmri.npy");
    let warned = run(args!["compress", &array, "-", "--filter", "delta"]);
    assert!(warned.status == 0 && warned.stderr.contains("parts of arrays with a delta filter"), "{}", warned.stderr);
    for filter in ["bytedelta", "bytedelta=127"] {
        let args = args!["compress", "-", "-", "--typesize", "127", "--filter", "delta", "--filter", filter];
        run_with(args, &data).ok();
    }
}

/// Messages are for people.
#[test]
fn refusals_say_why() {
    let refused = |options: &[&str]| run(["compress", "-", "-"].iter().chain(options)).bad_usage();
    assert!(refused(&["--meta", "b2nd=/dev/null"]).contains("--dtype and --shape"));
    let message = run(args!["recompress", "-", "-", "--meta", "caterva=/dev/null"]).bad_usage();
    assert!(message.contains("the frame is an array"), "{message}");
    assert!(refused(&["--dtype", "i3"]).contains("i1 to i8"));
    let message = refused(&["--format", "blosc1", "--filter", "delta", "--filter", "trunc_prec=10"]);
    assert!(message.contains("3, 4=10") && !message.contains('{'), "{message}");
    assert!(refused(&["--filter", "trunc_prec=99", "--typesize", "4"]).contains("trunc_prec"));
    assert!(refused(&["--meta", "a=/dev/null", "--meta", "a=/dev/null"]).contains("a is given twice"));
}

#[test]
fn help_and_version_are_no_failures() {
    for option in ["--help", "--version", "-h", "-V"] {
        assert!(!run(args![option]).ok().is_empty(), "{option}");
    }
    for command in ["compress", "cat", "info", "verify", "append", "recompress", "compact", "plugins"] {
        assert!(!run(args![command, "--help"]).ok().is_empty(), "{command}");
    }
}

#[test]
fn missing_and_unreadable_files() {
    let dir = tempdir().expect("a directory");
    let missing = dir.path().join("missing");
    for command in ["cat", "info", "verify"] {
        let message = run(args![command, &missing]).bad_data();
        assert!(message.contains("missing"), "{message}");
        // A directory that is no sparse frame.
        run(args![command, dir.path()]).bad_data();
    }
    run(args!["compress", &missing, "-"]).bad_data();
    run(args!["compress", dir.path(), "-"]).bad_data();
    run(args!["compress", array_path("fmri.npy"), dir.path().join("no/such/directory/out")]).bad_data();
    run(args!["compress", array_path("fmri.npy"), dir.path()]).bad_data();
    assert_eq!(left_in(dir.path()), 0);
}

#[test]
fn a_failed_compress_leaves_nothing() {
    let dir = tempdir().expect("a directory");
    let output = dir.path().join("out.b2frame");
    let mut array = fs::read(array_path("fmri.npy")).expect("the array is in the repository");
    array.truncate(array.len() - 1);
    let message = run_with(args!["compress", "-", &output, "--chunk-size", "100000"], &array).bad_data();
    assert!(message.contains("1179775"), "the message says where the data ends: {message}");
    assert_eq!(left_in(dir.path()), 0);

    // ... and does not touch what was there.
    fs::write(&output, "precious").expect("a file");
    run_with(args!["compress", "-", &output], &array).bad_data();
    assert_eq!(fs::read(&output).expect("a file"), b"precious");
    assert_eq!(left_in(dir.path()), 1);

    // The same for what goes to standard output.
    let run = run_with(args!["compress", "-", "-"], &array);
    assert!(run.stdout.is_empty());
    run.bad_data();
}

#[test]
fn bad_arrays() {
    let header = |dict: &str| {
        let mut file = b"\x93NUMPY\x01\0".to_vec();
        file.extend((dict.len() as u16).to_le_bytes());
        file.extend(dict.bytes());
        file
    };
    let fortran = header("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 2)}");
    for (len, what) in [(7, "the file ends"), (9, "goes on")] {
        let message = run_with(args!["compress", "-", "-"], &[fortran.clone(), vec![0; len]].concat()).bad_data();
        assert!(message.contains(what), "{message}");
    }
    let shape = "1, ".repeat(17);
    let many = header(&format!("{{'descr': '<i2', 'fortran_order': False, 'shape': ({shape})}}"));
    let message = run_with(args!["compress", "-", "-"], &[many, vec![0; 2]].concat()).bad_data();
    assert!(message.contains("17 dimensions"), "{message}");
    let objects = header("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}");
    run_with(args!["compress", "-", "-"], &objects).bad_data();
    let long = header("{'descr': '<i2', 'fortran_order': False, 'shape': (2,)}");
    let message = run_with(args!["compress", "-", "-"], &[long.clone(), vec![0; 5]].concat()).bad_data();
    assert!(message.contains(&(long.len() + 4).to_string()), "{message}");
    for cut in 6..long.len() {
        run_with(args!["compress", "-", "-"], &long[..cut]).bad_data();
    }
    run_with(args!["compress", "-", "-", "--raw"], &long[..20]).ok();
}

#[test]
fn the_input_is_not_the_output() {
    let dir = tempdir().expect("a directory");
    let file = dir.path().join("file");
    fs::write(&file, [7; 1000]).expect("a file");
    let names = ["hard", "soft"].map(|name| dir.path().join(name));
    fs::hard_link(&file, &names[0]).expect("a link");
    #[cfg(unix)]
    std::os::unix::fs::symlink("file", &names[1]).expect("a link");
    for name in names.iter().chain([&file]).filter(|name| name.exists()) {
        for layout in ["contiguous", "open"] {
            let message = run(args!["compress", &file, name, "--layout", layout]).bad_usage();
            assert!(message.contains("same file"), "{message}");
        }
        assert_eq!(fs::read(&file).expect("a file"), [7; 1000]);
    }
    let frame = dir.path().join("frame");
    run(args!["compress", &file, &frame]).ok();
    run(args!["recompress", &frame, &frame, "--layout", "open"]).bad_usage();
    run(args!["recompress", &frame, &frame, "--level", "9"]).ok();
    assert_eq!(run(args!["cat", &frame]).ok(), [7; 1000]);
}

#[cfg(unix)]
#[test]
fn links_lead_to_what_is_written() {
    let dir = tempdir().expect("a directory");
    for layout in ["contiguous", "open", "sparse"] {
        let (link, target) = (dir.path().join(format!("{layout}-link")), dir.path().join(layout));
        std::os::unix::fs::symlink(layout, &link).expect("a link");
        for content in [b"first", b"again"] {
            run_with(args!["compress", "-", &link, "--layout", layout], content).ok();
            assert!(link.symlink_metadata().expect("a link").is_symlink(), "{layout}");
            assert_eq!(run(args!["cat", &target]).ok(), content);
        }
    }
}

#[test]
fn a_broken_pipe_is_quiet() {
    let dir = tempdir().expect("a directory");
    let frame = dir.path().join("out.b2frame");
    run(args!["compress", array_path("health.npy"), &frame, "--chunk-size", "10000"]).ok();
    let mut child = command(args!["cat", &frame]).spawn().expect("the program was built");
    let mut stdout = child.stdout.take().expect("stdout is piped");
    stdout.read_exact(&mut [0; 100]).expect("some bytes");
    drop(stdout);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(141), "not everything has been written");
    // The same for texts, of which nothing arrives.
    for args in [&args!["--help"][..], &args!["--version"], &args!["plugins"], &args!["info", &frame]] {
        let mut child = command(args);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = child.stdout(writer).output().expect("the program was built");
        assert_eq!((output.status.code(), output.stderr.len()), (Some(141), 0), "{args:?}");
    }
}

#[test]
fn a_full_disk_is_reported() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let data = array_bytes("fmri.npy", 100_000);
    let message = run_with(args!["compress", "-", full], &data).bad_data();
    assert!(message.contains("/dev/full"), "{message}");
}

/// What cannot be printed is a failure of every command, also of those that only print a few lines.
#[test]
fn a_full_standard_output_is_reported() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let dir = tempdir().expect("a directory");
    let [frame, other, open, copy] = ["frame", "other", "open", "copy"].map(|name| dir.path().join(name));
    let data = array_path("fmri.npy");
    run(args!["compress", &data, &frame]).ok();
    run(args!["compress", &data, &other, "--raw"]).ok();
    run(args!["compress", &data, &open, "--layout", "open"]).ok();
    let commands = [
        &args!["--help"][..],
        &args!["-h"],
        &args!["--version"],
        &args!["help", "compress"],
        &args!["compress", "--help"],
        &args!["completions", "bash"],
        &args!["plugins"],
        &args!["plugins", "--json"],
        &args!["info", &frame],
        &args!["info", "--json", &frame],
        &args!["verify", &frame],
        &args!["recover", &frame, &copy],
        &args!["recover", "--json", &frame, &copy],
        &args!["seal", &open],
        &args!["cat", &frame],
        &args!["cat", &frame, "--items", "0:1"],
        &args!["cat", &frame, "--encode", "gzip"],
        &args!["compress", &data, "-"],
        &args!["compress", &data, "-", "--layout", "open"],
        &args!["copy", &frame, "-"],
        &args!["recompress", &frame, "-"],
        &args!["tune", "--quiet", "--budget", "0.2", &data],
        &args!["tune", "--quiet", "--json", "--budget", "0.2", &data],
        &args!["bench", "--quiet", "--seconds", "0.01", &data],
        &args!["bench", "--quiet", "--json", "--seconds", "0.01", &data],
    ];
    // Where 1 stands for a difference.
    let diffs = [&args!["diff", &frame, &other][..], &args!["diff", "--json", &frame, &other]];
    for (args, status) in commands.map(|args| (args, 1)).into_iter().chain(diffs.map(|args| (args, 2))) {
        let output = command(args).stdout(fs::File::create(full).expect("a device")).output().expect("it was built");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
        assert!(said.starts_with("oxiblosc: standard output: ") && said.lines().count() == 1, "{args:?}: {said}");
    }
}

fn left_in(dir: &Path) -> usize {
    fs::read_dir(dir).expect("a directory").count()
}
