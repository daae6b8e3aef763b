//! Numbers of bytes, as people write and read them.

/// Parses a number of bytes with an optional binary suffix: `4096`, `256K`, `4M`, `4MiB`, `1G`.
pub(crate) fn parse_bytes(text: &str) -> Result<usize, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = text.split_at(digits);
    let shift = match suffix.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        _ => return Err("expected a number of bytes, with K, M or G for powers of 1024".into()),
    };
    let number: u64 = number.parse().map_err(|e| format!("{text:?}: {e}"))?;
    let bytes = number.checked_mul(1 << shift).and_then(|bytes| usize::try_from(bytes).ok());
    match bytes {
        Some(0) => Err("must be at least 1".into()),
        Some(bytes) => Ok(bytes),
        None => Err(format!("{text:?} is too large")),
    }
}

/// A number of bytes with at most four digits and a binary unit.
pub(crate) fn show_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} bytes"),
        _ => format!("{value:.1} {}", UNITS[unit]),
    }
}

/// A number of bytes in full, with a binary unit behind it where that is shorter.
pub(crate) fn show_exact(bytes: u64) -> String {
    if bytes < 1024 { show_bytes(bytes) } else { format!("{bytes} bytes ({})", show_bytes(bytes)) }
}

/// A speed in bytes per second with a binary unit.
pub(crate) fn show_rate(bytes_per_second: f64) -> String {
    // Lossless as far as it is shown, and what is too fast for 64 bits is not a speed.
    show_bytes(bytes_per_second as u64) + "/s"
}

/// A short time with a unit that leaves up to three digits in front of the point.
pub(crate) fn show_seconds(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 1.0 => format!("{seconds:.2} s"),
        seconds if seconds >= 1e-3 => format!("{:.2} ms", seconds * 1e3),
        seconds if seconds >= 1e-6 => format!("{:.2} us", seconds * 1e6),
        seconds => format!("{:.0} ns", seconds * 1e9),
    }
}

/// How many times smaller `compressed` is; `None` when there is nothing to compare.
pub(crate) fn ratio(decoded: u64, compressed: u64) -> Option<f64> {
    (compressed > 0).then(|| decoded as f64 / compressed as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in() {
        for (text, bytes) in [("1", 1), ("500000", 500_000), ("256K", 256 << 10), ("4m", 4 << 20), ("1GiB", 1 << 30)] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for bad in ["", "0", "K", "-1", "1.5M", "1 M", "1T", "99999999999999999999", "99999999999999999G"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bytes_out() {
        for (bytes, text) in [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (1_179_648, "1.1 MiB")] {
            assert_eq!(show_bytes(bytes), text);
        }
        assert_eq!(show_bytes(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn exact_bytes() {
        assert_eq!((show_exact(1023), show_exact(2048)), ("1023 bytes".into(), "2048 bytes (2.0 KiB)".into()));
    }

    #[test]
    fn speeds_and_times() {
        assert_eq!(show_rate(1_572_864.0), "1.5 MiB/s");
        for (seconds, text) in
            [(2.5, "2.50 s"), (0.0025, "2.50 ms"), (2.5e-6, "2.50 us"), (25e-9, "25 ns"), (0.0, "0 ns")]
        {
            assert_eq!(show_seconds(seconds), text);
        }
    }

    #[test]
    fn ratios() {
        assert_eq!(ratio(10, 4), Some(2.5));
        assert_eq!(ratio(10, 0), None);
    }
}
