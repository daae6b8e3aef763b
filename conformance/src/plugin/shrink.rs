//! Makes an input that breaks a promise smaller and simpler.

use std::time::{Duration, Instant};

use super::promise::{Broken, Promise, Verdict};

/// How long is spent on one input, and how often it is tried.
const PATIENCE: Duration = Duration::from_millis(1500);
const ATTEMPTS: usize = 2000;

/// The shortest prefix found of `input`, with as many zeros as possible, with which `fails` still breaks `promise`, and
/// how. `None` if it does not break it again.
pub(super) fn shrink(
    promise: Promise,
    input: &[u8],
    keep_len: bool,
    fails: &mut dyn FnMut(&[u8]) -> Verdict,
) -> Option<(Vec<u8>, Broken)> {
    let begun = Instant::now();
    let mut attempts = 0;
    let mut attempt = |input: &[u8]| {
        attempts += 1;
        if attempts > ATTEMPTS || begun.elapsed() > PATIENCE {
            return None;
        }
        fails(input).err().filter(|broken| broken.promise == promise)
    };
    let mut broken = attempt(input)?;
    let mut input = input.to_vec();

    let mut less = if keep_len { 0 } else { input.len() / 2 };
    while less > 0 {
        while less < input.len() {
            let Some(again) = attempt(&input[..input.len() - less]) else { break };
            input.truncate(input.len() - less);
            broken = again;
        }
        less /= 2;
    }

    let mut piece = input.len();
    while piece > 0 {
        for from in (0..input.len()).step_by(piece) {
            let to = input.len().min(from + piece);
            if input[from..to].iter().all(|&b| b == 0) {
                continue;
            }
            let mut simpler = input.clone();
            simpler[from..to].fill(0);
            if let Some(again) = attempt(&simpler) {
                (input, broken) = (simpler, again);
            }
        }
        // Below this, long inputs take too many attempts.
        piece = if piece / 2 * 512 < input.len() { 0 } else { piece / 2 };
    }
    Some((input, broken))
}

/// The input in a report: its length and first bytes.
pub(super) fn describe(input: &[u8]) -> String {
    const SHOWN: usize = 32;
    let zeros = input.iter().rev().take_while(|&&b| b == 0).count();
    let told = &input[..input.len() - zeros];
    let (told, rest) = match zeros {
        0 => (told, ""),
        n if n == input.len() => return format!("{n} zeros"),
        _ => (told, ", then zeros"),
    };
    let shown: Vec<String> = told.iter().take(SHOWN).map(|b| format!("{b:02x}")).collect();
    let dots = if told.len() > SHOWN { " ..." } else { "" };
    format!("{} bytes: {}{dots}{rest}", input.len(), shown.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_shortest_and_simplest_input() {
        let input: Vec<u8> = (0..200_000).map(|i| i as u8 | 1).collect();
        let mut long = |input: &[u8]| match input.len() {
            ..=70_000 => Ok(()),
            _ => Err(Broken::new(Promise::Restores, "too long")),
        };
        let (found, _) = shrink(Promise::Restores, &input, false, &mut long).unwrap();
        assert_eq!(found, [0; 70_001]);

        let mut seven = |input: &[u8]| match input.contains(&7) {
            false => Ok(()),
            true => Err(Broken::new(Promise::Restores, "a seven")),
        };
        let (found, _) = shrink(Promise::Restores, &input[..1000], false, &mut seven).unwrap();
        assert_eq!(found, [0, 0, 0, 0, 0, 0, 7]);
        assert!(shrink(Promise::Calls, &input, false, &mut seven).is_none());
    }

    #[test]
    fn descriptions_are_short() {
        assert_eq!(describe(&[0; 70_001]), "70001 zeros");
        assert_eq!(describe(&[1, 0, 255]), "3 bytes: 01 00 ff");
        assert_eq!(describe(&[1, 0, 0]), "3 bytes: 01, then zeros");
        assert!(describe(&[1; 500]).len() < 120);
    }
}
