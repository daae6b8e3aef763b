//! Figures of tests, in files of lines with tabs: what `docs/reliability.md` is made of.

use std::fs::{self, OpenOptions};
use std::path::Path;

/// Puts a row where figures are asked for (`OXIBLOSC_FIGURES=DIRECTORY`), into the file of this name: in place of the row
/// that has the same first field. Comments stay.
pub(crate) fn put(file: &str, head: &[&str], row: &[String]) {
    let Some(directory) = std::env::var_os("OXIBLOSC_FIGURES") else { return };
    let directory = Path::new(&directory);
    fs::create_dir_all(directory).expect("figures can be written");
    // Tests run side by side.
    let lock =
        OpenOptions::new().create(true).append(true).open(directory.join(".lock")).expect("figures can be written");
    lock.lock().expect("figures can be written");
    let path = directory.join(file);
    let before = fs::read_to_string(&path).unwrap_or_default();
    let (comments, rows): (Vec<&str>, Vec<&str>) = before.lines().partition(|line| line.starts_with('#'));
    let first = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
    let row = row.join("\t");
    let kept = rows.into_iter().skip(1).filter(|line| first(line) != first(&row)).map(str::to_owned);
    let mut rows: Vec<String> = kept.chain([row.clone()]).collect();
    rows.sort_by_key(|line| (first(line).parse::<u64>().ok(), first(line)));
    let lines = comments.into_iter().map(str::to_owned).chain([head.join("\t")]).chain(rows);
    let text: String = lines.map(|line| line + "\n").collect();
    fs::write(path, text).expect("figures can be written");
}
