//! Parameters: what is written with them comes back with those that are recorded, and what makes no sense is refused.

use oxiblosc_core::plugin_params::{ParamInfo, Params};

use super::case::Case;
use super::promise::{Broken, Promise, Verdict, same};
use super::session::Session;
use super::shrink::describe;

/// Values that some plugin takes, and values that none should choke on.
const VALUES: [&str; 44] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
    "10",
    "12",
    "16",
    "32",
    "64",
    "100",
    "128",
    "254",
    "255",
    "256",
    "1000",
    "65536",
    "-1",
    "-128",
    "0.5",
    "1e-3",
    "true",
    "false",
    "",
    " ",
    "a",
    "A",
    "1x",
    "+1",
    "007",
    "é",
    "\0",
    "4294967296",
    "18446744073709551616",
    "-9223372036854775809",
    "1e400",
    "nan",
    "inf",
    "-inf",
];

/// A longer value than any that means something.
const LONG: usize = 100_000;

/// A plugin whose parameters are checked. The outer error of a call is the message of a panic, the inner one an error.
pub(super) trait Configurable {
    /// An instance.
    type Plugin;

    fn session(&self) -> &Session;
    fn declared(&self) -> &'static [ParamInfo];
    fn lossy(&self) -> bool;
    fn make(&self) -> Self::Plugin;
    fn copy(&self, plugin: &Self::Plugin) -> Self::Plugin;
    fn configure(&self, plugin: &mut Self::Plugin, params: &Params) -> Result<Result<(), String>, String>;
    /// Compresses or filters; `None` if the result does not fit.
    fn store(&self, plugin: &mut Self::Plugin, case: &Case, src: &[u8]) -> Result<Result<Stored, String>, String>;
    /// The way back, to `len` bytes.
    fn restore(&self, plugin: &mut Self::Plugin, case: &Case, stored: &[u8], len: usize) -> Result<Vec<u8>, String>;
}

/// What was made of a block; `None` if it does not fit.
pub(super) type Stored = Option<Vec<u8>>;

fn broken(detail: impl Into<String>) -> Broken {
    Broken::new(Promise::Params, detail)
}

/// Parameters, and whether the author says that they are valid.
struct Candidate {
    params: Params,
    listed: bool,
}

/// Checks the parameters of a plugin, and returns those that it takes.
pub(super) fn check<C: Configurable>(run: &C, cases: &[(Case, Vec<u8>)]) -> Vec<Params> {
    let session = run.session();
    let listed = &session.settings.params;
    if run.declared().is_empty() {
        if !listed.is_empty() {
            session
                .verdict(Promise::Params, Err(broken("the plugin declares no parameters, but some are to be tried")));
        }
        return Vec::new();
    }
    let long = "9".repeat(LONG);
    let mut candidates: Vec<Candidate> =
        listed.iter().map(|params| Candidate { params: params.clone(), listed: true }).collect();
    for info in run.declared() {
        for value in VALUES.into_iter().chain([long.as_str()]) {
            candidates.push(Candidate { params: Params::default().with(info.name, value), listed: false });
        }
    }
    let mut taken = Vec::new();
    let mut differs = false;
    for candidate in candidates {
        session.watch.says(Promise::Params, format!("  with: {}", shown(&candidate.params)));
        session.watch.expect_bytes(0);
        match takes(run, &candidate) {
            Err(broken) => session.verdict(Promise::Params, Err(broken)),
            Ok(false) => session.tried(&[Promise::Params]),
            Ok(true) => {
                for (case, src) in cases {
                    let verdict = round_trips(run, &candidate, case, src).map(|other| differs |= other);
                    session.verdict(Promise::Params, verdict);
                }
                taken.push(candidate.params);
            }
        }
    }
    for info in run.declared() {
        if !taken.iter().any(|params| params.iter().any(|(name, _)| name == info.name)) {
            let detail = format!(
                "parameter {}: no value was taken, so that it has not been checked; pass valid ones with `params`",
                info.name
            );
            session.breaks(broken(detail));
        }
    }
    if !taken.is_empty() && !differs && !session.settings.ignores_params {
        let detail = "no parameter makes a difference; if that is as it should be, say `ignores_params`";
        session.breaks(broken(detail));
    }
    taken
}

/// Whether the plugin takes the parameters.
fn takes<C: Configurable>(run: &C, candidate: &Candidate) -> Result<bool, Broken> {
    let params = shown(&candidate.params);
    match run.configure(&mut run.make(), &candidate.params) {
        Err(panic) => Err(broken(format!("configure panicked: {panic}\n  with: {params}"))),
        Ok(Err(error)) if candidate.listed => Err(broken(format!("configure failed: {error}\n  with: {params}"))),
        Ok(result) => Ok(result.is_ok()),
    }
}

/// What is written with the parameters is read with those that a frame records. `true` if they make a difference.
fn round_trips<C: Configurable>(run: &C, candidate: &Candidate, case: &Case, src: &[u8]) -> Result<bool, Broken> {
    let params = &candidate.params;
    let recorded = recorded(params, run.declared());
    let what = |detail: String| {
        let (params, input) = (shown(params), describe(src));
        broken(format!("{detail}\n  input: {input}\n  with: parameters {params}, {case}"))
    };
    run.session().watch.expect_bytes(src.len());
    let store = |plugin: &mut C::Plugin| match run.store(plugin, case, src) {
        Err(panic) => Err(what(format!("writing panicked: {panic}"))),
        Ok(Err(error)) if candidate.listed => Err(what(format!("writing failed: {error}"))),
        Ok(Err(_)) => Ok(None),
        Ok(Ok(stored)) => Ok(stored),
    };
    let configured = |params: &Params| {
        let mut plugin = run.make();
        match run.configure(&mut plugin, params) {
            Ok(Ok(())) => Ok(plugin),
            Ok(Err(error)) => Err(what(format!("configure failed with {}: {error}", shown(params)))),
            Err(panic) => Err(what(format!("configure panicked with {}: {panic}", shown(params)))),
        }
    };
    // Made before the parameters are there, and used before and after.
    let mut plain = run.make();
    let before = store(&mut plain)?;
    let mut writer = configured(params)?;
    let stored = store(&mut writer)?;
    if store(&mut plain)? != before {
        return Err(what("an instance without parameters does something else once another one has got some".into()));
    }
    if store(&mut run.copy(&writer))? != stored {
        return Err(what("a clone of an instance with parameters does something else than the instance".into()));
    }
    let Some(stored_bytes) = &stored else { return Ok(stored != before) };
    let mut reader = if recorded.is_empty() { run.make() } else { configured(&recorded)? };
    let how = format!("read with what a frame records ({})", shown(&recorded));
    let restore = |plugin: &mut C::Plugin| run.restore(plugin, case, stored_bytes, src.len());
    let back = restore(&mut reader).map_err(|error| what(format!("{how}: {error}")))?;
    let expected = match run.lossy() {
        true => restore(&mut configured(params)?).map_err(|error| what(format!("read with all of them: {error}")))?,
        false => src.to_vec(),
    };
    let verdict: Verdict = same(Promise::Params, &expected, &back, &how);
    verdict.map_err(|broken| what(broken.detail))?;
    Ok(stored != before)
}

/// Those that a frame records.
pub(super) fn recorded(params: &Params, declared: &[ParamInfo]) -> Params {
    let needed = |name: &str| declared.iter().any(|info| info.recorded && info.name == name);
    params
        .iter()
        .filter(|(name, _)| needed(name))
        .fold(Params::default(), |params, (name, value)| params.with(name, value))
}

fn shown(params: &Params) -> String {
    const SHOWN: usize = 80;
    let text = params.to_string();
    match text.char_indices().nth(SHOWN) {
        _ if text.is_empty() => "none".into(),
        Some((at, _)) => format!("{:?} ... ({} bytes)", &text[..at], text.len()),
        None => format!("{text:?}"),
    }
}
