//! An encoder whose type does not matter, and the writer below it.

use std::cell::Cell;
use std::fmt;
use std::io::{self, ErrorKind, Write};

/// An encoder of any type, together with how it is finished.
///
/// ```
/// use std::io::Write;
///
/// use oxiblosc_adaptor::Encoder;
///
/// // A buffer has to be flushed at the end, and gives back what is below it.
/// let mut encoder = Encoder::new(std::io::BufWriter::new(Vec::new()), |buffer| buffer.into_inner());
/// encoder.write_all(b"four")?;
/// encoder.finish()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Encoder<'a>(Box<dyn Finish + 'a>);

impl<'a> Encoder<'a> {
    /// An encoder with the function that writes the end of the stream, which most encoders call `finish`. What the function
    /// returns beside errors is dropped.
    pub fn new<W, F, T, E>(writer: W, finish: F) -> Self
    where
        W: Write + 'a,
        F: FnOnce(W) -> Result<T, E> + 'a,
        E: Into<io::Error>,
        T: 'a,
    {
        Self(Box::new(Parts { writer, finish: |writer| finish(writer).map(drop).map_err(Into::into) }))
    }

    /// Writes the end of the stream.
    ///
    /// # Errors
    /// Those of the encoder, and of the writer below it.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

impl Write for Encoder<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl fmt::Debug for Encoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}

/// Something that is written to and then finished.
trait Finish: Write {
    fn finish(self: Box<Self>) -> io::Result<()>;
}

struct Parts<W, F> {
    writer: W,
    finish: F,
}

impl<W: Write, F> Write for Parts<W, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl<W: Write, F: FnOnce(W) -> io::Result<()>> Finish for Parts<W, F> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        (self.finish)(self.writer)
    }
}

/// Where the compressed stream goes. It fails with [`ErrorKind::WriteZero`] as soon as something does not fit, and from
/// then on.
pub struct BlockWriter<'a> {
    rest: &'a mut [u8],
    state: &'a State,
}

/// How far a [`BlockWriter`] has come, for those who have passed it on.
#[derive(Debug, Default)]
pub(crate) struct State {
    written: Cell<usize>,
    full: Cell<bool>,
}

impl State {
    /// Bytes written.
    pub(crate) fn written(&self) -> usize {
        self.written.get()
    }

    /// Whether something did not fit.
    pub(crate) fn is_full(&self) -> bool {
        self.full.get()
    }
}

impl<'a> BlockWriter<'a> {
    pub(crate) fn new(dst: &'a mut [u8], state: &'a State) -> Self {
        Self { rest: dst, state }
    }
}

impl Write for BlockWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Half of a stream is of no use, and a count of 0 would make some encoders try forever.
        if self.state.is_full() || bytes.len() > self.rest.len() {
            self.state.full.set(true);
            return Err(ErrorKind::WriteZero.into());
        }
        let (now, later) = std::mem::take(&mut self.rest).split_at_mut(bytes.len());
        now.copy_from_slice(bytes);
        self.rest = later;
        self.state.written.set(self.state.written() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for BlockWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockWriter").field("written", &self.state.written()).field("room", &self.rest.len()).finish()
    }
}
