//! Cleaning up when a signal ends the program.

use std::sync::{Mutex, Once, PoisonError};

type Cleanup = Box<dyn FnOnce() + Send>;

/// The current cleanup.
static UNDO: Mutex<Option<Cleanup>> = Mutex::new(None);

/// While this exists, a signal that ends the program runs the cleanup first.
#[must_use]
pub(crate) struct CleanupGuard(());

/// Makes a signal call `undo`, on a separate thread while all others continue, so it must share with them what it
/// needs. The program exits when it returns. A command writes one thing at a time.
pub(crate) fn undo_by(undo: impl FnOnce() + Send + 'static) -> CleanupGuard {
    watch();
    *slot() = Some(Box::new(undo));
    CleanupGuard(())
}

impl Drop for CleanupGuard {
    fn drop(&mut self) {
        *slot() = None;
    }
}

fn slot() -> std::sync::MutexGuard<'static, Option<Cleanup>> {
    UNDO.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles signals from now on. The first one runs the cleanup and exits with status 128 plus its number, as shells do;
/// the second one exits at once.
pub(crate) fn watch() {
    static STARTED: Once = Once::new();
    // Without it everything works, except that a signal leaves files behind.
    STARTED.call_once(|| drop(start()));
}

#[cfg(unix)]
fn start() -> std::io::Result<()> {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;

    let ignored = ignored_signals();
    // Signals that were ignored when the program started stay ignored: under `nohup`, or in a background job of a
    // script. Where that cannot be determined, SIGHUP ends the program as usual.
    let signals = match ignored {
        Some(mask) => [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|n| mask >> (n - 1) & 1 == 0).collect(),
        None => vec![SIGINT, SIGTERM],
    };
    let again = Arc::new(AtomicBool::new(false));
    for &signal in &signals {
        // The order matters: the first one finds the flag unset.
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

/// Other systems end the program as usual.
#[cfg(not(unix))]
fn start() -> std::io::Result<()> {
    Ok(())
}

/// The signals that are ignored, as a mask whose lowest bit is signal 1; `None` where the system does not say.
#[cfg(unix)]
fn ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
