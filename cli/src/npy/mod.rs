//! The header of `.npy` files, versions 1 to 3.
//!
//! Source: NumPy Enhancement Proposal 1 and its successor, the documentation of `numpy.lib.format`.
//!
//! It is parsed here because the command needs nothing but the header: the data that follow are a stream of any length,
//! which may come from a pipe, and the dtype is passed on as text, structured types included. There is no speed to
//! measure; `--test command npy` and, against NumPy itself, `--test interop arrays` show that it is right.

mod dict;

use std::io::{self, Read};

use thiserror::Error;

use dict::{DictError, entries, unquote};
use oxiblosc::nd::item_size;

/// "The first 6 bytes are a magic string: exactly `\x93NUMPY`."
pub(crate) const MAGIC: [u8; 6] = *b"\x93NUMPY";

/// Magic string and two bytes of version.
const PREFIX_LEN: u64 = 8;

/// The format allows 4 GiB; real headers of structured types reach some kilobytes. Limits the allocation for a damaged
/// length.
const MAX_HEADER_LEN: u32 = 1 << 20;

/// NumPy's own limit is 64 dimensions.
const MAX_DIMENSIONS: usize = 64;

/// What a `.npy` file says about its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NpyHeader {
    /// Offset of the data in the file.
    pub(crate) data_offset: u64,
    /// The type description: a name, or the text of a list of fields.
    pub(crate) descr: String,
    /// Bytes of an item.
    pub(crate) item_size: usize,
    /// Extent along each dimension, in the order of the indices.
    pub(crate) shape: Vec<u64>,
    /// The first index varies fastest instead of the last one.
    pub(crate) fortran_order: bool,
    /// Bytes of data.
    pub(crate) nbytes: u64,
}

impl NpyHeader {
    /// Reads the header from the start of a file and leaves `file` at the first byte of the data.
    pub(crate) fn read(file: &mut impl Read) -> Result<Self, NpyError> {
        let mut prefix = [0; PREFIX_LEN as usize];
        read_exact(file, &mut prefix, 0)?;
        if !prefix.starts_with(&MAGIC) {
            return Err(NpyError::Magic);
        }
        // "The next 1 byte is an unsigned byte: the major version number of the file format", then the minor one.
        let [.., major, minor] = prefix;
        // "The next 2 bytes form a little-endian unsigned short int: the length of the header data"; version 2
        // "changed this to 4 bytes", version 3 "to an utf8-encoded string".
        let length_len = match (major, minor) {
            (1, 0) => 2,
            (2 | 3, 0) => 4,
            _ => return Err(NpyError::Version { major, minor }),
        };
        let mut length = [0; 4];
        read_exact(file, &mut length[..length_len], PREFIX_LEN)?;
        let length = u32::from_le_bytes(length);
        if length > MAX_HEADER_LEN {
            return Err(NpyError::HeaderLength { found: length });
        }
        let text_offset = PREFIX_LEN + length_len as u64;
        let mut text = vec![0; length as usize];
        read_exact(file, &mut text, text_offset)?;
        let text = decode(text, major)?;
        let entries = entries(&text).map_err(|source| {
            let offset = text_offset + source.offset as u64;
            NpyError::Dict { offset, source }
        })?;
        Self::from_entries(&entries, text_offset + u64::from(length))
    }

    /// "It is a dictionary with three keys": `descr`, `fortran_order` and `shape`.
    fn from_entries(entries: &[(&str, &str)], data_offset: u64) -> Result<Self, NpyError> {
        if entries.len() != 3 {
            return Err(NpyError::Field { field: "header", expected: "three keys: descr, fortran_order and shape" });
        }
        let value = |field: &'static str| {
            let entry = entries.iter().find(|(key, _)| *key == field);
            entry.map(|(_, value)| *value).ok_or(NpyError::Field { field, expected: "to be present" })
        };
        let descr = value("descr")?;
        let descr = unquote(descr).unwrap_or(descr);
        let item_size = item_size(descr).ok_or_else(|| NpyError::Type { descr: descr.to_owned() })?;
        let fortran_order = match value("fortran_order")? {
            "True" => true,
            "False" => false,
            _ => return Err(NpyError::Field { field: "fortran_order", expected: "True or False" }),
        };
        let shape = shape(value("shape")?)?;
        let nbytes = shape
            .iter()
            .try_fold(item_size as u64, |nbytes, &extent| nbytes.checked_mul(extent))
            .ok_or(NpyError::Field { field: "shape", expected: "an array of less than 2^64 bytes" })?;
        Ok(Self { data_offset, descr: descr.to_owned(), item_size, shape, fortran_order, nbytes })
    }

    /// Whether the data is in C order, the last index varying fastest. With at most one dimension of more than one
    /// item both orders are the same.
    pub(crate) fn is_c_order(&self) -> bool {
        !self.fortran_order || self.shape.iter().filter(|&&extent| extent != 1).count() <= 1 || self.nbytes == 0
    }
}

/// A tuple of whole numbers; Python 2 wrote large ones with an `L`.
fn shape(text: &str) -> Result<Vec<u64>, NpyError> {
    let wrong = NpyError::Field { field: "shape", expected: "a tuple of at most 64 whole numbers" };
    let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return Err(wrong) };
    let inner = inner.trim();
    if inner.is_empty() {
        return Ok(Vec::new());
    }
    // A comma is what makes a tuple; after the last of several items it is optional.
    let items = inner.strip_suffix(',').unwrap_or(inner);
    let extent = |item: &str| {
        let digits = item.trim();
        let digits = digits.strip_suffix('L').unwrap_or(digits);
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
    };
    let extents: Option<Vec<u64>> = items.split(',').map(extent).collect();
    extents.filter(|extents| extents.len() <= MAX_DIMENSIONS && inner.contains(',')).ok_or(wrong)
}

/// Versions 1 and 2 are Latin-1, version 3 is UTF-8.
fn decode(text: Vec<u8>, major: u8) -> Result<String, NpyError> {
    if major < 3 {
        return Ok(text.into_iter().map(char::from).collect());
    }
    String::from_utf8(text).map_err(|_| NpyError::Field { field: "header", expected: "UTF-8 text (version 3)" })
}

fn read_exact(file: &mut impl Read, buffer: &mut [u8], offset: u64) -> Result<(), NpyError> {
    let wanted = buffer.len();
    file.read_exact(buffer).map_err(|source| match source.kind() {
        io::ErrorKind::UnexpectedEof => NpyError::Truncated { offset, wanted },
        _ => NpyError::Io { offset, source },
    })
}

/// Why the header of a `.npy` file could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum NpyError {
    #[error("not a .npy file: no `\\x93NUMPY` at offset 0")]
    Magic,
    #[error(".npy version {major}.{minor} at offset 6 is not known; expected 1.0, 2.0 or 3.0")]
    Version { major: u8, minor: u8 },
    #[error(".npy header ends at offset {offset} where {wanted} more bytes are needed")]
    Truncated { offset: u64, wanted: usize },
    #[error(".npy header of {found} bytes at offset 8; at most {MAX_HEADER_LEN} are read")]
    HeaderLength { found: u32 },
    #[error(".npy header at offset {offset} makes no sense")]
    Dict { offset: u64, source: DictError },
    #[error(".npy header: {field}: expected {expected}")]
    Field { field: &'static str, expected: &'static str },
    #[error(".npy header: items of type {descr:?} have no size, or hold Python objects")]
    Type { descr: String },
    #[error("could not read the .npy header at offset {offset}")]
    Io { offset: u64, source: io::Error },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header as NumPy writes it: padded with spaces to a multiple of 64 bytes, ended by a newline.
    fn file(version: u8, dict: &str) -> Vec<u8> {
        let length_len = if version == 1 { 2 } else { 4 };
        let unpadded = 8 + length_len + dict.len() + 1;
        let text = format!("{dict}{}\n", " ".repeat(unpadded.next_multiple_of(64) - unpadded));
        let mut file = MAGIC.to_vec();
        file.extend([version, 0]);
        file.extend(&(text.len() as u32).to_le_bytes()[..length_len]);
        file.extend(text.bytes());
        file
    }

    fn read(bytes: &[u8]) -> Result<NpyHeader, NpyError> {
        NpyHeader::read(&mut &*bytes)
    }

    #[test]
    fn all_three_versions() {
        for version in 1..=3 {
            let bytes = file(version, "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 24, 96, 128), }");
            let header = read(&bytes).expect("a good header");
            assert_eq!(header.data_offset, bytes.len() as u64);
            assert_eq!(header.item_size, 2);
            assert_eq!(header.shape, [2, 24, 96, 128]);
            assert_eq!(header.nbytes, 1_179_648);
            assert!(header.is_c_order());
        }
    }

    #[test]
    fn scalars_and_empty_arrays() {
        let scalar = read(&file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }")).expect("a scalar");
        assert_eq!((scalar.nbytes, scalar.shape.len()), (8, 0));
        let empty = read(&file(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 0), }")).expect("empty");
        assert_eq!(empty.nbytes, 0);
        assert!(empty.is_c_order());
    }

    #[test]
    fn types_of_fields() {
        let dict = "{'descr': [('a', '<i4'), ('b', '<f8', (2, 3))], 'fortran_order': False, 'shape': (7L, 1), }";
        let header = read(&file(1, dict)).expect("a good header");
        assert_eq!((header.item_size, header.shape, header.nbytes), (52, vec![7, 1], 364));
        assert_eq!(header.descr, "[('a', '<i4'), ('b', '<f8', (2, 3))]");
    }

    #[test]
    fn orders_differ_only_with_two_extended_dimensions() {
        let order = |shape: &str| {
            let dict = format!("{{'descr': '<f8', 'fortran_order': True, 'shape': {shape}, }}");
            read(&file(1, &dict)).expect("a good header").is_c_order()
        };
        assert!(order("(5,)"));
        assert!(order("(1, 5, 1)"));
        assert!(!order("(2, 5)"));
    }

    #[test]
    fn every_cut_is_an_error_that_says_where() {
        let bytes = file(1, "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }");
        for cut in 0..bytes.len() {
            assert!(matches!(read(&bytes[..cut]), Err(NpyError::Truncated { offset: 0 | 8 | 10, .. })), "cut at {cut}");
        }
    }

    #[test]
    fn bad_headers() {
        for dict in [
            "",
            "[]",
            "{'descr': '<i2', 'fortran_order': False}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), 'more': 1}",
            "{'descr': '<i2', 'fortran_order': 0, 'shape': (3,)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': 3}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (3)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (,)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (3,,4)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (+3,)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (-3,)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
            "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (3,)} 1",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (3,)",
        ] {
            assert!(read(&file(1, dict)).is_err(), "{dict}");
        }
        let mut bytes = file(1, "{'descr': '<i2', 'fortran_order': False, 'shape': (3,)}");
        bytes[6] = 4;
        assert!(matches!(read(&bytes), Err(NpyError::Version { major: 4, minor: 0 })));
        bytes[6..12].copy_from_slice(&[2, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
        assert!(matches!(read(&bytes), Err(NpyError::HeaderLength { found: u32::MAX })));
    }
}
