//! `compress --part` and `commit`: an array that several processes write.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::args;
use crate::program::{Run, command, info, run};

/// Items of an array of this many rows: 32-bit numbers that depend on their place.
fn items(rows: std::ops::Range<u64>, row: u64) -> Vec<u8> {
    rows.flat_map(|i| (0..row).map(move |j| (i * 100_003 + j * 7) as u32)).flat_map(u32::to_le_bytes).collect()
}

/// Writes a `.npy` file with these rows.
fn npy(path: &Path, rows: std::ops::Range<u64>, row: &[u64]) {
    let shape: String = row.iter().map(|len| format!("{len}, ")).collect();
    let dict = format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({}, {shape})}}", rows.end - rows.start);
    let text = format!("{dict}{}\n", " ".repeat((10 + dict.len() + 1).next_multiple_of(64) - 10 - dict.len() - 1));
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((text.len() as u16).to_le_bytes());
    file.extend(text.as_bytes());
    file.extend(items(rows, row.iter().product()));
    fs::write(path, file).expect("it is written");
}

struct Job {
    directory: tempfile::TempDir,
    len: u64,
    row: Vec<u64>,
    step: u64,
    more: Vec<OsString>,
}

impl Job {
    fn new(len: u64, row: &[u64], step: u64, more: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let this = Self { directory, len, row: row.to_vec(), step, more: more.iter().map(Into::into).collect() };
        for part in 1..=this.parts() {
            npy(&this.input(part), this.rows(part), row);
        }
        this
    }

    fn parts(&self) -> u64 {
        self.len.div_ceil(self.step)
    }

    fn rows(&self, part: u64) -> std::ops::Range<u64> {
        (part - 1) * self.step..(part * self.step).min(self.len)
    }

    fn input(&self, part: u64) -> PathBuf {
        self.directory.path().join(format!("part{part}.npy"))
    }

    fn output(&self) -> PathBuf {
        self.directory.path().join("whole.b2nd")
    }

    fn args(&self, part: u64) -> Vec<OsString> {
        let mut args = args!["compress", "-q", self.input(part), self.output(), "--part"].to_vec();
        args.push(format!("{part}/{}", self.parts()).into());
        if !self.len.is_multiple_of(self.step) {
            let shape: Vec<_> =
                std::iter::once(self.len).chain(self.row.iter().copied()).map(|n| n.to_string()).collect();
            args.extend(args!["--shape", shape.join(",")]);
        }
        args.extend(self.more.iter().cloned());
        args
    }

    fn part(&self, part: u64) -> Run {
        run(self.args(part))
    }

    fn commit(&self, more: &[&str]) -> Run {
        let mut args = args!["commit", "-q", self.output()].to_vec();
        args.extend(more.iter().map(OsString::from));
        run(args)
    }

    #[track_caller]
    fn check(&self) {
        let found = run(args!["cat", self.output()]).ok();
        assert!(found == items(0..self.len, self.row.iter().product()), "the items differ");
        run(args!["verify", self.output()]).ok();
        let shape: Vec<_> = std::iter::once(self.len).chain(self.row.iter().copied()).collect();
        assert_eq!(info(&self.output())["shape"], serde_json::json!(shape));
    }
}

#[test]
fn four_processes_at_once() {
    // Rows that no chunk length divides, a last part that is shorter, and chunks of 256 KiB so that there are many.
    for (len, row, step) in
        [(404, vec![211, 5], 101), (397, vec![1000], 100), (1030, vec![7, 31], 258), (4, vec![70_001], 1)]
    {
        let job = Job::new(len, &row, step, &["--chunk-size", "256K"]);
        let running: Vec<_> = (1..=4).map(|part| command(job.args(part)).spawn().expect("it starts")).collect();
        for child in running {
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert!(run(args!["info", job.output()]).bad_data().contains("whole.b2nd"), "it is not committed");
        job.commit(&["--parts", "4"]).ok();
        job.check();
    }
}

#[test]
fn a_missing_part_is_named() {
    let job = Job::new(160, &[3000], 10, &[]);
    (1..=16).filter(|&part| part != 3).for_each(|part| drop(job.part(part).ok()));
    let said = job.commit(&["--parts", "16"]).bad_data();
    assert!(said.contains("missing: part 3/16:"), "{said}");
    let said = job.commit(&[]).bad_data();
    assert!(said.contains("rows 20 to 30"), "{said}");
    // It can be written now.
    job.part(3).ok();
    job.commit(&["--parts", "16"]).ok();
    job.check();
}

#[test]
fn missing_items_can_be_zeros() {
    let job = Job::new(40, &[3000], 10, &[]);
    [1, 2, 4].into_iter().for_each(|part| drop(job.part(part).ok()));
    job.commit(&["--missing", "zero"]).ok();
    let found = run(args!["cat", job.output()]).ok();
    assert_eq!(found[20 * 12_000..30 * 12_000], [0; 120_000]);
    assert!(found[30 * 12_000..] == items(30..40, 3000));
}

#[test]
fn a_part_that_is_written_twice() {
    let job = Job::new(40, &[500, 20], 10, &["--codec", "lz4"]);
    // The last write counts.
    npy(&job.input(2), 110..120, &[500, 20]);
    job.part(2).ok();
    npy(&job.input(2), job.rows(2), &[500, 20]);
    (1..=4).for_each(|part| drop(job.part(part).ok()));
    job.part(2).ok();
    job.commit(&[]).ok();
    job.check();
    // After the commit it is too late, and nothing changes.
    let said = job.part(2).bad_data();
    assert!(said.contains("is committed already"), "{said}");
    job.check();
}

#[test]
fn two_commits_at_the_same_time() {
    let job = Job::new(30, &[2000], 10, &[]);
    (1..=3).for_each(|part| drop(job.part(part).ok()));
    let commits: Vec<_> =
        (0..2).map(|_| command(args!["commit", "-q", job.output()]).spawn().expect("it starts")).collect();
    let ended: Vec<_> = commits.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect();
    // A commit that finds the very index that it was about to write has succeeded too.
    let (won, lost): (Vec<_>, Vec<_>) = ended.iter().partition(|output| output.status.success());
    assert!(!won.is_empty());
    for output in lost {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("is committed already"), "{said}");
    }
    job.check();
    // Whoever comes later is told.
    assert!(job.commit(&[]).bad_data().contains("is committed already"));
    job.check();
}

#[test]
fn plain_bytes_and_discarding() {
    let directory = tempfile::tempdir().expect("a directory");
    let (input, output) = (directory.path().join("bytes"), directory.path().join("whole"));
    let part = |number: &str, bytes: Vec<u8>| {
        fs::write(&input, bytes).expect("it is written");
        run(args!["compress", &input, &output, "-q", "--part", number, "--dtype", "u4", "--shape", "5,70000"])
    };
    part("1/2", items(0..3, 70_000)).ok();
    assert!(part("2/2", items(3..4, 70_000)).bad_data().contains("ends 280000 bytes early"));
    assert!(part("2/2", items(3..6, 70_000)).bad_data().contains("more than the 2 rows"));
    run(args!["commit", &output, "--discard", "-q"]).ok();
    assert!(run(args!["commit", &output]).bad_data().contains("no parts"));
    part("1/2", items(0..3, 70_000)).ok();
    part("2/2", items(3..5, 70_000)).ok();
    run(args!["commit", &output, "-q"]).ok();
    assert!(run(args!["cat", &output]).ok() == items(0..5, 70_000));
}

#[test]
fn what_makes_no_parts() {
    let job = Job::new(40, &[500], 10, &[]);
    let refused = |more: &[&str]| {
        let mut args = args!["compress", job.input(1), job.output()].to_vec();
        args.extend(more.iter().map(OsString::from));
        run(args).bad_usage()
    };
    assert!(refused(&["--part", "0/4"]).contains("counted from 1 to N"));
    assert!(refused(&["--part", "1/4", "--layout", "contiguous"]).contains("sparse"));
    assert!(refused(&["--part", "1/4", "--shape", "40,501"]).contains("40, 501"));
    assert!(refused(&["--part", "1/4", "--shape", "41,500"]).contains("cannot be part 1 of 4"));
    assert!(refused(&["--part", "1/4", "--shape", "-1,500"]).contains("known"));
    assert!(refused(&["--part", "1/4", "--chunks", "4,500"]).contains("do not divide"));
    assert!(refused(&["--part", "1/4", "--raw"]).contains("--dtype"));
    assert!(!job.output().exists());
    // A part with other parameters is told which.
    job.part(1).ok();
    let said = run(job.args(2).into_iter().chain(args!["--codec", "lz4"])).bad_data();
    assert!(said.contains("all writers of a frame must agree on its"), "{said}");
}

#[test]
fn commit_makes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("none/whole.b2nd");
    for more in [None, Some("--discard")] {
        let said = run(args!["commit", &path].into_iter().chain(more.map(OsString::from))).bad_data();
        assert!(said.contains("whole.b2nd"), "{said}");
        assert!(!directory.path().join("none").exists());
    }
    // A directory without parts, and a file.
    fs::create_dir_all(&path).expect("it is made");
    let said = run(args!["commit", &path, "--discard"]).bad_data();
    assert!(said.contains("no parts to discard"), "{said}");
    assert_eq!(fs::read_dir(&path).expect("a directory").count(), 0);
    let said = run(args!["info", &path]).bad_data();
    assert!(said.contains("a directory, but not a sparse frame"), "{said}");
    // Chunks whose index is lost are not parts that somebody has left.
    let lost = directory.path().join("lost");
    fs::write(directory.path().join("bytes"), [7; 5000]).expect("it is written");
    run(args!["compress", "-q", directory.path().join("bytes"), &lost, "--layout", "sparse"]).ok();
    fs::remove_file(lost.join("chunks.b2frame")).expect("there is an index");
    let said = run(args!["commit", &lost, "--discard"]).bad_data();
    assert!(said.contains("chunks without an index") && said.contains("recover"), "{said}");
    assert_eq!(fs::read_dir(&lost).expect("a directory").count(), 1);
    let file = directory.path().join("file");
    fs::write(&file, "text").expect("it is written");
    let said = run(args!["commit", &file]).bad_data();
    assert!(said.contains("this is a file, and a sparse frame is a directory"), "{said}");
}

#[test]
fn parts_that_do_not_agree() {
    // The last part is shorter, and nobody has said how long the array is.
    let job = Job::new(50, &[5000], 20, &[]);
    let part = |number: u64, more: &[&str]| {
        let number_of = format!("{number}/3");
        let args = args!["compress", "-q", job.input(number), job.output(), "--part", number_of];
        run(args.into_iter().chain(more.iter().map(OsString::from)))
    };
    part(1, &[]).ok();
    let said = part(3, &[]).bad_data();
    let advice = ["length in bytes", "--shape of the whole array", "commit --discard"];
    assert!(advice.iter().all(|words| said.contains(words)), "{said}");
    let said = run(args!["info", job.output()]).bad_data();
    assert!(said.contains("not yet committed") && said.contains("oxiblosc commit"), "{said}");
    job.commit(&["--discard"]).ok();
    assert!(job.commit(&["--discard"]).bad_data().contains("no parts to discard"));
    (1..=3).for_each(|number| drop(part(number, &["--shape", "50,5000"]).ok()));
    let said = part(2, &["--shape", "50,5000", "--codec", "lz4"]).bad_data();
    assert!(said.contains("its codec: it was begun with zstd, and this writer has lz4"), "{said}");
    job.commit(&[]).ok();
    job.check();
}
