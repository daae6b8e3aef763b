//! Buffering a stream until its end has been read.

use std::io::{self, Write};

use bytes::Bytes;
use futures::io::{AsyncRead, AsyncReadExt};

use crate::disk::IoMode;
use crate::source::{FileSource, RangeSource};

/// Bytes read and written at a time.
const PART: usize = 1 << 20;

/// Reads a frame of `len` bytes that begins with `head`: into memory if it has at most `memory` bytes, otherwise into a
/// temporary file. A stream that ends early is kept as it is.
pub(super) async fn spool<R: AsyncRead + Unpin>(
    reader: R,
    head: Bytes,
    len: u64,
    memory: usize,
) -> io::Result<Box<dyn RangeSource>> {
    let mut rest = reader.take(len.saturating_sub(head.len() as u64));
    let mut kept = head.to_vec();
    let in_memory = (memory.saturating_sub(kept.len()) as u64).saturating_add(1);
    (&mut rest).take(in_memory).read_to_end(&mut kept).await?;
    if kept.len() <= memory {
        return Ok(Box::new(Bytes::from(kept)));
    }
    let mode = IoMode::default();
    let mut file = mode.run(tempfile::tempfile).await?;
    loop {
        let part = kept;
        file = mode
            .run(move || {
                file.write_all(&part)?;
                Ok::<_, io::Error>(file)
            })
            .await?;
        kept = Vec::new();
        if (&mut rest).take(PART as u64).read_to_end(&mut kept).await? == 0 {
            return Ok(Box::new(FileSource::new(file, mode)));
        }
    }
}
