//! Decodes ndlz streams.

use oxiblosc_core::codec::CodecError;

use super::{HEADER_LEN, LITERAL, MAX_SIDE, RowTokens, SAME, WHOLE, cells, rows};

fn corrupt(offset: usize, reason: &'static str) -> CodecError {
    CodecError::Corrupt { offset, reason }
}

/// Decodes the stream `src`, of cells with this side, into all of `dst`.
pub(super) fn decompress(side: usize, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
    let Some(&[ndim, h0, h1, h2, h3, w0, w1, w2, w3]) = src.first_chunk::<HEADER_LEN>() else {
        return Err(corrupt(src.len(), "the stream ends in its header"));
    };
    if ndim != 2 {
        return Err(corrupt(0, "the number of dimensions is not 2"));
    }
    let (height, width) = (i32::from_le_bytes([h0, h1, h2, h3]), i32::from_le_bytes([w0, w1, w2, w3]));
    let (Ok(height), Ok(width)) = (usize::try_from(height), usize::try_from(width)) else {
        return Err(corrupt(1, "height or width is negative"));
    };
    let (expected, found) = (dst.len(), height.saturating_mul(width));
    if found != expected {
        return Err(CodecError::Length { expected, found });
    }

    let mut input = Reader { src, at: HEADER_LEN, token_at: HEADER_LEN };
    for (start, cell_height, cell_width) in cells(side, height, width) {
        let len = cell_height * cell_width;
        let mut put = |set: u8, bytes: &[u8]| {
            for (row, bytes) in rows(set).zip(bytes.chunks_exact(cell_width)) {
                dst[start + row * width..][..cell_width].copy_from_slice(bytes);
            }
        };
        let all = 0xFF >> (MAX_SIDE - cell_height);
        match input.token()? {
            LITERAL => put(all, input.take(len)?),
            SAME => put(all, &[input.take(1)?[0]; MAX_SIDE * MAX_SIDE][..len]),
            WHOLE => put(all, input.found(len)?),
            token => {
                let tokens = RowTokens::of(token, side).filter(|_| len == side * side);
                let tokens = tokens.ok_or_else(|| corrupt(input.token_at, "not a token"))?;
                let count = |set: u8| set.count_ones() as usize * side;
                put(tokens.first, input.found(count(tokens.first))?);
                if tokens.second != 0 {
                    put(tokens.second, input.found(count(tokens.second))?);
                }
                let literal = tokens.literal(side);
                put(literal, input.take(count(literal))?);
            }
        }
    }
    if input.at != src.len() {
        return Err(corrupt(input.at, "the stream continues after its last cell"));
    }
    Ok(expected)
}

/// The stream, and the position in it.
struct Reader<'a> {
    src: &'a [u8],
    at: usize,
    /// Where the last token is: distances are counted from there.
    token_at: usize,
}

impl<'a> Reader<'a> {
    fn token(&mut self) -> Result<u8, CodecError> {
        self.token_at = self.at;
        let token = *self.src.get(self.at).ok_or_else(|| corrupt(self.at, "the stream ends before its last cell"))?;
        self.at += 1;
        Ok(token)
    }

    /// The next `len` bytes.
    fn take(&mut self, len: usize) -> Result<&'a [u8], CodecError> {
        let bytes =
            self.src.get(self.at..self.at + len).ok_or_else(|| corrupt(self.at, "the stream ends in a cell"))?;
        self.at += len;
        Ok(bytes)
    }

    /// The `len` bytes that the next distance points to.
    fn found(&mut self, len: usize) -> Result<&'a [u8], CodecError> {
        let distance = self.take(2)?.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        let start = self.token_at.checked_sub(distance).filter(|_| distance > 0);
        let bytes = start.and_then(|start| self.src.get(start..start + len));
        bytes.ok_or_else(|| corrupt(self.token_at, "distance is 0, or its bytes are not in the stream"))
    }
}
