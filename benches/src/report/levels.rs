//! Speed ratios to C-Blosc2 by codec and level: a table, and a plot for each group from the same figures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use super::Report;
use crate::peer::name;
use crate::race::geomean;
use crate::workload::Role;
use crate::{Error, Result};

/// The groups that have codecs and levels.
const GROUPS: [&str; 3] = ["compress", "decompress", "items"];
/// Data that nobody has tuned for, with their colours.
const ROLES: [(Role, &str); 2] = [(Role::Held, "#0072b2"), (Role::Generated, "#d55e00")];

const PANEL: f64 = 166.0;
const LEFT: f64 = 44.0;
const TOP: f64 = 44.0;
const HEIGHT: f64 = 220.0;
const BOTTOM: f64 = 56.0;
/// Ticks of the logarithmic axis.
const TICKS: [f64; 12] = [0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.2];

/// What the rows of a group, a codec, a level and a role have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figures {
    rows: usize,
    geomean: f64,
    /// A tenth of the rows are at this or under it, ...
    low: f64,
    /// ... and a tenth at this or above it.
    high: f64,
}

impl Figures {
    fn of(mut ratios: Vec<f64>) -> Self {
        ratios.sort_by(f64::total_cmp);
        let tenth = (ratios.len() - 1) / 10;
        Self {
            rows: ratios.len(),
            geomean: geomean(&ratios),
            low: ratios[tenth],
            high: ratios[ratios.len() - 1 - tenth],
        }
    }
}

/// By codec, level and role.
type Levels<'r> = BTreeMap<(&'r str, u8, usize), Figures>;

fn levels<'r>(report: &'r Report, group: &str) -> Levels<'r> {
    let mut ratios: BTreeMap<(&str, u8, usize), Vec<f64>> = BTreeMap::new();
    for row in report.rows.iter().filter(|row| row.group == group && row.peer == name::C) {
        if let Some(role) = ROLES.iter().position(|(role, _)| *role == row.role) {
            ratios.entry((&row.codec, row.level, role)).or_default().push(row.speed_ratio);
        }
    }
    ratios.into_iter().map(|(key, ratios)| (key, Figures::of(ratios))).collect()
}

/// The figures as they stand in a cell of the table, and in the plot.
fn shown(figures: &Figures) -> String {
    let Figures { rows, geomean, low, high } = figures;
    format!("{geomean:.2} ({low:.2} to {high:.2}; {rows})")
}

/// A table with a row for each codec and level, if the report has any.
pub(super) fn table(report: &Report) -> String {
    let groups = GROUPS.map(|group| levels(report, group));
    let keys: BTreeSet<(&str, u8)> = groups.iter().flat_map(|levels| levels.keys().map(|key| (key.0, key.1))).collect();
    if keys.is_empty() {
        return String::new();
    }
    let mut out =
        String::from("\nBy codec and level: geometric mean (lowest and highest decile; rows).\n\n| codec | level |");
    for group in GROUPS {
        for (role, _) in ROLES {
            let _ = write!(out, " {group}, {} |", role.name());
        }
    }
    out.push_str("\n|---|---|---|---|---|---|---|---|\n");
    for (codec, level) in keys {
        let _ = write!(out, "| {codec} | {level} |");
        for levels in &groups {
            for role in 0..ROLES.len() {
                let cell = levels.get(&(codec, level, role)).map_or_else(String::new, |figures| shown(figures) + " ");
                let _ = write!(out, " {cell}|");
            }
        }
        out.push('\n');
    }
    out
}

/// Writes `GROUP.svg` into `dir` for each group with codecs and levels.
///
/// # Errors
/// When a file cannot be written.
pub fn write_all(report: &Report, dir: &Path) -> Result<()> {
    let in_file = |path: &Path, e: std::io::Error| Error::new(format!("{}: {e}", path.display()));
    std::fs::create_dir_all(dir).map_err(|e| in_file(dir, e))?;
    for group in GROUPS {
        let levels = levels(report, group);
        if !levels.is_empty() {
            let path = dir.join(format!("{group}.svg"));
            std::fs::write(&path, plot(group, &levels)).map_err(|e| in_file(&path, e))?;
        }
    }
    Ok(())
}

/// A panel for each codec: a bar from the lowest to the highest decile at each level, with a dot at the mean.
fn plot(group: &str, levels: &Levels<'_>) -> String {
    let codecs: BTreeSet<&str> = levels.keys().map(|key| key.0).collect();
    let low = levels.values().map(|figures| figures.low).fold(0.9, f64::min) / 1.05;
    let high = levels.values().map(|figures| figures.high).fold(1.1, f64::max) * 1.05;
    let y = |ratio: f64| TOP + HEIGHT * (high / ratio).ln() / (high / low).ln();
    let (width, height) = (LEFT + PANEL * codecs.len() as f64 + 12.0, TOP + HEIGHT + BOTTOM);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let text = |out: &mut String, x: f64, y: f64, anchor: &str, text: &str| {
        let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#222\">{text}</text>");
    };
    let title = format!("{group}: how many times as fast as C-Blosc2, by level");
    text(&mut out, LEFT, 18.0, "start", &title);
    for tick in TICKS.into_iter().filter(|tick| (low..=high).contains(tick)) {
        let (at, colour) = (y(tick), if tick == 1.0 { "#222" } else { "#ddd" });
        let right = width - 12.0;
        let _ = writeln!(out, "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"{colour}\"/>");
        text(&mut out, LEFT - 6.0, at + 4.0, "end", &format!("{tick}"));
    }
    for (panel, codec) in codecs.into_iter().enumerate() {
        let left = LEFT + PANEL * panel as f64;
        text(&mut out, left + PANEL / 2.0, TOP - 8.0, "middle", codec);
        let x = |level: u8| left + PANEL * (f64::from(level) - 0.5 + 0.15) / 9.3;
        for (&(_, level, role), figures) in levels.range((codec, 0, 0)..).take_while(|(key, _)| key.0 == codec) {
            let (name, colour) = (ROLES[role].0.name(), ROLES[role].1);
            let at = x(level) + if role == 0 { -3.5 } else { 3.5 };
            let (mean, top, bottom) = (y(figures.geomean), y(figures.high), y(figures.low));
            let _ = writeln!(
                out,
                "<g fill=\"{colour}\" stroke=\"{colour}\"><title>{codec}, {level}, {name}: {}</title><path d=\"M{at:.1} \
                 {bottom:.1}V{top:.1}\" stroke-width=\"3\" stroke-opacity=\".35\"/><circle cx=\"{at:.1}\" cy=\"{mean:.1}\" \
                 r=\"3.2\"/></g>",
                shown(figures)
            );
        }
        for level in 1..=9 {
            text(&mut out, x(level), TOP + HEIGHT + 16.0, "middle", &level.to_string());
        }
        let _ = writeln!(out, "<path d=\"M{left:.1} {TOP}v{HEIGHT}\" stroke=\"#bbb\"/>");
    }
    for (i, (role, colour)) in ROLES.into_iter().enumerate() {
        let x = LEFT + 8.0 + 150.0 * i as f64;
        let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{:.1}\" r=\"4\" fill=\"{colour}\"/>", height - 16.0);
        text(&mut out, x + 10.0, height - 12.0, "start", &format!("{} data", role.name()));
    }
    let note = "dot: geometric mean; bar: lowest to highest decile";
    text(&mut out, LEFT + 310.0, height - 12.0, "start", note);
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    /// What a table says, by group, codec, level and role.
    fn of_table(page: &str) -> BTreeSet<String> {
        let Some((_, rest)) = page.split_once("\nBy codec and level:") else { return BTreeSet::new() };
        let cells =
            |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let mut lines =
            rest.lines().skip_while(|line| !line.starts_with("| codec")).take_while(|line| !line.is_empty());
        let head = cells(lines.next().expect("a head"));
        let mut found = BTreeSet::new();
        for line in lines.skip(1).map(cells) {
            for (name, cell) in head.iter().zip(&line).skip(2).filter(|(_, cell)| !cell.is_empty()) {
                let (group, role) = name.split_once(", ").expect("a group and a role");
                found.insert(format!("{group}: {}, {}, {role}: {cell}", line[0], line[1]));
            }
        }
        found
    }

    /// What the plots in a directory say.
    fn of_plots(dir: &Path) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for group in GROUPS {
            let Ok(svg) = std::fs::read_to_string(dir.join(format!("{group}.svg"))) else { continue };
            for title in svg.split("<title>").skip(1).filter_map(|rest| rest.split_once("</title>")) {
                found.insert(format!("{group}: {}", title.0));
            }
        }
        found
    }

    #[test]
    fn plots_and_tables_say_the_same() {
        let mut report = Report::default();
        for (role, level, ratio) in
            [(Role::Held, 1, 0.5), (Role::Held, 1, 2.0), (Role::Generated, 9, 1.5), (Role::Tuned, 5, 9.0)]
        {
            for group in ["compress", "items"] {
                report.push(super::super::Row { role, level, ..row(group, name::C, ratio) });
            }
        }
        report.push(row("filter", name::C, 3.0));
        let dir = tempfile::tempdir().unwrap();
        write_all(&report, dir.path()).unwrap();
        let table = table(&report);
        assert!(table.contains("| lz4 | 1 | 1.00 (0.50 to 2.00; 2) | | | | 1.00 (0.50 to 2.00; 2) | |"), "{table}");
        assert_eq!(of_table(&table), of_plots(dir.path()));
        assert_eq!(of_table(&table).len(), 4);
        assert!(!dir.path().join("decompress.svg").exists());
        assert_eq!(super::table(&Report::default()), "");
    }

    /// The mean of a figure is where its dot is.
    #[test]
    fn dots_are_to_scale() {
        let figures = Figures::of(vec![1.0, 2.0, 4.0]);
        assert_eq!((figures.rows, figures.low, figures.high), (3, 1.0, 4.0));
        let levels = Levels::from([(("lz4", 1, 0), figures), (("lz4", 9, 1), Figures::of(vec![1.0]))]);
        let svg = plot("compress", &levels);
        let dots: Vec<f64> =
            svg.split("cy=\"").skip(1).map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect();
        let one = svg.split("stroke=\"#222\"").next().unwrap().rsplit('M').next().unwrap();
        let one: f64 = one.split([' ', 'H']).nth(1).unwrap().parse().unwrap();
        assert!((dots[1] - one).abs() < 0.2 && dots[0] < one, "{dots:?} {one}");
    }

    /// The plots of the book are those of the table in the page.
    #[test]
    fn plots_of_the_book_are_in_step() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let page = std::fs::read_to_string(root.join("docs/speed.md")).unwrap();
        let found = of_table(&page);
        assert!(found.len() > 100, "{}", found.len());
        assert_eq!(found, of_plots(&root.join("docs/book/src/speed")));
    }
}
