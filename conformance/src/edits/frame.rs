//! A model of a frame, chunk by chunk.

use std::ops::Range;

use bytes::Bytes;
use oxiblosc_core::Registry;
use oxiblosc_core::chunk::SpecialValue;
use oxiblosc_core::frame::{Checksums, FrameHeader, Sequential};
use oxiblosc_core::pipeline::Pipeline;
use oxiblosc_core::plugin_params::PluginParams;
use oxiblosc_streaming::blocking::FrameEditor;
use oxiblosc_streaming::blocking::FrameReader;
use oxiblosc_streaming::edit::EditError;
use oxiblosc_streaming::source::RangeSource;
use oxiblosc_streaming::{ReadError, WriteOptions};

use crate::data::{Random, samples};

/// Longer chunks are not made: odd frames may demand gigabytes.
const MAX_CHUNK: usize = 1 << 20;
/// Items longer than this are not repeated.
const MAX_ITEM: usize = 256;

/// A model of a frame: its chunks and all metalayers. Its editors must be opened without a chunk size in their options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameModel {
    chunks: Vec<Vec<u8>>,
    metalayers: Vec<(String, Bytes)>,
    vlmetalayers: Vec<(String, Bytes)>,
    typesize: usize,
    /// Whether the total length in the header is right; it may be wrong if chunks differ in size.
    total: bool,
    /// Whether encoding may lose information.
    lossy: bool,
}

/// A change made to a frame, or refused.
#[derive(Debug)]
pub struct Change {
    /// A description of the change.
    pub description: String,
    /// Why it was refused; the model has then not been changed.
    pub refused: Option<EditError>,
    /// Whether part of it was done nevertheless, which is possible when many bytes are appended: the editor must then
    /// be discarded.
    pub partial: bool,
}

impl FrameModel {
    /// The model of the frame of `reader`.
    ///
    /// # Errors
    /// A chunk or a metalayer that cannot be read.
    pub fn of<S: RangeSource + 'static>(reader: &FrameReader<S>) -> Result<Self, ReadError> {
        let chunks =
            (0..reader.nchunks()).map(|i| Ok(reader.chunk(i)?.to_vec())).collect::<Result<Vec<_>, ReadError>>()?;
        let vlmetalayers = vlmetalayers_of(reader)?;
        let total = chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>() == reader.nbytes();
        let metalayers = metalayers_of(reader);
        let (typesize, lossy) = (reader.typesize(), is_lossy(reader.header()));
        Ok(Self { chunks, metalayers, vlmetalayers, typesize, total, lossy })
    }

    /// The decoded chunks.
    pub fn chunks(&self) -> &[Vec<u8>] {
        &self.chunks
    }

    /// The variable-length metalayers, but for the checksums.
    pub fn vlmetalayers(&self) -> &[(String, Bytes)] {
        &self.vlmetalayers
    }

    /// Compares every byte with those of `reader`.
    ///
    /// # Errors
    /// The difference, or what cannot be read.
    pub fn compare<S: RangeSource + 'static>(&self, reader: &FrameReader<S>) -> Result<(), String> {
        if reader.nchunks() != self.chunks.len() as u64 {
            return Err(format!("{} chunks, expected {}", reader.nchunks(), self.chunks.len()));
        }
        for (i, expected) in (0..).zip(&self.chunks) {
            let found = reader.chunk(i).map_err(|e| format!("chunk {i}: {e}"))?;
            if found != expected[..] {
                return Err(format!("chunk {i} holds other bytes"));
            }
        }
        let nbytes: u64 = self.chunks.iter().map(|chunk| chunk.len() as u64).sum();
        if self.total && reader.nbytes() != nbytes {
            return Err(format!("{} bytes in all, expected {nbytes}", reader.nbytes()));
        }
        if self.total && reader.bytes(0..nbytes).map_err(|e| e.to_string())? != self.chunks.concat() {
            return Err("other bytes when read as a whole".to_owned());
        }
        if metalayers_of(reader) != self.metalayers {
            return Err("other metalayers".to_owned());
        }
        match vlmetalayers_of(reader) {
            Ok(found) if found == self.vlmetalayers => Ok(()),
            Ok(found) => Err(format!("vlmetalayers {found:?}, expected {:?}", self.vlmetalayers)),
            Err(e) => Err(format!("a vlmetalayer cannot be read: {e}")),
        }
    }

    /// Makes one random change to the frame and to the model. All of them are possible for a valid frame.
    pub fn change(&mut self, editor: &mut FrameEditor, random: &mut Random) -> Change {
        let mut description = String::new();
        let mut partial = false;
        let refused = self.try_change(editor, random, &mut description, &mut partial).err();
        partial &= refused.is_some();
        Change { description, refused, partial }
    }

    fn try_change(
        &mut self,
        editor: &mut FrameEditor,
        random: &mut Random,
        description: &mut String,
        partial: &mut bool,
    ) -> Result<(), EditError> {
        let n = self.chunks.len();
        let size = editor.chunk_size();
        // A new chunk of a frame without a chunk size yet, or whose chunks differ in size.
        let full = size.unwrap_or_else(|| (1 + random.below(300)) * self.typesize.min(MAX_ITEM));
        let short_last = size.is_some_and(|size| self.chunks.last().is_some_and(|last| last.len() < size));
        let len = if full > MAX_CHUNK { 0 } else { full };
        let mut tell = |what: String| *description = what;
        match random.below(16) {
            0 | 1 => {
                let data = noise(random.below(5 * full.min(MAX_CHUNK / 4) / 2 + 1), random);
                tell(format!("append {} bytes", data.len()));
                *partial = true;
                editor.append(&data)?;
                self.append(editor, &data)?;
            }
            2 if len > 0 && !short_last => {
                let data = noise(1 + random.below(len), random);
                tell(format!("append a chunk of {}", data.len()));
                editor.append_chunk(&data)?;
                self.chunks.push(data);
                self.take(editor, n..n + 1)?;
            }
            3 if len > 0 && (!short_last || n > 0) => {
                let i = random.below(if short_last { n } else { n + 1 });
                let data = noise(len, random);
                tell(format!("insert {len} bytes at {i}"));
                editor.insert(i as u64, &data)?;
                self.chunks.insert(i, data);
                self.take(editor, i..i + 1)?;
            }
            4 | 5 if len > 0 && n > 0 => {
                let i = random.below(n);
                let data = noise(if i + 1 == n { 1 + random.below(len) } else { len }, random);
                tell(format!("update {i} by {} bytes", data.len()));
                editor.update(i as u64, &data)?;
                self.chunks[i] = data;
                self.take(editor, i..i + 1)?;
            }
            6 | 7 if n > 0 => {
                let i = random.below(n);
                tell(format!("delete {i}"));
                editor.delete(i as u64)?;
                self.chunks.remove(i);
            }
            8 if n > 0 && random.below(3) == 0 => {
                tell("delete all".to_owned());
                *partial = true;
                (0..n).try_for_each(|_| editor.delete(0))?;
                self.chunks.clear();
                self.total = true;
            }
            9 if n > 0 => {
                let whole = if short_last { n - 1 } else { n };
                let mut order: Vec<u64> = (0..n as u64).collect();
                order[..whole].rotate_left(random.below(whole.max(1)));
                tell(format!("reorder {order:?}"));
                editor.reorder(&order)?;
                self.chunks = order.iter().map(|&i| self.chunks[i as usize].clone()).collect();
            }
            10 if n > 0 => {
                let i = random.below(n);
                let len = self.chunks[i].len();
                if len <= 16 * MAX_CHUNK {
                    let (value, item) = self.special(len, random);
                    tell(format!("make {i} {value:?}"));
                    editor.update_special(i as u64, value)?;
                    self.chunks[i] = repeated(&item, len);
                }
            }
            11 if !short_last && len > 0 => {
                // Each of its chunks must consist of whole items, unless they are zeros.
                let whole = len.is_multiple_of(self.typesize);
                let len = random.below(2 * len + 1) / self.typesize * self.typesize;
                let (value, item) = if whole { self.special(len, random) } else { (SpecialValue::Zero, vec![0]) };
                tell(format!("fill {len} bytes with {value:?}"));
                *partial = true;
                editor.fill(value, len as u64)?;
                self.append(editor, &repeated(&item, len))?;
            }
            12 if !self.vlmetalayers.is_empty() => {
                let i = random.below(self.vlmetalayers.len());
                let name = self.vlmetalayers[i].0.clone();
                tell(format!("delete vlmetalayer {name}"));
                editor.delete_vlmetalayer(&name)?;
                self.vlmetalayers.remove(i);
            }
            13 => {
                let named: Vec<usize> = (0..self.metalayers.len()).filter(|&i| self.may_set(i)).collect();
                if let Some(&i) = named.get(random.below(named.len().max(1))) {
                    let (name, content) = self.metalayers[i].clone();
                    let content = noise(content.len(), random);
                    tell(format!("set metalayer {name}"));
                    editor.set_metalayer(&name, &content)?;
                    self.metalayers[i].1 = content.into();
                }
            }
            14 if size.is_some() && random.below(4) == 0 => {
                tell("let chunks differ in size".to_owned());
                editor.make_variable()?;
            }
            _ => {
                let name = format!("v{}", random.below(3));
                let len = [0, 1, 7, 100, 5000][random.below(5)];
                let content = noise(len, random);
                tell(format!("set vlmetalayer {name} to {} bytes", content.len()));
                editor.set_vlmetalayer(&name, &content)?;
                let content = Bytes::from(content);
                match self.vlmetalayers.iter_mut().find(|(n, _)| *n == name) {
                    Some((_, old)) => *old = content,
                    None => self.vlmetalayers.push((name, content)),
                }
            }
        }
        Ok(())
    }

    /// Appended bytes fill the last chunk, if it is short, and then new ones.
    fn append(&mut self, editor: &mut FrameEditor, data: &[u8]) -> Result<(), EditError> {
        let before = self.chunks.len();
        let mut rest = data;
        let size = editor.chunk_size();
        let typesize = self.typesize.max(1);
        let new = size.unwrap_or((WriteOptions::CHUNK_SIZE / typesize).max(1) * typesize);
        let mut kept = 0;
        if let (Some(size), Some(last)) = (size, self.chunks.last_mut()) {
            kept = last.len();
            let (part, behind) = rest.split_at(size.saturating_sub(last.len()).min(rest.len()));
            last.extend_from_slice(part);
            rest = behind;
        }
        self.chunks.extend(rest.chunks(new).map(<[u8]>::to_vec));
        // Existing bytes must be the same in any case.
        let old = before.checked_sub(1).map(|last| (last, self.chunks[last][..kept].to_vec()));
        self.take(editor, before.saturating_sub(1)..self.chunks.len())?;
        if let Some((last, old)) = old {
            self.chunks[last][..kept].copy_from_slice(&old);
        }
        Ok(())
    }

    /// Takes lossily encoded chunks from the editor.
    fn take(&mut self, editor: &mut FrameEditor, chunks: Range<usize>) -> Result<(), EditError> {
        if self.lossy {
            for i in chunks {
                self.chunks[i] = editor.chunk(i as u64)?;
            }
        }
        Ok(())
    }

    /// A special value that a chunk of `len` bytes can have, and its item.
    fn special(&self, len: usize, random: &mut Random) -> (SpecialValue<'static>, Vec<u8>) {
        let whole = len.is_multiple_of(self.typesize);
        match random.below(4) {
            1 if whole && self.typesize == 4 => (SpecialValue::Nan, f32::NAN.to_le_bytes().to_vec()),
            1 if whole && self.typesize == 8 => (SpecialValue::Nan, f64::NAN.to_le_bytes().to_vec()),
            2 if whole && (1..=8).contains(&self.typesize) && len > 0 => {
                let item = &b"87654321"[..self.typesize];
                (SpecialValue::Value(item), item.to_vec())
            }
            3 if whole => (SpecialValue::Uninit, vec![0]),
            _ => (SpecialValue::Zero, vec![0]),
        }
    }

    /// Whether metalayer `i` may hold any bytes.
    fn may_set(&self, i: usize) -> bool {
        let (name, content) = &self.metalayers[i];
        let known = [Sequential::NAME, "b2nd", "caterva"].contains(&&name[..]);
        !known && !content.is_empty() && self.metalayers.iter().filter(|(n, _)| n == name).count() == 1
    }
}

fn metalayers_of<S: RangeSource + 'static>(reader: &FrameReader<S>) -> Vec<(String, Bytes)> {
    reader.metalayers().iter().map(|(name, content)| (name.into_owned(), content.clone())).collect()
}

/// All except the checksums, which change with the frame.
fn vlmetalayers_of<S: RangeSource + 'static>(reader: &FrameReader<S>) -> Result<Vec<(String, Bytes)>, ReadError> {
    let names = reader.vlmetalayer_names().into_iter().filter(|name| name != Checksums::NAME);
    names.map(|name| Ok((name.clone(), reader.vlmetalayer(&name)?.unwrap_or_default()))).collect()
}

/// Whether encoding with the parameters of the header may lose information.
pub(super) fn is_lossy(header: &FrameHeader) -> bool {
    let Ok(registry) = Registry::linked() else { return true };
    let filters = Pipeline::new(&header.filters, registry, &PluginParams::default());
    let codec = registry.codec(header.codec);
    filters.map_or(true, |filters| filters.is_lossy()) || codec.map_or(true, |codec| codec.info().traits.lossy)
}

fn repeated(item: &[u8], len: usize) -> Vec<u8> {
    item.iter().copied().cycle().take(len).collect()
}

/// Bytes that compress, or do not, or are all the same.
pub(super) fn noise(len: usize, random: &mut Random) -> Vec<u8> {
    let kinds = samples(0).len();
    let salt = random.next_u64() as u8;
    let mut bytes = samples(len).swap_remove(random.below(kinds)).bytes;
    if random.below(4) > 0 {
        bytes.iter_mut().for_each(|byte| *byte ^= salt);
    }
    bytes
}
