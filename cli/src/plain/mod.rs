//! Input that is to be compressed.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;

use bytes::Bytes;
use indicatif::ProgressBar;

use crate::args::Source;
use crate::error::CliError;
use crate::npy::{self, NpyHeader};
use crate::progress::{self, Counted};

/// Uncompressed input: the bytes of a file or stream, or the data of a .npy file.
pub(crate) struct Plain {
    /// What to call it in messages.
    pub(crate) name: String,
    reader: Box<dyn Read>,
    /// Bytes of an item, 1 if the input does not say.
    pub(crate) item_size: usize,
    /// Where the data of a .npy file begin and end; the file must end there too.
    array: Option<Range<u64>>,
    /// Bytes of data read so far.
    taken: u64,
    pub(crate) bar: ProgressBar,
}

impl Plain {
    /// Opens a file or standard input. Unless it is to be taken `raw`, a .npy file is known by its first bytes.
    pub(crate) fn open(source: &Source, raw: bool, quiet: bool) -> Result<Self, CliError> {
        let name = source.name();
        let (reader, len): (Box<dyn Read>, _) = match source {
            Source::Standard => (Box::new(io::stdin().lock()), None),
            Source::Path(path) => {
                let file = File::open(path).map_err(CliError::io(&name))?;
                let metadata = file.metadata().map_err(CliError::io(&name))?;
                let len = metadata.is_file().then_some(metadata.len());
                (Box::new(file), len)
            }
        };
        let bar = progress::bar(len, quiet);
        let mut reader = Counted::new(BufReader::new(reader), bar.clone());
        let mut head = Vec::new();
        reader.by_ref().take(npy::MAGIC.len() as u64).read_to_end(&mut head).map_err(CliError::io(&name))?;
        let is_array = head == npy::MAGIC && !raw;
        let mut reader: Box<dyn Read> = Box::new(io::Cursor::new(head).chain(reader));
        let mut item_size = 1;
        let mut array = None;
        if is_array {
            let header = NpyHeader::read(&mut reader).map_err(CliError::data(&name))?;
            if !header.is_c_order() {
                let reason = "the array is stored in Fortran order; save it in C order (numpy.ascontiguousarray), \
                              or use --raw to compress the file as it is";
                return Err(CliError::data(&name)(reason));
            }
            item_size = header.item_size;
            array = Some(header.data_offset..header.data_offset.saturating_add(header.nbytes));
        }
        Ok(Self { name, reader, item_size, array, taken: 0, bar })
    }

    /// The next `len` bytes, or what is left of them; `None` at the end.
    pub(crate) fn next(&mut self, len: usize) -> Result<Option<Bytes>, CliError> {
        let left = self.array.as_ref().map_or(u64::MAX, |array| array.end - array.start - self.taken);
        let mut bytes = Vec::with_capacity(len);
        let limit = left.min(len as u64);
        self.reader.by_ref().take(limit).read_to_end(&mut bytes).map_err(CliError::io(&self.name))?;
        self.taken += bytes.len() as u64;
        // Fewer bytes than asked for, or none left to ask for: the end.
        if let Some(array) = self.array.clone()
            && (bytes.len() as u64) < limit.max(1)
        {
            self.check_end(array)?;
        }
        Ok((!bytes.is_empty()).then(|| bytes.into()))
    }

    /// The data of an array must end where its header says, and the file with it.
    fn check_end(&mut self, array: Range<u64>) -> Result<(), CliError> {
        let (found, expected) = (array.start + self.taken, array.end);
        if found < expected {
            let reason = format!("the file ends at offset {found}, the data of the array at {expected}");
            return Err(CliError::data(&self.name)(reason));
        }
        if self.reader.read(&mut [0]).map_err(CliError::io(&self.name))? > 0 {
            let reason = format!("the data of the array ends at offset {expected}, but the file goes on");
            return Err(CliError::data(&self.name)(reason));
        }
        Ok(())
    }
}
