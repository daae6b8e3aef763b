//! A plot of ratio against speed.

use std::collections::BTreeMap;
use std::fmt::Write;

use oxiblosc_tune::{Measurement, Tuned};

use crate::svg::{self, COLOURS};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 560.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 180.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 60.0;

/// A scatter plot of all results: compression speed to the right, ratio upwards, both logarithmic; a colour for each
/// codec, a shape for each choice of filters, a line along what nothing beats in both, and a ring around what is
/// recommended.
pub(super) fn svg(tuned: &Tuned) -> String {
    let results = tuned.measurements();
    let mega = |result: &Measurement| result.encode_speed() / 1e6;
    let (x, y) = (Axis::of(results.iter().map(mega), LEFT, WIDTH - RIGHT), {
        Axis::of(results.iter().map(Measurement::ratio), HEIGHT - BOTTOM, TOP)
    });
    let number = |names: &mut BTreeMap<String, usize>, name: String| {
        let next = names.len();
        *names.entry(name).or_insert(next)
    };
    let (mut codecs, mut filters) = (BTreeMap::new(), BTreeMap::new());
    let mut out = svg::begin(WIDTH, HEIGHT);
    for (label, at) in x.ticks() {
        let (top, bottom) = (TOP, HEIGHT - BOTTOM);
        // Writing to a string does not fail.
        let _ = writeln!(out, "<path d=\"M{at:.1} {top}V{bottom}\" stroke=\"#ddd\"/>");
        let _ = writeln!(out, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>", bottom + 18.0);
    }
    for (label, at) in y.ticks() {
        let _ = writeln!(out, "<path d=\"M{LEFT} {at:.1}H{}\" stroke=\"#ddd\"/>", WIDTH - RIGHT);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", LEFT - 8.0, at + 4.0);
    }
    let (middle, below) = ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16.0);
    let _ = writeln!(out, "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">compression, MB/s</text>");
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{}\">compression ratio</text>", TOP - 14.0);
    for result in results {
        let candidate = &result.candidate;
        let codec = number(&mut codecs, candidate.codec_name.to_owned());
        let shape = number(&mut filters, filter_label(&candidate.filter_names));
        let title = format!(
            "{} level {}, {}: {:.2}x, {:.0} MB/s in, {:.0} MB/s out",
            candidate.codec_name,
            candidate.level,
            filter_label(&candidate.filter_names),
            result.ratio(),
            mega(result),
            result.decode_speed() / 1e6
        );
        mark(&mut out, x.place(mega(result)), y.place(result.ratio()), COLOURS[codec % COLOURS.len()], shape, &title);
    }
    // The best ratio at each speed, as far as it goes.
    let mut fastest: Vec<&Measurement> = results.iter().collect();
    fastest.sort_by(|a, b| mega(b).total_cmp(&mega(a)));
    let mut best = 0.0;
    fastest.retain(|result| {
        result.ratio() > best && {
            best = result.ratio();
            true
        }
    });
    let points = fastest.iter().map(|result| format!("{:.1},{:.1}", x.place(mega(result)), y.place(result.ratio())));
    let points = points.collect::<Vec<_>>().join(" ");
    let _ = writeln!(out, "<polyline points=\"{points}\" fill=\"none\" stroke=\"#444\" stroke-dasharray=\"4 3\"/>");
    for (_, result) in tuned.recommended() {
        let (x, y) = (x.place(mega(result)), y.place(result.ratio()));
        let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"10\" fill=\"none\" stroke=\"black\"/>");
    }
    let right = WIDTH - RIGHT + 24.0;
    let mut down = TOP;
    let mut entry = |colour: &str, shape: usize, name: &str| {
        down += 20.0;
        mark(&mut out, right, down, colour, shape, name);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{name}</text>", right + 12.0, down + 4.0);
    };
    for (name, codec) in &codecs {
        entry(COLOURS[codec % COLOURS.len()], 0, name);
    }
    for (name, shape) in &filters {
        entry("#444", *shape, name);
    }
    out += svg::END;
    out
}

fn filter_label(names: &[&str]) -> String {
    if names.is_empty() { "no filter".into() } else { names.join(", ") }
}

fn mark(out: &mut String, x: f64, y: f64, colour: &str, shape: usize, title: &str) {
    let path = match shape % 5 {
        0 => "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0",
        1 => "m-4.5 -4.5h9v9h-9z",
        2 => "m0 -6l5.5 10h-11z",
        3 => "m0 -6.5l6.5 6.5l-6.5 6.5l-6.5 -6.5z",
        _ => "m-5.5 -5l5.5 10l5.5 -10z",
    };
    let _ = writeln!(
        out,
        "<path d=\"M{x:.1} {y:.1}{path}\" fill=\"{colour}\" fill-opacity=\"0.75\"><title>{title}</title></path>"
    );
}

/// A logarithmic axis between two positions.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        // A little margin, even if all values are the same.
        Self { low: low / 1.15, high: high * 1.15, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        self.from + (self.to - self.from) * (value / self.low).ln() / (self.high / self.low).ln()
    }

    /// 1, 2 and 5 times the powers of ten; both ends, if the values are closer than that.
    fn ticks(&self) -> Vec<(String, f64)> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let values = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|n| n * 10_f64.powi(decade)));
        let mut ticks: Vec<f64> = values.filter(|v| (self.low..=self.high).contains(v)).collect();
        if ticks.len() < 2 {
            ticks = vec![self.low, self.high];
        }
        let label = |v: f64| {
            if v >= 10.0 {
                format!("{v:.0}")
            } else {
                format!("{:.2}", v).trim_end_matches('0').trim_end_matches('.').to_owned()
            }
        };
        ticks.into_iter().map(|v| (label(v), self.place(v))).collect()
    }
}
