//! Signals that end the program: what it was writing is undone first.

use std::sync::{Mutex, PoisonError};

type Undo = Box<dyn FnOnce() + Send>;

/// What there is to undo.
static UNDO: Mutex<Option<Undo>> = Mutex::new(None);

/// While this lives, a signal that ends the program has something undone first.
#[must_use]
pub(crate) struct Undoing(());

/// Has a signal call `undo`, on a thread of its own while all others go on: what it needs it must share with them. The
/// program ends when it returns. A command writes one thing at a time.
pub(crate) fn undo_by(undo: impl FnOnce() + Send + 'static) -> Undoing {
    *slot() = Some(Box::new(undo));
    Undoing(())
}

impl Drop for Undoing {
    fn drop(&mut self) {
        *slot() = None;
    }
}

fn slot() -> std::sync::MutexGuard<'static, Option<Undo>> {
    UNDO.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for signals from now on. The first of them has everything undone and ends the program with status 128 and its
/// number, as shells say it; the second one ends it at once.
#[cfg(unix)]
pub(crate) fn watch() -> std::io::Result<()> {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;

    let ignored = ignored_signals();
    // What was ignored when the program started is to be ignored: `nohup`, or a job of a script in the background. Where
    // that cannot be known, hanging up ends the program as it would without us.
    let signals = match ignored {
        Some(mask) => [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|n| mask >> (n - 1) & 1 == 0).collect(),
        None => vec![SIGINT, SIGTERM],
    };
    let again = Arc::new(AtomicBool::new(false));
    for &signal in &signals {
        // In this order: the first one finds the flag unset.
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again))?;
        flag::register(signal, Arc::clone(&again))?;
    }
    let mut signals = Signals::new(signals)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let undo = slot().take();
            if let Some(undo) = undo {
                undo();
            }
            oxiblosc::blocking::settle();
            std::process::exit(128 + signal);
        }
    })?;
    Ok(())
}

/// Other systems end the program as they always do.
#[cfg(not(unix))]
pub(crate) fn watch() -> std::io::Result<()> {
    Ok(())
}

/// The signals that are ignored, as a mask whose lowest bit is signal 1; `None` where the system does not say.
#[cfg(unix)]
fn ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
