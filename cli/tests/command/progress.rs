//! What is shown while work goes on, on a terminal and only there.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::tempdir;

use crate::args;
use crate::program::{Run, array_bytes, command, run, run_with};

/// Runs the program in a shell on a terminal of its own, which `script` of util-linux makes, and returns what appeared
/// there; `None` without it.
pub(crate) fn on_a_terminal(line: &str, dir: &Path) -> Option<String> {
    let known = Command::new("script").arg("--version").output().ok()?;
    if !String::from_utf8_lossy(&known.stdout).contains("util-linux") {
        return None;
    }
    let line = line.replace("oxiblosc", env!("CARGO_BIN_EXE_oxiblosc"));
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(dir);
    let output = command.stdin(Stdio::null()).output().expect("it has run before");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{line}: {shown}");
    Some(shown)
}

#[test]
fn bars_are_for_people() {
    let dir = tempdir().expect("a directory");
    // Long enough for a bar to be drawn.
    fs::write(dir.path().join("data"), array_bytes("fmri.npy", 1_000_000).repeat(30)).expect("a file");
    let slow = "--codec zstd --level 9 --threads 1";
    for (line, parts) in [
        (format!("oxiblosc compress data frame --typesize 2 {slow}"), &["of 28.61 MiB", "/s", "data to frame"][..]),
        // Of unknown length, to a place that has it only at the end.
        (format!("cat data | oxiblosc compress - again {slow}"), &["MiB", "/s", "standard input to again"]),
        ("oxiblosc recompress frame small --codec lz4".into(), &["frame to small"]),
        ("oxiblosc verify frame".into(), &["good"]),
        ("oxiblosc recover frame saved".into(), &["nothing lost"]),
    ] {
        let Some(shown) = on_a_terminal(&line, dir.path()) else { return };
        for part in parts {
            assert!(shown.contains(part), "{line}: no {part:?} in {shown:?}");
        }
    }
    let Some(shown) = on_a_terminal("oxiblosc compress data quiet --quiet", dir.path()) else { return };
    assert_eq!(shown, "");
    // No terminal, nothing shown.
    run(args!["compress", dir.path().join("data"), dir.path().join("silent")]).ok();
}

/// The events on standard error, of which the first begins and the last ends.
fn events(run: &Run) -> Vec<Value> {
    let events: Vec<Value> =
        run.stderr.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line:?}: {e}"))).collect();
    assert_eq!(events[0]["event"], "begin", "{}", run.stderr);
    events
}

/// Events that are about progress must not go backwards.
fn ends_at(run: &Run, total: u64) -> Value {
    assert_eq!(run.status, 0, "{}", run.stderr);
    let events = events(run);
    let last = events.last().expect("there is a first one").clone();
    assert_eq!(
        (&last["event"], &last["done"], &last["total"]),
        (&"end".into(), &total.into(), &total.into()),
        "{last}"
    );
    for pair in events.windows(2) {
        assert!(pair[0]["done"].as_u64() <= pair[1]["done"].as_u64(), "{}", run.stderr);
    }
    last
}

#[test]
fn events_are_for_programs() {
    let dir = tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    let data = array_bytes("fmri.npy", 1_000_000).repeat(30);
    fs::write(path("data"), &data).expect("a file");
    let json = |args: &[std::ffi::OsString]| run(args.iter().cloned().chain(args!["--progress", "json"]));
    // Long enough for events in between.
    let done =
        json(&args!["compress", path("data"), path("frame"), "--typesize", "2", "--threads", "1", "--level", "7"]);
    let last = ends_at(&done, data.len() as u64);
    assert!(events(&done).iter().any(|event| event["event"] == "progress"), "{}", done.stderr);
    let len = fs::metadata(path("frame")).expect("a file").len();
    let written = last["written"].as_u64().expect("a number");
    assert!(written > len / 2 && written <= len, "{written} of {len}");
    let ratio = last["ratio"].as_f64().expect("a number");
    assert!((ratio - data.len() as f64 / written as f64).abs() < 1e-9 && last["per_second"].as_f64() > Some(0.0));

    let cbytes = crate::program::info(&path("frame"))["cbytes"].as_u64().expect("a number");
    for (name, args) in [
        ("verify", args!["verify", path("frame")].to_vec()),
        ("recompress", args!["recompress", path("frame"), path("small"), "--codec", "lz4"].to_vec()),
        ("copy", args!["copy", path("frame"), path("sparse/")].to_vec()),
        ("verify", args!["verify", path("sparse")].to_vec()),
        ("cat", args!["cat", path("frame")].to_vec()),
        // By URL as by name.
        ("verify", args!["verify", format!("file://{}", path("frame").display())].to_vec()),
    ] {
        let run = json(&args);
        let last = events(&run).pop().expect("there is one");
        assert_eq!((run.status, &last["event"], &last["total"]), (0, &"end".into(), &cbytes.into()), "{name}: {last}");
        // Headers and indexes count, too.
        let read = last["done"].as_u64().expect("a number");
        assert!((cbytes..cbytes + cbytes / 10 + 100_000).contains(&read), "{name}: {read} of {cbytes}");
    }
    let recovered = json(&args!["recover", path("frame"), path("saved")]);
    let last = events(&recovered).pop().expect("there is one");
    assert_eq!((recovered.status, &last["event"], &last["total"]), (0, &"end".into(), &len.into()));
    assert!(last["done"].as_u64() >= Some(cbytes));
    // Steps, of which there are as many as measurements.
    let bench = json(&args!["bench", path("frame"), "--seconds", "0", "--threads", "1", "--max-input", "100M"]);
    let last = ends_at(&bench, 4);
    assert_eq!((&last["unit"], &last["ratio"]), (&"steps".into(), &Value::Null));

    // Of unknown length.
    let piped = run_with(args!["--progress", "json", "compress", "-", "-", "--quiet"], &data);
    assert_eq!(piped.stderr, "", "quiet is quiet");
    let piped = run_with(args!["compress", "-", path("again"), "--progress=json"], &data[..70_000]);
    let events = events(&piped);
    assert_eq!((&events[0]["total"], events.last().map(|last| &last["done"])), (&Value::Null, Some(&70_000.into())));
    run(args!["verify", path("frame"), "--progress", "none"]).ok();
}

#[test]
fn errors_and_warnings_are_events_too() {
    let dir = tempdir().expect("a directory");
    let frame = dir.path().join("frame");
    let data = array_bytes("fmri.npy", 300_000);
    run_with(args!["compress", "-", &frame, "--chunk-size", "64K", "--checksum", "xxh3"], &data).ok();
    let mut bytes = fs::read(&frame).expect("a file");
    bytes[400] ^= 1;
    fs::write(&frame, bytes).expect("a file");
    let failed = run(args!["--progress", "json", "verify", &frame]);
    let last = events(&failed).pop().expect("there is one");
    assert_eq!((failed.status, &last["event"], &last["status"]), (1, &"error".into(), &1.into()));
    let message = last["message"].as_str().expect("text");
    assert!(message.contains("chunk 0") && message.contains("`oxiblosc recover`"), "{message}");
    // The same in words.
    let plain = run(args!["verify", &frame]);
    assert_eq!(plain.stderr, format!("oxiblosc: {message}\n"));
    let args = args!["compress", "-", "-", "--filter", "trunc_prec=-10", "--typesize", "4", "--progress", "json"];
    let warned = run_with(args, &data);
    let warning = events(&warned).into_iter().find(|event| event["event"] == "warning");
    assert!(
        warning.is_some_and(|warning| warning["message"].as_str().is_some_and(|text| text.contains("python-blosc2")))
    );
    // The shell's usual way out.
    let mut child = command(args!["cat", &frame, "--progress", "json"]).spawn().expect("the program was built");
    drop(child.stdout.take());
    child.wait().expect("it ends");
}
