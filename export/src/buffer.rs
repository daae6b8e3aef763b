//! Buffers that C hands over.

use std::slice;

use thiserror::Error;

/// Why the buffers that C hands over cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum BufferError {
    #[error("a buffer is missing")]
    Null,
    #[error("a buffer has the length {0}")]
    Length(i32),
    #[error("input and output overlap")]
    Overlap,
}

/// The input, and the output filled with zeros: what a caller in C has there may be memory that was never written,
/// which safe code must not see.
///
/// # Safety
/// A pointer that is not null leads to as many bytes as its length says, which nobody writes while the slices are in
/// use, and nobody else reads those of the output.
pub(crate) unsafe fn buffers<'a>(
    (input, input_len): (*const u8, i32),
    (output, output_len): (*mut u8, i32),
) -> Result<(&'a [u8], &'a mut [u8]), BufferError> {
    let src_len = length(input, input_len)?;
    let dst_len = length(output, output_len)?;
    let (src_at, dst_at) = (input.addr(), output.addr());
    if src_at < dst_at.saturating_add(dst_len) && dst_at < src_at.saturating_add(src_len) {
        return Err(BufferError::Overlap);
    }
    // SAFETY: not null, readable for so many bytes by the contract, and apart from the output.
    let src = unsafe { slice::from_raw_parts(input, src_len) };
    // SAFETY: not null, and writable for so many bytes by the contract.
    unsafe { output.write_bytes(0, dst_len) };
    // SAFETY: as for the line before, which has also made the bytes initialised; apart from the input.
    let dst = unsafe { slice::from_raw_parts_mut(output, dst_len) };
    Ok((src, dst))
}

fn length(start: *const u8, len: i32) -> Result<usize, BufferError> {
    if start.is_null() {
        return Err(BufferError::Null);
    }
    usize::try_from(len).map_err(|_| BufferError::Length(len))
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn what_cannot_be_a_buffer_is_refused() {
        let (input, mut output) = ([1; 8], [2; 8]);
        let at = input.as_ptr();
        let out = output.as_mut_ptr();
        let refused = |input, output| {
            // SAFETY: null, refused for its length, or the arrays above.
            unsafe { buffers(input, output) }.err()
        };
        assert_eq!(refused((ptr::null(), 8), (out, 8)), Some(BufferError::Null));
        assert_eq!(refused((at, 8), (ptr::null_mut(), 8)), Some(BufferError::Null));
        assert_eq!(refused((at, -1), (out, 8)), Some(BufferError::Length(-1)));
        assert_eq!(refused((at, 8), (out, i32::MIN)), Some(BufferError::Length(i32::MIN)));
        assert_eq!(refused((out, 5), (out.wrapping_add(4), 4)), Some(BufferError::Overlap));
        assert_eq!(refused((out.wrapping_add(4), 4), (out, 4)), None);
        // SAFETY: two arrays, each as long as is said.
        let (src, dst) = unsafe { buffers((at, 8), (out, 7)) }.unwrap();
        assert_eq!((src, &*dst), (&[1; 8][..], &[0; 7][..]));
    }
}
