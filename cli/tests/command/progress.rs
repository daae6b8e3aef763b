//! What is shown while work goes on, on a terminal and only there.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, run};

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
