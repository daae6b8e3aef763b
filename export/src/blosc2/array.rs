//! The shapes of the array that a super-chunk holds.

use std::cell::Cell;
use std::rc::Rc;

use oxiblosc_core::nd::{ArrayMeta, Geometry};

use super::layout::Schunk;
use super::metalayer::metalayer;

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
