//! Reading input as it arrives, on a separate thread.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use bytes::Bytes;

use super::RawInput;
use crate::error::CliError;

/// Bytes requested by a read.
const READ: usize = 256 << 10;
/// Reads that may be ahead.
const AHEAD: usize = 16;
/// Input that sends nothing for this long is considered paused. Faster input is not slowed down by flushes.
const PAUSE: Duration = Duration::from_millis(20);

/// Returns the result of each read of an input, without waiting for more. A separate thread makes the reads, so that it
/// is known when the next one would block.
pub(crate) struct PromptReader {
    pieces: Receiver<Result<Bytes, CliError>>,
}

/// What has arrived.
pub(crate) enum ReadEvent {
    Bytes(Bytes),
    /// Nothing for a while; there may be more.
    Pause,
    End,
}

impl PromptReader {
    pub(super) fn new(mut input: RawInput) -> Result<Self, CliError> {
        let name = input.name.clone();
        let (sender, pieces) = sync_channel(AHEAD);
        // Never joined: if writing fails while it waits for input, the program exits without it.
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

    /// The next event; after a [`ReadEvent::Pause`] it waits as long as that takes.
    pub(crate) fn next(&mut self, paused: bool) -> Result<ReadEvent, CliError> {
        let piece = match paused {
            true => self.pieces.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => self.pieces.recv_timeout(PAUSE),
        };
        match piece {
            Ok(piece) => piece.map(ReadEvent::Bytes),
            Err(RecvTimeoutError::Timeout) => Ok(ReadEvent::Pause),
            Err(RecvTimeoutError::Disconnected) => Ok(ReadEvent::End),
        }
    }
}
