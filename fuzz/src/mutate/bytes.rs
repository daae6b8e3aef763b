//! Changes to bytes whose meaning is not known.

use oxiblosc_conformance::data::Random;

/// Changes one to four things.
pub(super) fn mutate(input: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..=random.below(4) {
        change(&mut out, random);
    }
    out
}

fn change(out: &mut Vec<u8>, random: &mut Random) {
    if out.is_empty() {
        out.push(random.below(256) as u8);
        return;
    }
    let at = random.below(out.len());
    let len = 1 + random.below((out.len() - at).min(32));
    match random.below(9) {
        0 => out[at] ^= 1 << random.below(8),
        1 => out[at] = random.below(256) as u8,
        2 => out[at] = out[at].wrapping_add(random.below(16) as u8).wrapping_sub(8),
        3 => out[at..at + len].fill([0, 0xFF, 0x7F, 0x80][random.below(4)]),
        4 => drop(out.drain(at..at + len)),
        5 => {
            let copy = out[at..at + len].to_vec();
            let to = random.below(out.len() + 1);
            out.splice(to..to, copy);
        }
        6 => {
            let copy = out[at..at + len].to_vec();
            let to = random.below(out.len() - len + 1);
            out[to..to + len].copy_from_slice(&copy);
        }
        7 => {
            let fresh: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
            out.splice(at..at, fresh);
        }
        _ => out.truncate(at),
    }
}
