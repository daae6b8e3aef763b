//! Pictures as SVG, written by hand: they are rectangles, lines and text, and a library would be a dependency of
//! everybody who installs the command. The benchmarks, which are not published, draw with `plotters`; `cargo tree -p
//! plotters` shows what it would add.

use std::fmt::Write;

/// Colours that are distinguishable with colour blindness.
pub(crate) const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];

/// The beginning of a picture: its size, its font and a white ground.
pub(crate) fn begin(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    )
}

/// The end of a picture.
pub(crate) const END: &str = "</svg>\n";

/// Adds a line of text that begins at a point.
pub(crate) fn text(out: &mut String, x: f64, y: f64, text: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(text));
}

/// Adds a filled rectangle, with the text that appears when a pointer rests on it.
pub(crate) fn rect(out: &mut String, [x, y, width, height]: [f64; 4], colour: &str, title: &str) {
    let _ = writeln!(
        out,
        "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{colour}\"><title>{}</title>\
         </rect>",
        escape(title)
    );
}

/// Text in XML, which cannot hold most control characters in any form.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            c if c.is_control() => out.push(' '),
            // Neither may these two be in a document.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b> & \"c\"\u{1b}[0m\u{ffff}"), "a&lt;b&gt; &amp; &quot;c&quot; [0m\u{fffd}");
    }
}
