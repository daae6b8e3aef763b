//! Named values: the metalayers of the header and the variable-length ones of the trailer.
//!
//! Source: contiguous frame format document, "metalayers" and "vlmetalayers". Both sections have the same shape:
//!
//! ```text
//! 93                       array of 3 (not counted by the trailer's map size)
//! CD size                  bytes from the 93 (header) or from the CD itself (trailer) to the end of the map
//! DE n { A0|len name D2 offset } * n
//! DC n { C6 len content } * n
//! ```
//!
//! Offsets count from the start of the header or of the trailer.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use rmp::Marker;

use super::error::Section;
use super::fields::{i32_at, put, u8_at, u16_at, u32_at};
use super::{FrameError, FrameLayout, FrameWriteError};

/// Most metalayers that every reader accepts in either section.
pub const MAX_METALAYERS: usize = 16;
/// Longest name: the length shares a byte with its msgpack type.
pub const MAX_NAME_LEN: usize = 31;
/// Most variable-length metalayers that readers accept; C-Blosc2 writes no more than 16.
pub(super) const MAX_VLMETALAYERS_READ: u16 = 8192;

const FIXSTR: u8 = 0xA0;
const FIXSTR_MASK: u8 = 0xE0;
/// Bytes from the start of a section to its map: `93 CD size`.
const MAP_AT: usize = 4;
/// Bytes of the map besides the name: type and length of the name, `D2` and the offset.
const ENTRY_OVERHEAD: usize = 6;
/// Bytes before the content: `C6` and the length.
const CONTENT_OVERHEAD: usize = 5;

/// An ordered list of named values, as the header and the trailer hold it.
///
/// The values are opaque here. By convention those of the header are msgpack; those of the trailer are chunks that
/// decode to msgpack (see [`Frame::vlmetalayer`](super::Frame::vlmetalayer)).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metalayers {
    entries: Vec<(Box<[u8]>, Bytes)>,
}

impl Metalayers {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value called `name`. If a file has two of that name, the first one, as in C-Blosc2. A name that is not text can
    /// be given as [`names`](Self::names) shows it.
    pub fn get(&self, name: &str) -> Option<&Bytes> {
        self.position(name).map(|at| &self.entries[at].1)
    }

    /// Names and values in file order. Names are UTF-8 by convention. Others are shown with replacement characters, and
    /// written back unchanged.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Cow<'_, str>, &Bytes)> {
        self.entries.iter().map(|(name, value)| (String::from_utf8_lossy(name), value))
    }

    /// Names in file order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = Cow<'_, str>> {
        self.iter().map(|(name, _)| name)
    }

    /// Appends a value, or replaces the one of that name in place.
    ///
    /// # Errors
    /// A name of more than 31 bytes, a value of 2 GiB or more, or a 17th entry: C-Blosc2 could not read them back.
    pub fn insert(&mut self, name: &str, value: impl Into<Bytes>) -> Result<(), FrameWriteError> {
        self.insert_stored(name.as_bytes(), value.into())
    }

    /// As [`insert`](Self::insert), for the value that `other` has under `name`, one of its [`names`](Self::names). It is
    /// called here what it is called there, which may be no text. Nothing happens if there is none.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_from(&mut self, other: &Self, name: &str) -> Result<(), FrameWriteError> {
        match other.position(name) {
            Some(at) => self.insert_stored(&other.entries[at].0, other.entries[at].1.clone()),
            None => Ok(()),
        }
    }

    /// As [`insert_from`](Self::insert_from), for every value that is accepted. Of two with one name readers see the first.
    pub(super) fn insert_all(
        &mut self,
        other: &Self,
        accepts: impl Fn(&str, &Bytes) -> bool,
    ) -> Result<(), FrameWriteError> {
        for (at, (name, value)) in other.entries.iter().enumerate() {
            let is_first = other.entries[..at].iter().all(|(earlier, _)| earlier != name);
            if is_first && accepts(&String::from_utf8_lossy(name), value) {
                self.insert_stored(name, value.clone())?;
            }
        }
        Ok(())
    }

    fn insert_stored(&mut self, name: &[u8], value: Bytes) -> Result<(), FrameWriteError> {
        let text = || String::from_utf8_lossy(name).into_owned();
        if name.len() > MAX_NAME_LEN {
            return Err(FrameWriteError::MetalayerName { name: text(), max: MAX_NAME_LEN });
        }
        if i32::try_from(value.len()).is_err() {
            return Err(FrameWriteError::MetalayerLen { name: text(), len: value.len() });
        }
        match self.entries.iter().position(|(n, _)| **n == *name) {
            Some(at) => self.entries[at].1 = value,
            None if self.entries.len() >= MAX_METALAYERS => {
                return Err(FrameWriteError::TooManyMetalayers { name: text(), max: MAX_METALAYERS });
            }
            None => self.entries.push((name.into(), value)),
        }
        Ok(())
    }

    /// Where the value called `name` is. One whose name is not text is found by what [`names`](Self::names) makes of it.
    fn position(&self, name: &str) -> Option<usize> {
        let exact = self.entries.iter().position(|(stored, _)| **stored == *name.as_bytes());
        exact.or_else(|| {
            let lossy = name.contains(char::REPLACEMENT_CHARACTER);
            self.entries.iter().position(|(stored, _)| lossy && String::from_utf8_lossy(stored) == name)
        })
    }

    /// Removes the value called `name` and returns it.
    pub fn remove(&mut self, name: &str) -> Option<Bytes> {
        let at = self.entries.iter().position(|(n, _)| **n == *name.as_bytes())?;
        Some(self.entries.remove(at).1)
    }

    /// Parses the metalayers in `header`, a complete header of the given layout, for readers that do not have more of
    /// the frame yet.
    ///
    /// # Errors
    /// When the section is damaged.
    pub fn of_header(header: &Bytes, layout: FrameLayout) -> Result<Self, FrameError> {
        match layout.min_header_len() {
            min if min == header.len() => Ok(Self::new()),
            min => Self::parse_header(header, min),
        }
    }

    /// Parses the section that starts at `start` of `header`, which is the whole header.
    pub(super) fn parse_header(header: &Bytes, start: usize) -> Result<Self, FrameError> {
        Self::parse(Section::Header, header, start + MAP_AT, MAX_METALAYERS as u16)
    }

    /// Parses the section of `trailer`, cut before its length field; the section starts at offset 2.
    pub(super) fn parse_trailer(trailer: &Bytes) -> Result<Self, FrameError> {
        Self::parse(Section::Trailer, trailer, 2 + MAP_AT, MAX_VLMETALAYERS_READ)
    }

    fn parse(section: Section, bytes: &Bytes, map_at: usize, max: u16) -> Result<Self, FrameError> {
        let places = Offsets::find(section, bytes, map_at, max)?;
        let entries = places.entries.into_iter();
        Ok(Self { entries: entries.map(|(name, value)| (bytes[name].into(), bytes.slice(value))).collect() })
    }

    /// The value of the map size field, which does not count the `93` before it.
    fn map_len(&self) -> usize {
        3 + 3 + self.entries.iter().map(|(name, _)| name.len() + ENTRY_OVERHEAD).sum::<usize>()
    }

    /// Bytes of the whole section, `93` included.
    pub(super) fn section_len(&self) -> usize {
        let contents: usize = self.entries.iter().map(|(_, value)| value.len() + CONTENT_OVERHEAD).sum();
        1 + self.map_len() + 3 + contents
    }

    /// The offset of the content called `name` in the serialised section.
    pub(super) fn content_at(&self, name: &str) -> Option<usize> {
        let at = self.entries.iter().position(|(n, _)| **n == *name.as_bytes())?;
        let before: usize = self.entries[..at].iter().map(|(_, value)| CONTENT_OVERHEAD + value.len()).sum();
        Some(1 + self.map_len() + 3 + before + CONTENT_OVERHEAD)
    }

    /// Whether the section can be written at all: its map and its end must be addressable.
    pub(super) fn check(&self, section: Section, start: usize) -> Result<(), FrameWriteError> {
        let len = start + self.section_len();
        if u16::try_from(self.map_len() + 1).is_err() || i32::try_from(len).is_err() {
            return Err(FrameWriteError::MetalayersLen { section, len });
        }
        Ok(())
    }

    /// Appends the section to `out`, in which the header or trailer starts at `base`. [`Metalayers::check`] has
    /// accepted it.
    pub(super) fn write(&self, section: Section, base: usize, out: &mut Vec<u8>) {
        // The header counts the map size from the 93, the trailer from the CD after it.
        let size = self.map_len() + usize::from(section == Section::Header);
        // `check` bounds the map size to u16, and with it the number of entries.
        let count = self.entries.len() as u16;
        out.extend([Marker::FixArray(3).to_u8(), Marker::U16.to_u8()]);
        out.extend((size as u16).to_be_bytes());
        out.push(Marker::Map16.to_u8());
        out.extend(count.to_be_bytes());
        let mut offset_at = Vec::with_capacity(self.entries.len());
        for (name, _) in &self.entries {
            out.push(FIXSTR | name.len() as u8);
            out.extend_from_slice(name);
            out.push(Marker::I32.to_u8());
            offset_at.push(out.len());
            out.extend([0; 4]);
        }
        out.push(Marker::Array16.to_u8());
        out.extend(count.to_be_bytes());
        for ((_, value), at) in self.entries.iter().zip(offset_at) {
            let offset = (out.len() - base) as i32;
            put(out, at, &offset.to_be_bytes());
            out.push(Marker::Bin32.to_u8());
            out.extend((value.len() as u32).to_be_bytes());
            out.extend_from_slice(value);
        }
    }
}

/// Where the parts of a section are, from the start of the header or of the trailer.
#[derive(Debug, Clone)]
pub(super) struct Offsets {
    map: Range<usize>,
    /// Names and contents, in file order.
    entries: Vec<(Range<usize>, Range<usize>)>,
}

impl Offsets {
    /// Those of `header`, a whole header of the current layout.
    pub(super) fn of_header(header: &[u8]) -> Result<Self, FrameError> {
        let map_at = FrameLayout::Current.min_header_len() + MAP_AT;
        Self::find(Section::Header, header, map_at, MAX_METALAYERS as u16)
    }

    /// Only what C-Blosc2 also relies on is checked: the map, its offsets, and the contents they point to. The map
    /// size and the array of contents are not needed to find anything, and old writers got them wrong.
    fn find(section: Section, bytes: &[u8], map_at: usize, max: u16) -> Result<Self, FrameError> {
        let marker = |offset: usize, expected: &'static str| FrameError::MetalayerMarker {
            section,
            offset,
            expected,
            found: u8_at(bytes, offset),
        };
        if u8_at(bytes, map_at) != Some(Marker::Map16.to_u8()) {
            return Err(marker(map_at, "a map (0xde)"));
        }
        let count = u16_at(bytes, map_at + 1).ok_or_else(|| marker(bytes.len(), "the number of entries"))?;
        if count > max {
            return Err(FrameError::MetalayerCount { section, offset: map_at + 1, found: count, max });
        }
        let mut at = map_at + 3;
        let mut entries = Vec::with_capacity(usize::from(count).min(bytes.len() / ENTRY_OVERHEAD));
        for _ in 0..count {
            let name_len = match u8_at(bytes, at) {
                Some(b) if b & FIXSTR_MASK == FIXSTR => usize::from(b & !FIXSTR_MASK),
                _ => return Err(marker(at, "a name (0xa0..0xbf)")),
            };
            let name = at + 1..at + 1 + name_len;
            let text = bytes.get(name.clone()).ok_or_else(|| marker(bytes.len(), "the rest of a name"))?;
            at = name.end;
            if u8_at(bytes, at) != Some(Marker::I32.to_u8()) {
                return Err(marker(at, "an offset (0xd2)"));
            }
            let offset = i32_at(bytes, at + 1).ok_or_else(|| marker(bytes.len(), "the rest of an offset"))?;
            at += 5;
            entries.push((name, Self::content(section, bytes, text, offset, map_at)?));
        }
        Ok(Self { map: map_at..at, entries })
    }

    fn content(
        section: Section,
        bytes: &[u8],
        name: &[u8],
        offset: i32,
        min: usize,
    ) -> Result<Range<usize>, FrameError> {
        let outside = |len: u64| FrameError::MetalayerRange {
            section,
            name: String::from_utf8_lossy(name).into_owned(),
            offset: offset.into(),
            len,
            min,
            max: bytes.len(),
        };
        let start = usize::try_from(offset).map_err(|_| outside(0))?;
        if start < min || start >= bytes.len() {
            return Err(outside(0));
        }
        if u8_at(bytes, start) != Some(Marker::Bin32.to_u8()) {
            return Err(FrameError::MetalayerMarker {
                section,
                offset: start,
                expected: "a value (0xc6)",
                found: u8_at(bytes, start),
            });
        }
        let len = u32_at(bytes, start + 1).ok_or_else(|| outside(0))?;
        let content_at = start + CONTENT_OVERHEAD;
        // A length beyond i32 is negative to C; it cannot fit here either way.
        match usize::try_from(len).ok().and_then(|len| content_at.checked_add(len)) {
            Some(end) if end <= bytes.len() => Ok(content_at..end),
            _ => Err(outside(len.into())),
        }
    }

    /// Where the content called `name` is in `bytes`, if nothing else of the section overlaps it: readers accept two
    /// names that share a content, but it cannot be changed for only one of them.
    pub(super) fn unique_content_range(&self, bytes: &[u8], name: &str) -> Option<Range<usize>> {
        let called = |(n, _): &&(Range<usize>, Range<usize>)| bytes.get(n.clone()) == Some(name.as_bytes());
        let at = self.entries.iter().position(|entry| called(&entry))?;
        let content = &self.entries[at].1;
        let meets = |other: &Range<usize>| other.start < content.end && content.start < other.end;
        let others = self.entries.iter().enumerate().filter(|(i, _)| *i != at);
        // The length before a content is part of it.
        let shared =
            others.map(|(_, (_, other))| other).any(|other| meets(&(other.start - CONTENT_OVERHEAD..other.end)));
        (!shared && !meets(&self.map)).then(|| content.clone())
    }
}
