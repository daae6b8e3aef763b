//! A range of items.

use std::ops::Range;
use std::str::FromStr;

/// Items from one number to before another; as in Python, negative numbers count from the end and what does not exist
/// is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemRange {
    start: Option<i64>,
    stop: Option<i64>,
}

impl ItemRange {
    /// Resolves the range for `len` items.
    pub(crate) fn resolve(self, len: u64) -> Range<u64> {
        let bound = |bound: i64| match u64::try_from(bound) {
            Ok(bound) => bound.min(len),
            Err(_) => len.saturating_sub(bound.unsigned_abs()),
        };
        let stop = self.stop.map_or(len, bound);
        self.start.map_or(0, bound).min(stop)..stop
    }
}

impl FromStr for ItemRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (start, stop) = text.split_once(':').ok_or("expected A:B, as in 10:20, :20 or 10:")?;
        let number = |text: &str| match text.trim() {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|e| format!("{text:?}: {e}")),
        };
        let (start, stop) = (number(start)?, number(stop)?);
        match (start, stop) {
            (Some(start), Some(stop)) if stop < start && (start < 0) == (stop < 0) => {
                Err(format!("{start} is after {stop}"))
            }
            _ => Ok(Self { start, stop }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for (text, expected) in [
            ("3:10", 3..10),
            (":10", 0..10),
            ("3:", 3..12),
            ("3:3", 3..3),
            (":", 0..12),
            ("10:99", 10..12),
            ("50:99", 12..12),
            ("-3:", 9..12),
            (":-3", 0..9),
            ("-99:2", 0..2),
            ("-2:5", 5..5),
        ] {
            assert_eq!(text.parse::<ItemRange>().map(|range| range.resolve(12)), Ok(expected), "{text}");
        }
        for bad in ["", "3", "10:3", "-1:-3", "a:b", "1:2:3", "99999999999999999999:"] {
            assert!(bad.parse::<ItemRange>().is_err(), "{bad}");
        }
    }
}
