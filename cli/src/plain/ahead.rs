//! Input as it comes, read ahead of whoever takes it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use bytes::Bytes;

use super::Plain;
use crate::error::CliError;

/// Bytes that a read asks for.
const READ: usize = 256 << 10;
/// Reads that may be ahead.
const AHEAD: usize = 16;
/// Who has sent nothing for so long is taking a break. Anyone faster is not slowed down by flushes.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes what each read of an input gives, without waiting for more. The reads are made by a thread of its own: only so
/// can be seen that the next one would wait.
pub(crate) struct Ahead {
    pieces: Receiver<Result<Bytes, CliError>>,
}

/// What has come of an input.
pub(crate) enum Next {
    Bytes(Bytes),
    /// Nothing for a while, there may be more.
    Pause,
    End,
}

impl Ahead {
    pub(super) fn new(mut input: Plain) -> Result<Self, CliError> {
        let name = input.name.clone();
        let (sender, pieces) = sync_channel(AHEAD);
        // Never joined: should writing fail while it waits for input, the program ends without it.
        let read = move || {
            let mut buffer = vec![0; READ];
            while let Some(piece) = input.next_read(&mut buffer).transpose() {
                let failed = piece.is_err();
                if sender.send(piece).is_err() || failed {
                    break;
                }
            }
        };
        thread::Builder::new().name("input".into()).spawn(read).map_err(CliError::io(name))?;
        Ok(Self { pieces })
    }

    /// What comes next: after a [`Next::Pause`], as long as that takes.
    pub(crate) fn next(&mut self, paused: bool) -> Result<Next, CliError> {
        let piece = match paused {
            true => self.pieces.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => self.pieces.recv_timeout(PAUSE),
        };
        match piece {
            Ok(piece) => piece.map(Next::Bytes),
            Err(RecvTimeoutError::Timeout) => Ok(Next::Pause),
            Err(RecvTimeoutError::Disconnected) => Ok(Next::End),
        }
    }
}
