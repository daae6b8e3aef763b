//! Parameters of plugins that a super-chunk records, in the metalayer that oxiblosc has for them.
//!
//! Whoever writes with C-Blosc2 makes the same metalayer when the super-chunk is made: its encoder and its decoder read
//! it from there.

use std::cell::Cell;
use std::rc::Rc;

use oxiblosc_core::plugin_params::{InvalidPluginParams, ParamInfo, Params, PluginParams};
use oxiblosc_core::{CodecId, FilterId};

use super::CallError;
use super::layout::{MAX_FILTERS, Schunk};
use super::metalayer::metalayer;

/// A metalayer that was parsed, and what came out. Calls for one super-chunk follow each other, and there are many.
type Parsed = (Box<[u8]>, Result<Rc<PluginParams>, InvalidPluginParams>);

thread_local! {
    static LATEST: Cell<Option<Parsed>> = const { Cell::new(None) };
}

/// What the super-chunk records; `None` if it records nothing.
///
/// # Safety
/// `schunk` is null or leads to a super-chunk of C-Blosc2 3 that nobody changes meanwhile.
pub(super) unsafe fn recorded(schunk: *const Schunk) -> Result<Option<Rc<PluginParams>>, CallError> {
    if schunk.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and otherwise as asked for here.
    let Some(content) = (unsafe { metalayer(schunk, PluginParams::METALAYER) }) else { return Ok(None) };
    let latest = LATEST.try_with(Cell::take).ok().flatten();
    let parsed = latest
        .filter(|(known, _)| **known == *content)
        .unwrap_or_else(|| (content.into(), PluginParams::from_bytes(content).map(Rc::new)));
    let params = parsed.1.clone();
    let _ = LATEST.try_with(|latest| latest.set(Some(parsed)));
    Ok(Some(params?))
}

/// The parameters of the codec; none if none are recorded.
pub(super) fn of_codec(
    recorded: Option<&PluginParams>,
    id: CodecId,
    declared: &[ParamInfo],
) -> Result<Params, CallError> {
    checked(recorded.and_then(|recorded| recorded.of_codec(id)), declared)
}

/// The parameters of the filter. C-Blosc2 does not say in which slot it is, so that they have to be the same in all.
pub(super) fn of_filter(
    recorded: Option<&PluginParams>,
    (id, slots): (FilterId, &[u8; MAX_FILTERS]),
    declared: &[ParamInfo],
) -> Result<Params, CallError> {
    let Some(recorded) = recorded else { return Ok(Params::default()) };
    let mut all = (0..).zip(slots).filter(|(_, slot)| **slot == id.0).map(|(slot, _)| recorded.of_filter(slot, id));
    let first = all.next().flatten();
    if all.any(|other| other != first) {
        return Err(CallError::Slots);
    }
    checked(first, declared)
}

/// A plugin is given what it declares, and nothing else.
fn checked(params: Option<&Params>, declared: &[ParamInfo]) -> Result<Params, CallError> {
    let Some(params) = params else { return Ok(Params::default()) };
    match params.iter().find(|(name, _)| declared.iter().all(|info| info.name != *name)) {
        Some((name, _)) => Err(CallError::Parameter(name.into())),
        None => Ok(params.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &[ParamInfo] = &[ParamInfo::recorded("key", "")];

    #[test]
    fn parameters_are_those_of_all_slots() {
        let (one, two) = (Params::default().with("key", 1), Params::default().with("key", 2));
        let id = FilterId(232);
        let recorded = PluginParams::default().filter(0, id, one.clone()).filter(2, id, one.clone()).filter(5, id, two);
        let of = |slots| of_filter(Some(&recorded), (id, &slots), DECLARED);
        assert_eq!(of([232, 0, 232, 0, 0, 0]).unwrap(), one);
        assert!(matches!(of([232, 0, 232, 0, 0, 232]), Err(CallError::Slots)));
        assert!(matches!(of([232, 232, 0, 0, 0, 0]), Err(CallError::Slots)));
        assert!(of([0, 232, 0, 0, 0, 0]).unwrap().is_empty());
        assert!(of_filter(None, (id, &[232; 6]), DECLARED).unwrap().is_empty());
    }

    #[test]
    fn what_is_not_declared_is_refused() {
        let recorded = PluginParams::default().codec(CodecId(231), Params::default().with("level", 1));
        let error = of_codec(Some(&recorded), CodecId(231), DECLARED).unwrap_err();
        assert!(error.to_string().contains("\"level\""), "{error}");
        assert!(of_codec(Some(&recorded), CodecId(230), DECLARED).unwrap().is_empty());
    }
}
