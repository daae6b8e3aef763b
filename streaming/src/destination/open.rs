//! Writing a frame without totals to something that can only be written front to back.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use futures::io::AsyncWrite;

use super::{Part, Target};

/// Writes an *open-ended* frame to `writer`, each byte as soon as it is available, and keeps nothing.
///
/// Its header never gets the totals, which is why such a frame must be asked for explicitly. C-Blosc2 does not open
/// such a frame; the front-to-back readers of this crate do, while it grows and afterwards.
/// [`seal`](crate::recover::seal()) turns it into a plain frame in place.
///
/// ```
/// use futures::{AsyncWriteExt, executor::block_on};
/// use oxiblosc_streaming::{FrameReader, WriteOptions, recover, target::OpenTarget};
/// # use oxiblosc_plugins as _;
///
/// block_on(async {
///     let mut sink = WriteOptions::default().sink(OpenTarget::new(futures::io::Cursor::new(Vec::new())))?;
///     sink.write_all(&[7; 100_000]).await?;
///     sink.close().await?;
///     let mut frame = sink.into_target().into_inner().into_inner();
///     assert!(FrameReader::open(frame.clone()).await.is_err());
///
///     recover::seal(&mut frame)?;
///     assert_eq!(FrameReader::open(frame).await?.nbytes(), 100_000);
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })
/// # .unwrap();
/// ```
#[derive(Debug)]
pub struct OpenTarget<W> {
    writer: W,
    /// Bytes that the writer has accepted.
    accepted: u64,
}

impl<W> OpenTarget<W> {
    /// A target that starts at the current position of `writer`.
    pub fn new(writer: W) -> Self {
        Self { writer, accepted: 0 }
    }

    /// The writer.
    pub fn get_ref(&self) -> &W {
        &self.writer
    }

    /// The writer; once the frame is complete it is positioned after it.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

impl<W: AsyncWrite + Unpin> Target for OpenTarget<W> {
    fn poll_append(&mut self, cx: &mut Context<'_>, _: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(()));
        }
        match ready!(Pin::new(&mut self.writer).poll_write(cx, &bytes[..bytes.len().min(super::AT_ONCE)]))? {
            0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            n => {
                bytes.advance(n);
                self.accepted += n as u64;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(cx)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        super::check_whole(header, self.accepted)?;
        self.poll_flush(cx)
    }

    fn is_open_ended(&self) -> bool {
        true
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_close(cx)
    }
}
