//! The shapes of the array that a super-chunk holds.

use std::cell::Cell;
use std::ffi::CStr;
use std::rc::Rc;
use std::slice;

use oxiblosc_core::nd::{ArrayMeta, Geometry};

use super::layout::{MAX_METALAYERS, Schunk};

/// A metalayer that was parsed, and what came out. Calls for one array follow each other, and there are many.
type Parsed = (Box<[u8]>, Option<Rc<Geometry>>);

thread_local! {
    static LATEST: Cell<Option<Parsed>> = const { Cell::new(None) };
}

/// The shapes in the metalayer of arrays; `None` without one, or if it makes no sense.
///
/// # Safety
/// `schunk` is null or leads to a super-chunk of C-Blosc2 3 that nobody changes meanwhile.
pub(super) unsafe fn geometry(schunk: *const Schunk, item_size: Option<usize>) -> Option<Rc<Geometry>> {
    if schunk.is_null() {
        return None;
    }
    let find = |name| {
        // SAFETY: as asked for here.
        unsafe { metalayer(schunk, name) }
    };
    let content = find(ArrayMeta::NAME).or_else(|| find(ArrayMeta::LEGACY_NAME))?;
    let latest = LATEST.try_with(Cell::take).ok().flatten();
    let parsed =
        latest.filter(|(known, _)| **known == *content).unwrap_or_else(|| (content.into(), parse(content, item_size)));
    let geometry = parsed.1.clone();
    let _ = LATEST.try_with(|latest| latest.set(Some(parsed)));
    geometry
}

fn parse(content: &[u8], item_size: Option<usize>) -> Option<Rc<Geometry>> {
    let geometry = ArrayMeta::parse(content).ok()?.geometry;
    geometry.clone().tile(item_size?).ok()?;
    Some(Rc::new(geometry))
}

/// The content of the metalayer with this name.
///
/// # Safety
/// `schunk` leads to a super-chunk of C-Blosc2 3 that nobody changes while the content is in use.
unsafe fn metalayer<'a>(schunk: *const Schunk, name: &str) -> Option<&'a [u8]> {
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
