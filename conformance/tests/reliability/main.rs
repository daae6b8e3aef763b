//! `docs/reliability.md` is what its template says with the figures in `docs/reliability`.
//!
//! `OXIBLOSC_UPDATE=1 cargo test -p oxiblosc-conformance --test reliability` writes it; `.ci/reliability` does, and can take
//! the figures anew. In the template stands
//!
//! | | for |
//! |---|---|
//! | `{{value FILE COLUMN ROW}}` | a value of the row with this first field |
//! | `{{last FILE COLUMN}}` | a value of the last row |
//! | `{{sum FILE COLUMN}}` | the sum of a column |
//! | `{{rows FILE}}` | the number of rows |
//! | `{{table FILE}}` | all of it, as a table |
//! | `{{by FILE COLUMN COLUMN...}}` | a table with a row for each value of the first column, and the sums of the others |
//! | `{{said PATH KEY}}` | what follows `KEY=` in a file of the repository |
//! | `{{note FILE}}` | the comments: on which machine, and how |
//!
//! and behind any of them `as GiB`, `as MiB` or `as hours`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_page_says_what_the_figures_say() {
    let docs = root().join("docs");
    let template = fs::read_to_string(docs.join("reliability/template.md")).expect("there is a template");
    let page = render(&template).unwrap_or_else(|error| panic!("docs/reliability/template.md: {error}"));
    let path = docs.join("reliability.md");
    if std::env::var_os("OXIBLOSC_UPDATE").is_some() {
        fs::write(&path, page).expect("the page can be written");
        return;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let differs = page.lines().zip(found.lines()).position(|(a, b)| a != b);
    assert!(page == found, "docs/reliability.md is not up to date (from line {differs:?}): run .ci/reliability");
}

fn render(template: &str) -> Result<String, String> {
    let mut page =
        String::from("<!-- Made by .ci/reliability from docs/reliability: change the template there. -->\n\n");
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (words, after) = behind.split_once("}}").ok_or("a {{ without }}")?;
        page.push_str(before);
        page.push_str(&field(words).map_err(|error| format!("{{{{{words}}}}}: {error}"))?);
        rest = after;
    }
    page.push_str(rest);
    Ok(page)
}

fn field(words: &str) -> Result<String, String> {
    let (words, unit) = words.split_once(" as ").map_or((words, None), |(words, unit)| (words, Some(unit)));
    let words: Vec<&str> = words.split_whitespace().collect();
    let value = match words[..] {
        ["value", file, column, row] => Figures::read(file)?.value(column, row)?,
        ["last", file, column] => {
            let figures = Figures::read(file)?;
            let row = figures.rows.last().ok_or("no rows")?.first().cloned().unwrap_or_default();
            figures.value(column, &row)?
        }
        ["sum", file, column] => Figures::read(file)?.sum(column)?.to_string(),
        ["rows", file] => Figures::read(file)?.rows.len().to_string(),
        ["said", path, key] => said(path, key)?,
        ["table", file] => return Ok(Figures::read(file)?.table()),
        ["by", file, ref columns @ ..] => return Figures::read(file)?.by(columns),
        ["note", file] => return Ok(Figures::read(file)?.notes.join(" ")),
        _ => return Err("not to be understood".into()),
    };
    let number = value.parse::<u64>();
    Ok(match (number, unit) {
        (Ok(number), None) => grouped(number),
        (Ok(number), Some("GiB")) => tenths(number, 1 << 30, "GiB"),
        (Ok(number), Some("MiB")) => tenths(number, 1 << 20, "MiB"),
        (Ok(number), Some("hours")) => tenths(number, 3600, "hours"),
        (Ok(_), Some(unit)) => return Err(format!("there is no unit {unit}")),
        (Err(_), _) => value,
    })
}

fn said(path: &str, key: &str) -> Result<String, String> {
    let text = fs::read_to_string(root().join(path)).map_err(|error| error.to_string())?;
    let value = text.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    value.map(str::to_owned).ok_or_else(|| format!("{path} does not say {key}=..."))
}

/// 1234567 as 1,234,567.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut groups: Vec<&str> = Vec::new();
    if first > 0 {
        groups.push(&digits[..first]);
    }
    groups.extend((first..digits.len()).step_by(3).map(|at| &digits[at..at + 3]));
    groups.join(",")
}

fn tenths(number: u64, unit: u64, name: &str) -> String {
    let tenths = (number * 10 + unit / 2) / unit;
    format!("{}.{} {name}", grouped(tenths / 10), tenths % 10)
}

/// A file of figures.
struct Figures {
    notes: Vec<String>,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Figures {
    fn read(file: &str) -> Result<Self, String> {
        let path = root().join("docs/reliability").join(file).with_extension("tsv");
        let text = fs::read_to_string(&path).map_err(|error| format!("docs/reliability/{file}.tsv: {error}"))?;
        let (notes, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
        let mut lines = lines.into_iter().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
        let head = lines.next().ok_or("the file is empty")?;
        let notes = notes.into_iter().map(|note| note.trim_start_matches(['#', ' ']).to_owned()).collect();
        Ok(Self { notes, head, rows: lines.collect() })
    }

    fn column(&self, name: &str) -> Result<usize, String> {
        self.head.iter().position(|head| head == name).ok_or_else(|| format!("there is no column {name}"))
    }

    fn value(&self, column: &str, row: &str) -> Result<String, String> {
        let found = self.rows.iter().find(|fields| fields.first().is_some_and(|first| first == row));
        let value = found.ok_or_else(|| format!("there is no row {row}"))?.get(self.column(column)?);
        value.cloned().ok_or_else(|| format!("row {row} has no {column}"))
    }

    fn sum(&self, column: &str) -> Result<u64, String> {
        let at = self.column(column)?;
        let value = |row: &Vec<String>| row.get(at).and_then(|value| value.parse::<u64>().ok());
        self.rows.iter().map(value).sum::<Option<u64>>().ok_or_else(|| format!("{column} has no numbers"))
    }

    fn table(&self) -> String {
        let rows: Vec<Vec<String>> = self.rows.clone();
        table(&self.head, &rows)
    }

    fn by(&self, columns: &[&str]) -> Result<String, String> {
        let [key, values @ ..] = columns else { return Err("by what?".into()) };
        let key_at = self.column(key)?;
        let mut groups: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for row in &self.rows {
            let group =
                groups.entry(row.get(key_at).cloned().unwrap_or_default()).or_insert_with(|| vec![0; values.len()]);
            for (sum, name) in group.iter_mut().zip(values) {
                let value = row.get(self.column(name)?).and_then(|value| value.parse::<u64>().ok());
                *sum += value.ok_or_else(|| format!("{name} has no numbers"))?;
            }
        }
        let head: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        let row = |(key, sums): (String, Vec<u64>)| [key].into_iter().chain(sums.iter().map(u64::to_string)).collect();
        Ok(table(&head, &groups.into_iter().map(row).collect::<Vec<_>>()))
    }
}

/// A table in Markdown, with numbers on the right.
fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let line = |fields: Vec<String>| format!("| {} |\n", fields.join(" | "));
    let words = |name: &String| name.replace('_', " ");
    let number = |field: &String| field.parse::<u64>().map_or_else(|_| field.clone(), grouped);
    let is_number = |column: usize| {
        rows.iter().all(|row| row.get(column).is_some_and(|field| column > 0 && field.parse::<u64>().is_ok()))
    };
    let rules = (0..head.len()).map(|column| if is_number(column) { "---:" } else { "---" }.to_owned());
    let mut text = line(head.iter().map(words).collect());
    text.push_str(&line(rules.collect()));
    text.extend(rows.iter().map(|row| line(row.iter().map(number).collect())));
    text.trim_end().to_owned()
}

#[test]
fn numbers_are_easy_to_read() {
    assert_eq!([0, 12, 123, 1234, 1_234_567].map(grouped), ["0", "12", "123", "1,234", "1,234,567"]);
    assert_eq!(tenths(1 << 30, 1 << 30, "GiB"), "1.0 GiB");
    assert_eq!(tenths(5400, 3600, "hours"), "1.5 hours");
}
