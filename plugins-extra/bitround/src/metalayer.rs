//! The record of the precision in a frame.
//!
//! Source: docs/format.md, "The metalayer `oxiblosc_bitround`".

use oxiblosc_core::frame::Metalayers;

use crate::{MetalayerError, Precision};

/// The name of the metalayer in the header of a frame that records the precision of its floats.
pub const METALAYER: &str = "oxiblosc_bitround";

/// The first byte of a msgpack map of up to 15 entries, and of strings of up to 31 bytes.
const FIXMAP: u8 = 0x80;
const FIXSTR: u8 = 0xA0;
/// The type of a float of 8 bytes.
const FLOAT64: u8 = 0xCB;
/// Numbers up to this one are a byte of their own.
const MAX_FIXINT: u8 = 0x7F;

const MANTISSA_BITS: &[u8] = b"mantissa_bits";
const TYPESIZE: &[u8] = b"typesize";
const RELATIVE_ERROR: &[u8] = b"relative_error";
/// Entries that must be there, before those of later versions.
const ENTRIES: u8 = 3;
/// Most entries of such a map.
const MAX_ENTRIES: u8 = 15;

impl Precision {
    /// The content of the metalayer [`METALAYER`]: a msgpack map that says how the floats of a frame were rounded.
    ///
    /// ```
    /// use oxiblosc::{EncodeParams, FilterSlots, ReadOptions, WriteOptions, blocking};
    /// use oxiblosc_bitround::{METALAYER, Precision};
    ///
    /// let precision = Precision::new(4, 7)?;
    /// let filters = FilterSlots::from_list(&[(precision.slot().id, precision.slot().meta)]).expect("a free slot");
    /// let params = EncodeParams { typesize: 4, filters, ..EncodeParams::default() };
    /// let options = WriteOptions::new(params).metalayer(METALAYER, precision.metalayer());
    /// let mut writer = blocking::FrameWriter::in_memory(options)?;
    /// writer.push(1.2345f32.to_le_bytes().repeat(1000).into())?;
    /// writer.finish()?;
    ///
    /// let reader = blocking::FrameReader::with_options(writer.into_bytes(), ReadOptions::new())?;
    /// let found = Precision::recorded_in(reader.metalayers())?.expect("the writer has recorded it");
    /// assert_eq!(found.relative_error(), 1.0 / 256.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metalayer(self) -> Vec<u8> {
        let mut content = vec![FIXMAP | ENTRIES];
        put_key(&mut content, MANTISSA_BITS);
        content.push(self.mantissa_bits());
        put_key(&mut content, TYPESIZE);
        content.push(self.typesize() as u8);
        put_key(&mut content, RELATIVE_ERROR);
        content.push(FLOAT64);
        content.extend(self.relative_error().to_be_bytes());
        content
    }

    /// The precision that the content of a metalayer records. Entries behind the three known ones are ignored.
    ///
    /// # Errors
    /// [`MetalayerError::Content`] when it is no such map, [`MetalayerError::Precision`] when the numbers are out of range,
    /// and [`MetalayerError::Contradiction`] when the error is not that of the bits.
    pub fn from_metalayer(content: &[u8]) -> Result<Self, MetalayerError> {
        let mut rest = content;
        let damaged = |rest: &[u8]| MetalayerError::Content { offset: content.len() - rest.len() };
        match rest.split_off_first() {
            Some(first) if (FIXMAP | ENTRIES..=FIXMAP | MAX_ENTRIES).contains(first) => {}
            _ => return Err(damaged(content)),
        }
        let small = |rest: &mut &[u8], key| {
            let value = skip_key(rest, key).and_then(|()| rest.split_off_first());
            value.copied().filter(|value| *value <= MAX_FIXINT).ok_or_else(|| damaged(rest))
        };
        let bits = small(&mut rest, MANTISSA_BITS)?;
        let typesize = small(&mut rest, TYPESIZE)?;
        let value = skip_key(&mut rest, RELATIVE_ERROR).and_then(|()| rest.strip_prefix(&[FLOAT64])?.first_chunk());
        let found = f64::from_be_bytes(*value.ok_or_else(|| damaged(rest))?);
        let precision = Self::new(typesize.into(), bits)?;
        match precision.relative_error() {
            expected if expected == found => Ok(precision),
            expected => Err(MetalayerError::Contradiction { found, expected }),
        }
    }

    /// The precision that a frame records in its header; `None` if it records none.
    ///
    /// # Errors
    /// Those of [`Precision::from_metalayer`].
    pub fn recorded_in(metalayers: &Metalayers) -> Result<Option<Self>, MetalayerError> {
        metalayers.get(METALAYER).map(|content| Self::from_metalayer(content)).transpose()
    }
}

fn put_key(content: &mut Vec<u8>, key: &[u8]) {
    content.push(FIXSTR | key.len() as u8);
    content.extend(key);
}

/// Skips a key, if it is the next.
fn skip_key(rest: &mut &[u8], key: &[u8]) -> Option<()> {
    *rest = rest.strip_prefix(&[FIXSTR | key.len() as u8])?.strip_prefix(key)?;
    Some(())
}
