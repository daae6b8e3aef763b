//! Just enough of NumPy's `.npy` format to load the test arrays.

use std::path::Path;

use crate::{Error, Result};

/// The bytes of an array, and the size of its items.
#[derive(Debug, Clone)]
pub struct Array {
    /// Bytes of an item.
    pub typesize: usize,
    /// The items in C order, little-endian.
    pub bytes: Vec<u8>,
}

/// Reads a version 1 file of plain little-endian numbers.
///
/// # Errors
/// When the file cannot be read or is of another kind.
pub fn read(path: &Path) -> Result<Array> {
    let file = std::fs::read(path).map_err(|e| Error::new(format!("{}: {e}", path.display())))?;
    parse(&file).ok_or_else(|| Error::new(format!("{}: not a version 1 .npy file of numbers", path.display())))
}

fn parse(file: &[u8]) -> Option<Array> {
    // NEP 1: magic, version, little-endian u16 length of the header, a Python dictionary in ASCII, the data.
    let rest = file.strip_prefix(b"\x93NUMPY\x01\x00")?;
    let (len, rest) = rest.split_first_chunk::<2>()?;
    let (header, bytes) = rest.split_at_checked(u16::from_le_bytes(*len).into())?;
    let header = std::str::from_utf8(header).ok()?;
    let descr = header.split("'descr': '").nth(1)?.split('\'').next()?;
    if descr.starts_with('>') || header.contains("'fortran_order': True") {
        return None;
    }
    let typesize = descr.trim_start_matches(['<', '|', '=']).get(1..)?.parse().ok()?;
    Some(Array { typesize, bytes: bytes.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
    }

    #[test]
    fn the_item_size_and_the_data() {
        let array = parse(&file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", b"12345678")).unwrap();
        assert_eq!((array.typesize, &array.bytes[..]), (4, &b"12345678"[..]));
    }

    #[test]
    fn other_files_are_refused() {
        assert!(parse(b"").is_none());
        assert!(parse(&file("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", b"1234")).is_none());
        assert!(parse(&file("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", b"1234")).is_none());
        assert!(parse(b"\x93NUMPY\x01\x00\xff\xff{}").is_none());
    }
}
