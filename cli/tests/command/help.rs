//! Help with its examples, completions and manual.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::tempdir;

use crate::args;
use crate::program::{array_path, run, run_with};

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

fn help(subcommand: &str) -> String {
    String::from_utf8(run(args![subcommand, "--help"]).ok()).expect("text")
}

fn subcommands() -> Vec<String> {
    let help = String::from_utf8(run(args!["--help"]).ok()).expect("text");
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    names.filter(|name| name != "help").collect()
}

/// The files that the examples name, in a directory.
fn files(dir: &Path) {
    let path = |name: &str| dir.join(name);
    fs::copy(array_path("fmri.npy"), path("data.npy")).expect("a file");
    fs::copy(array_path("fmri.npy"), path("more.npy")).expect("a file");
    for name in ["data.b2nd", "other.b2nd"] {
        run(args!["compress", path("data.npy"), path(name), "--checksum", "xxh3", "--quiet"]).ok();
    }
    run(args!["recompress", path("other.b2nd"), path("other.b2nd"), "--codec", "lz4", "--quiet"]).ok();
    fs::copy(path("data.b2nd"), path("grown.b2nd")).expect("a file");
    run(args!["append", path("grown.b2nd"), path("more.npy"), "--quiet"]).ok();
    let bytes = fs::read(path("data.npy")).expect("a file");
    let plain = path("plain.b2frame");
    run_with(args!["compress", "-", &plain, "--chunk-size", "64K", "--raw", "--quiet"], &bytes).ok();
    fs::write(path("data.csv.gz"), run(args!["cat", &plain, "--encode", "gzip"]).ok()).expect("a file");
    let mut whole = fs::read(&plain).expect("a file");
    whole.truncate(whole.len() - 1000);
    fs::write(path("damaged.b2frame"), whole).expect("a file");
    let open = run_with(args!["compress", "-", "-", "--layout", "open", "--chunk-size", "64K", "--quiet"], &bytes).ok();
    fs::write(path("log.b2frame"), open).expect("a file");
}

#[test]
fn every_example_works() {
    let (kept, bin) = (tempdir().expect("a directory"), Path::new(env!("CARGO_BIN_EXE_oxiblosc")));
    files(kept.path());
    let mut search = vec![bin.parent().expect("a directory").to_path_buf()];
    search.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let search = std::env::join_paths(search).expect("no colons");
    let subcommands = subcommands();
    assert!(subcommands.len() >= 18, "{subcommands:?}");
    for subcommand in &subcommands {
        let help = help(subcommand);
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{subcommand} has no examples"));
        let (lines, titles): (Vec<_>, Vec<_>) = examples.trim_end().lines().partition(|line| line.starts_with("    "));
        assert_eq!(lines.len(), titles.len(), "{subcommand}: {examples}");
        for line in lines {
            assert!(line.contains(&format!("oxiblosc {subcommand} ")) || *subcommand == "plugins", "{line}");
            // Each begins with the same files.
            let dir = tempdir().expect("a directory");
            for entry in fs::read_dir(kept.path()).expect("a directory").map(|entry| entry.expect("an entry")) {
                fs::copy(entry.path(), dir.path().join(entry.file_name())).expect("a file");
            }
            let mut shell = Command::new("sh");
            let output = shell.args(["-ec", line]).current_dir(dir.path()).env("PATH", &search).output();
            let output = output.expect("there is a shell");
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
            // It has made or changed a file, or printed something.
            let made = fs::read_dir(dir.path()).expect("a directory").any(|entry| {
                let entry = entry.expect("an entry");
                let before = fs::read(kept.path().join(entry.file_name())).ok();
                entry.path().is_dir() || before != fs::read(entry.path()).ok()
            });
            assert!(made || !output.stdout.is_empty(), "{line} has done nothing");
        }
    }
}

#[test]
fn completions_of_every_shell() {
    for shell in SHELLS {
        let script = String::from_utf8(run(args!["completions", shell]).ok()).expect("text");
        for word in ["compress", "recompress", "ratio-map", "bitshuffle"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    run(args!["completions", "tcsh"]).bad_usage();
    // bash takes the script, and completes with it.
    let dir = tempdir().expect("a directory");
    let script = dir.path().join("oxiblosc.bash");
    fs::write(&script, run(args!["completions", "bash"]).ok()).expect("a file");
    let line = format!(
        ". {} && COMP_WORDS=(oxiblosc reco) COMP_CWORD=1 && _oxiblosc oxiblosc reco oxiblosc && echo ${{COMPREPLY[@]}}",
        script.display()
    );
    let Ok(output) = Command::new("bash").args(["-c", &line]).output() else { return };
    let found = String::from_utf8(output.stdout).expect("text");
    assert_eq!(found.split_whitespace().collect::<BTreeSet<_>>(), BTreeSet::from(["recompress", "recover"]));
}

#[test]
fn a_manual() {
    let dir = tempdir().expect("a directory");
    let pages = dir.path().join("new/man1");
    run(args!["man", &pages]).ok();
    let found: BTreeSet<String> = fs::read_dir(&pages)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    let expected = subcommands().into_iter().map(|name| format!("oxiblosc-{name}.1"));
    assert_eq!(found, expected.chain(["oxiblosc.1".into()]).collect());
    let page = fs::read_to_string(pages.join("oxiblosc-compress.1")).expect("a page");
    assert!(page.contains(".TH oxiblosc-compress 1") && page.contains("Examples:"), "{page}");
    assert!(fs::read_to_string(pages.join("oxiblosc.1")).expect("a page").contains("oxiblosc\\-recover(1)"));
    // A file in place of the directory.
    let taken = dir.path().join("taken");
    fs::write(&taken, b"").expect("a file");
    assert!(run(args!["man", &taken]).bad_data().contains("taken"));
}

#[test]
fn errors_say_what_to_do() {
    let dir = tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    fs::write(path("text"), "neither of them, and longer than the header of a chunk").expect("a file");
    for command in ["info", "cat", "verify"] {
        let message = run(args![command, path("text")]).bad_data();
        assert!(message.contains("`oxiblosc compress`"), "{message}");
    }
    run_with(args!["compress", "-", path("frame"), "--chunk-size", "64K"], &vec![1; 300_000]).ok();
    let bytes = fs::read(path("frame")).expect("a file");
    fs::write(path("cut"), &bytes[..bytes.len() - 50]).expect("a file");
    for command in ["info", "cat", "verify"] {
        let message = run(args![command, path("cut")]).bad_data();
        assert!(message.trim_end().ends_with("`oxiblosc recover` saves what is left of it"), "{message}");
    }
    crate::missing_plugins::write(&path("plugin"), crate::missing_plugins::params());
    let message = run(args!["cat", path("plugin")]).bad_data();
    assert!(message.contains("`oxiblosc --plugin FILE`"), "{message}");
}
