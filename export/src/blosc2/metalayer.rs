//! Metalayers of a super-chunk.

use std::ffi::CStr;
use std::slice;

use super::layout::{MAX_METALAYERS, Schunk};

/// The content of the metalayer with this name.
///
/// # Safety
/// `schunk` leads to a super-chunk of C-Blosc2 3 that nobody changes while the content is in use.
pub(super) unsafe fn metalayer<'a>(schunk: *const Schunk, name: &str) -> Option<&'a [u8]> {
    // SAFETY: a field of the super-chunk.
    let count = unsafe { (*schunk).nmetalayers };
    // SAFETY: likewise.
    let layers = unsafe { (*schunk).metalayers };
    layers.iter().take(usize::from(count).min(MAX_METALAYERS)).find_map(|layer| {
        // SAFETY: the first `nmetalayers` of these pointers lead to metalayers.
        let layer = unsafe { layer.as_ref() }?;
        if layer.name.is_null() || layer.content.is_null() {
            return None;
        }
        // SAFETY: not null, and a string of C.
        if unsafe { CStr::from_ptr(layer.name) }.to_bytes() != name.as_bytes() {
            return None;
        }
        let len = usize::try_from(layer.content_len).ok()?;
        // SAFETY: not null, and as long as the metalayer says.
        Some(unsafe { slice::from_raw_parts(layer.content, len) })
    })
}
