//! What a plugin promises, and how a promise is broken.

use std::fmt;

/// A promise of a filter or codec. The [table](crate#the-promises-of-a-plugin) in the documentation of the crate says
/// what each of them means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Promise {
    /// Valid input is never an error and never a panic.
    Accepts,
    /// Lengths that are returned can be.
    Claims,
    /// Less room leads to a stream that decodes, or to none.
    Room,
    /// No byte of the output is left as it was.
    Written,
    /// Calls are independent of those before.
    Calls,
    /// Clones are independent of each other.
    Clones,
    /// Slices may begin at any address.
    Alignment,
    /// What is not declared lossy comes back bit by bit.
    Restores,
    /// A loss is within the bound that the author gave.
    Tolerance,
    /// A lossy plugin does not lose everything, and loses nothing more the second time.
    Loss,
    /// The place of a block matters only if `positional` is declared.
    Position,
    /// `needs_reference` is declared exactly if the reference matters.
    Reference,
    /// `needs_array` is declared exactly if the plugin needs the shape of an array.
    Array,
    /// With `keeps_zeros`, zeros come of zeros.
    Zeros,
    /// With `forward_only`, `backward` copies.
    ForwardOnly,
    /// The meta bytes that the author lists make a difference.
    Metas,
    /// Any other meta byte works or is refused.
    EveryMeta,
    /// A codec makes and uses dictionaries exactly if it declares that.
    Dictionary,
    /// A codec that only reads says so when it is asked to compress.
    DecodeOnly,
    /// Something gets smaller.
    Compresses,
    /// A stream of another decoded length is an error.
    Length,
    /// A stream of which a part is missing is an error.
    Cut,
    /// A range of a stream, or a part of a block, is what the whole has there.
    Ranges,
    /// Parameters are taken, recorded and refused as they are declared.
    Params,
    /// Damage leads to an error or to other bytes.
    Damage,
    /// Every call ends.
    Time,
    /// No call takes memory without measure.
    Memory,
    /// Frames, arrays and slices of them come back.
    Frames,
    /// C-Blosc2 reads the same, and writes what is read.
    CBlosc2,
}

impl Promise {
    /// All promises, in the order of the table.
    pub const ALL: [Self; 29] = [
        Self::Accepts,
        Self::Claims,
        Self::Room,
        Self::Written,
        Self::Calls,
        Self::Clones,
        Self::Alignment,
        Self::Restores,
        Self::Tolerance,
        Self::Loss,
        Self::Position,
        Self::Reference,
        Self::Array,
        Self::Zeros,
        Self::ForwardOnly,
        Self::Metas,
        Self::EveryMeta,
        Self::Dictionary,
        Self::DecodeOnly,
        Self::Compresses,
        Self::Length,
        Self::Cut,
        Self::Ranges,
        Self::Params,
        Self::Damage,
        Self::Time,
        Self::Memory,
        Self::Frames,
        Self::CBlosc2,
    ];

    /// The promise in words, as reports have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepts => "valid input is accepted",
            Self::Claims => "claimed lengths are possible",
            Self::Room => "a result that does not fit is told by value",
            Self::Written => "every byte of the output is written",
            Self::Calls => "one call does not influence the next",
            Self::Clones => "clones work side by side",
            Self::Alignment => "slices may begin at any address",
            Self::Restores => "what is not declared lossy comes back",
            Self::Tolerance => "the loss is within its bound",
            Self::Loss => "a loss is not total, and does not grow",
            Self::Position => "the place matters only if positional is declared",
            Self::Reference => "needs_reference is declared as it is",
            Self::Array => "needs_array is declared as it is",
            Self::Zeros => "keeps_zeros is declared only where it holds",
            Self::ForwardOnly => "forward_only is declared only where it holds",
            Self::Metas => "the meta byte makes a difference",
            Self::EveryMeta => "every meta byte works or is refused",
            Self::Dictionary => "dictionaries are made, used and declared",
            Self::DecodeOnly => "a codec that only reads says so",
            Self::Compresses => "some streams get smaller",
            Self::Length => "a wrong decoded length is noticed",
            Self::Cut => "a cut stream is not taken for a whole one",
            Self::Ranges => "a range is what the whole has there",
            Self::Params => "parameters are taken, recorded and refused as declared",
            Self::Damage => "damage does not lead to a panic",
            Self::Time => "every call ends in time",
            Self::Memory => "memory is in proportion",
            Self::Frames => "frames, arrays and slices come back",
            Self::CBlosc2 => "C-Blosc2 reads and writes the same",
        }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A promise was not kept, and how that shows.
#[derive(Debug, Clone)]
pub(super) struct Broken {
    pub(super) promise: Promise,
    pub(super) detail: String,
}

/// The result of one case.
pub(super) type Verdict = Result<(), Broken>;

impl Broken {
    pub(super) fn new(promise: Promise, detail: impl Into<String>) -> Self {
        Self { promise, detail: detail.into() }
    }

    /// The same as a failure of another promise: what holds in the plain case and not in this one.
    pub(super) fn becomes(mut self, promise: Promise) -> Self {
        if !matches!(self.promise, Promise::Time | Promise::Memory) {
            self.promise = promise;
        }
        self
    }
}

/// Compares bytes; the failure says which byte differs.
pub(super) fn same(promise: Promise, expected: &[u8], found: &[u8], what: &str) -> Verdict {
    if expected.len() != found.len() {
        let detail = format!("{what}: {} bytes, expected {}", found.len(), expected.len());
        return Err(Broken::new(promise, detail));
    }
    match expected.iter().zip(found).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(at) => {
            let detail = format!("{what}: byte {at} is {:#04x}, expected {:#04x}", found[at], expected[at]);
            Err(Broken::new(promise, detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_every_promise() {
        let table = include_str!("../lib.rs");
        for promise in Promise::ALL {
            assert!(table.contains(&format!("| {promise} |")), "{promise}");
        }
    }
}
