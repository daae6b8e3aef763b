//! Scripts: bytes that say which edits to make.

/// Reads numbers from an input, and zeros when it is used up.
#[derive(Debug)]
pub struct Script<'a> {
    rest: &'a [u8],
}

impl<'a> Script<'a> {
    /// Most bytes of a script.
    pub const LEN: usize = 64;

    /// All of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Takes the script off the end of an input, whose last byte says how long it is; the rest is a frame.
    pub fn split(input: &'a [u8]) -> (&'a [u8], Self) {
        let Some((&len, body)) = input.split_last() else { return (input, Self::new(&[])) };
        let len = (usize::from(len) % (Self::LEN + 1)).min(body.len());
        let (frame, script) = body.split_at(body.len() - len);
        (frame, Self::new(script))
    }

    /// The input that [`split`](Self::split) takes apart into this frame and this script.
    pub fn join(frame: &[u8], script: &[u8]) -> Vec<u8> {
        let script = &script[..script.len().min(Self::LEN)];
        [frame, script, &[script.len() as u8]].concat()
    }

    /// Whether all has been read.
    pub fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        byte
    }

    /// A number in `0..bound`, 0 when `bound` is.
    pub fn below(&mut self, bound: u64) -> u64 {
        let number = u64::from(self.byte());
        // The last ones are as interesting as the first.
        match (bound, number) {
            (0, _) => 0,
            (_, 192..) => bound - 1 - (number - 192) % bound,
            _ => number % bound,
        }
    }
}

/// Scripts for frames that come without one: each operation alone, and some after another.
pub const SCRIPTS: [&[u8]; 16] = [
    &[],
    &[0, 3],
    &[0, 4, 0, 1],
    &[1, 2],
    &[2, 0, 3],
    &[3, 255, 0],
    &[4, 0, 2],
    &[5, 0, 0],
    &[6, 0],
    &[6, 255],
    &[7, 1],
    &[8],
    &[9, 0, 5],
    &[9, 1, 200, 12, 0, 3],
    &[11, 0, 7],
    &[13],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_comes_back() {
        let joined = Script::join(b"frame", &[1, 2, 3]);
        let (frame, script) = Script::split(&joined);
        assert_eq!((frame, script.rest), (&b"frame"[..], &[1, 2, 3][..]));
        assert!(Script::split(&[]).1.is_over());
    }
}
