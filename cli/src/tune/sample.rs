//! A sample of data of any length.

use bytes::Bytes;

use crate::error::CliError;
use crate::plain::Plain;

/// Bytes of a piece of the sample, which is compressed as a chunk of its own.
const PIECE: usize = 1 << 20;
/// Most pieces of a sample.
const PIECES: usize = 8;

/// Takes whole items from all over the input, which is read to its end: the length of a stream shows no earlier.
pub(super) fn take(input: &mut Plain, typesize: usize) -> Result<Vec<Bytes>, CliError> {
    let piece_bytes = (PIECE / typesize).max(1) * typesize;
    let mut sample = Vec::new();
    let mut stride = 1;
    let mut number = 0;
    while let Some(piece) = input.next(piece_bytes)? {
        if number % stride == 0 {
            if sample.len() == PIECES {
                // Every other one stays, and as many are left out from now on.
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
