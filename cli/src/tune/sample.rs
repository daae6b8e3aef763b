//! A sample of data of any length.

use bytes::Bytes;

use crate::error::CliError;
use crate::raw::RawInput;

/// Bytes of a piece of the sample; each piece is compressed as one chunk.
const PIECE: usize = 1 << 20;
/// The most pieces of a sample.
const PIECES: usize = 8;

/// Takes whole items from all over the input, which is read to its end, since the length of a stream is not known
/// before.
pub(super) fn take(input: &mut RawInput, typesize: usize) -> Result<Vec<Bytes>, CliError> {
    let piece_bytes = (PIECE / typesize).max(1) * typesize;
    let mut sample = Vec::new();
    let mut stride = 1;
    let mut number = 0;
    while let Some(piece) = input.next(piece_bytes)? {
        if number % stride == 0 {
            if sample.len() == PIECES {
                // Keep every other one, and from now on skip as many.
                let mut even = false;
                sample.retain(|_| {
                    even = !even;
                    even
                });
                stride *= 2;
            }
            if number % stride == 0 {
                sample.push(piece);
            }
        }
        number += 1;
    }
    Ok(sample)
}
