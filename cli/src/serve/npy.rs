//! The header of a `.npy` file.
//!
//! Source: `numpy.lib.format`.

use crate::npy::MAGIC;

/// A header for items of `item_size` bytes in C order. A dtype that cannot be named in such a file becomes plain bytes.
pub(super) fn header(dtype: Option<&str>, item_size: usize, shape: &[u64]) -> Vec<u8> {
    let lens: String = shape.iter().map(|len| format!("{len}, ")).collect();
    let text = format!(
        "{{'descr': {}, 'fortran_order': False, 'shape': ({}), }}",
        descr(dtype, item_size),
        // One comma makes a tuple of one; between several, the last is too many.
        if shape.len() == 1 { lens.trim_end() } else { lens.trim_end_matches(", ") }
    );
    // "It is terminated by a newline and padded with spaces to make the total length divisible by 64."
    let prefix = |len_bytes: usize| MAGIC.len() + 2 + len_bytes;
    let padded = |len_bytes: usize| (prefix(len_bytes) + text.len() + 1).next_multiple_of(64) - prefix(len_bytes);
    let mut bytes = MAGIC.to_vec();
    let len = match u16::try_from(padded(2)) {
        Ok(len) if text.is_ascii() => {
            bytes.extend([1, 0]);
            bytes.extend(len.to_le_bytes());
            usize::from(len)
        }
        // Version 3 has four bytes for the length, and its text is UTF-8.
        _ => {
            bytes.extend([3, 0]);
            let len = padded(4);
            bytes.extend((len as u32).to_le_bytes());
            len
        }
    };
    bytes.extend(text.bytes());
    bytes.resize(bytes.len() + len - text.len() - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// A dtype as a literal of Python.
fn descr(dtype: Option<&str>, item_size: usize) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "<>|=?[]".contains(c);
    match dtype.map(str::trim) {
        // Fields are a list of tuples, which is a literal already.
        Some(dtype) if dtype.starts_with("[(") && dtype.ends_with(")]") && !dtype.contains(['\n', '\0']) => {
            dtype.to_owned()
        }
        Some(dtype) if !dtype.is_empty() && dtype.chars().all(plain) && !dtype.starts_with('[') => {
            format!("'{dtype}'")
        }
        _ if item_size == 1 => "'|u1'".into(),
        _ => format!("'|V{item_size}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy::NpyHeader;

    #[test]
    fn what_is_written_is_read() {
        let names: String = (0..5000).map(|i| format!("('f{i}', '<i4'), ")).collect();
        let fields = format!("[{names}('z', '<f4')]");
        for (dtype, size) in
            [("<f4", 4), ("|b1", 1), ("<M8[ns]", 8), ("[('a', '<i4'), ('b', '<f8', (3,))]", 28), (&fields, 20_004)]
        {
            for shape in [&[][..], &[0], &[3], &[3, 0, 5], &[1, 2, 3, 4, 5, 6, 7, 8]] {
                let bytes = header(Some(dtype), size, shape);
                assert_eq!(bytes.len() % 64, 0);
                let read = NpyHeader::read(&mut &*bytes).expect("a header");
                assert_eq!((read.descr.as_str(), read.item_size, &*read.shape), (dtype, size, shape));
                assert_eq!(read.data_offset, bytes.len() as u64);
                assert!(!read.fortran_order);
            }
        }
    }

    #[test]
    fn what_has_no_name_is_bytes() {
        let named = |dtype, size| NpyHeader::read(&mut &*header(dtype, size, &[2])).expect("a header").descr;
        assert_eq!(named(None, 1), "|u1");
        assert_eq!(named(None, 3), "|V3");
        assert_eq!(named(Some("{'names': ['a'], 'formats': ['<i4']}"), 4), "|V4");
        assert_eq!(named(Some("'; import os"), 8), "|V8");
    }
}
