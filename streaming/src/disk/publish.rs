//! Giving a frame its name once it is complete.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tempfile::TempPath;

use super::{IoMode, IoTask, parent_of, sync_directory};

/// A file or directory with a temporary name, which is removed when this is dropped.
pub(crate) trait Temporary: Sized + Send + 'static {
    /// Gives it the name `destination`. Returns what was there before if it has to be removed once the new name is on
    /// the disk.
    fn rename(self, destination: &Path) -> Result<Option<Self>, (Self, io::Error)>;

    /// Removes it.
    fn remove(self) -> io::Result<()>;

    /// Leaves it where it is.
    fn keep(self);
}

impl Temporary for TempPath {
    fn rename(self, destination: &Path) -> Result<Option<Self>, (Self, io::Error)> {
        self.persist(destination).map(|()| None).map_err(|failed| (failed.path, failed.error))
    }

    fn remove(self) -> io::Result<()> {
        self.close()
    }

    fn keep(self) {
        let _ = TempPath::keep(self);
    }
}

/// The name of a file or directory that is being written, and the last steps of writing it.
#[derive(Debug)]
pub(crate) struct Publication<T> {
    /// `None` if it has had its name from the start.
    rename: Option<Rename<T>>,
    task: Option<IoTask<io::Result<()>>>,
    is_done: bool,
}

#[derive(Debug)]
struct Rename<T> {
    /// `None` after the rename. Shared with tasks that may outlive the target.
    temporary: Arc<Mutex<Option<T>>>,
    destination: PathBuf,
}

impl<T: Temporary> Publication<T> {
    /// Of something that has had its name from the start.
    pub(crate) fn in_place() -> Self {
        Self { rename: None, task: None, is_done: false }
    }

    /// Of something that is called `destination` once it is complete.
    pub(crate) fn renaming(temporary: T, destination: PathBuf) -> Self {
        let rename = Rename { temporary: Arc::new(Mutex::new(Some(temporary))), destination };
        Self { rename: Some(rename), task: None, is_done: false }
    }

    /// Whether it has had its name from the start.
    pub(crate) fn is_in_place(&self) -> bool {
        self.rename.is_none()
    }

    /// Whether it is complete and has its name.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether the last steps have been started, and have not failed since.
    pub(crate) fn has_started(&self) -> bool {
        self.task.is_some()
    }

    /// A handle that keeps what has a temporary name from being removed by a drop.
    pub(crate) fn hold(&self) -> Option<Arc<Mutex<Option<T>>>> {
        self.rename.as_ref().map(|rename| Arc::clone(&rename.temporary))
    }

    /// Starts the last steps: `complete`, which must be repeatable, and the rename.
    pub(crate) fn start(
        &mut self,
        mode: IoMode,
        durable: bool,
        complete: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) {
        let rename = self.rename.as_ref().map(|rename| (Arc::clone(&rename.temporary), rename.destination.clone()));
        self.task = Some(mode.run(move || match rename {
            None => complete(),
            Some((temporary, destination)) => publish(&temporary, &destination, durable, complete),
        }));
    }

    /// Waits for the last steps. After an error they have to be started again.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(task) = &mut self.task else { return Poll::Pending };
        let result = ready!(Pin::new(task).poll(cx));
        self.task = None;
        self.is_done = result.is_ok();
        Poll::Ready(result)
    }

    /// Removes what has no name yet.
    pub(crate) fn abort(&self) -> io::Result<()> {
        let temporary = self.rename.as_ref().and_then(|rename| take(&rename.temporary));
        temporary.map_or(Ok(()), T::remove)
    }
}

fn take<T>(temporary: &Mutex<Option<T>>) -> Option<T> {
    temporary.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Every step can be repeated: after the rename nothing has a temporary name, and only the directory is synced.
fn publish<T: Temporary>(
    temporary: &Mutex<Option<T>>,
    destination: &Path,
    durable: bool,
    complete: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let mut temporary = temporary.lock().unwrap_or_else(PoisonError::into_inner);
    if temporary.is_some() {
        complete()?;
    }
    let replaced = match temporary.take().map(|unnamed| unnamed.rename(destination)) {
        None => None,
        Some(Ok(replaced)) => replaced,
        Some(Err((unnamed, error))) => {
            *temporary = Some(unnamed);
            return Err(error);
        }
    };
    let synced = if durable { sync_directory(parent_of(destination)) } else { Ok(()) };
    match replaced {
        // What cannot be removed does no harm.
        Some(replaced) if synced.is_ok() => drop(replaced.remove()),
        // It may have the name again after a crash.
        Some(replaced) => replaced.keep(),
        None => {}
    }
    synced
}
