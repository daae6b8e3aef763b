//! What C-Blosc2 says of a block, from its structures.

use std::ffi::c_void;
use std::rc::Rc;
use std::{ptr, slice};

use oxiblosc_core::FilterId;
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::nd::Geometry;
use oxiblosc_core::plugin_params::PluginParams;

use super::layout::{CParams, DParams, HEADER_LEN, MAX_FILTERS, Schunk};
use super::{CallError, array, recorded};

/// What both kinds of parameters say.
pub(super) struct Params {
    /// 1..=255
    typesize: u8,
    /// Bytes of an item, where that is known.
    item_size: Option<usize>,
    /// The shapes of the array, if the super-chunk holds one.
    array: Option<Rc<Geometry>>,
    /// The parameters of plugins that it records.
    pub(super) recorded: Option<Rc<PluginParams>>,
}

impl Params {
    /// # Safety
    /// `schunk` is null, or leads to a super-chunk that nobody changes meanwhile.
    unsafe fn new(typesize: i32, schunk: *const Schunk) -> Result<Self, CallError> {
        let typesize = u8::try_from(typesize).ok().filter(|&size| size > 0).ok_or(CallError::TypeSize(typesize))?;
        let item_size = match typesize {
            // Wider items than 255 bytes appear as bytes; what they are only the super-chunk knows.
            1 if schunk.is_null() => None,
            // SAFETY: not null, and a super-chunk by the contract.
            1 => usize::try_from(unsafe { (*schunk).typesize }).ok().filter(|&size| size > 0),
            _ => Some(typesize.into()),
        };
        // SAFETY: by the contract.
        let array = unsafe { array::geometry(schunk, item_size) };
        // SAFETY: by the contract.
        let recorded = unsafe { recorded::recorded(schunk)? };
        Ok(Self { typesize, item_size, array, recorded })
    }

    /// A block without what C-Blosc2 does not say: neither where it lies in its chunk, nor whether it is the last.
    pub(super) fn block(&self, positional: bool, needs_array: bool) -> Result<BlockContext<'_>, CallError> {
        if positional {
            return Err(CallError::Positional);
        }
        if needs_array && self.array.is_none() {
            return Err(CallError::NoArray);
        }
        let mut block = BlockContext::new(self.typesize.into());
        block.item_size = self.item_size;
        block.offset = None;
        block.nd = self.array.as_deref().map(Into::into);
        Ok(block)
    }
}

/// Parameters of writing.
pub(super) struct Encoding {
    pub(super) params: Params,
    pub(super) level: u8,
    pub(super) last_filter: FilterId,
    /// The filters of the pipeline, in their slots.
    pub(super) slots: [u8; MAX_FILTERS],
}

impl Encoding {
    /// # Safety
    /// `params` is null or leads to what `blosc2_ctx_get_cparams` of C-Blosc2 3 has filled in.
    pub(super) unsafe fn read(params: *const CParams) -> Result<Self, CallError> {
        // SAFETY: null or valid by the contract; these fields are all set.
        let Some(found) = (unsafe { params.as_ref() }) else { return Err(CallError::Missing("blosc2_cparams")) };
        Ok(Self {
            // SAFETY: by the contract; C-Blosc2 does not change a super-chunk while it compresses.
            params: unsafe { Params::new(found.typesize, found.schunk)? },
            level: found.clevel.clamp(1, 9),
            last_filter: last_filter(&found.filters),
            slots: found.filters,
        })
    }
}

/// Parameters of reading.
///
/// # Safety
/// `params` is null or leads to what `blosc2_ctx_get_dparams` of C-Blosc2 3 has filled in.
pub(super) unsafe fn decoding(params: *const DParams) -> Result<Params, CallError> {
    // SAFETY: null or valid by the contract.
    let Some(found) = (unsafe { params.as_ref() }) else { return Err(CallError::Missing("blosc2_dparams")) };
    // SAFETY: by the contract; C-Blosc2 does not change a super-chunk while it decompresses.
    unsafe { Params::new(found.typesize, found.schunk) }
}

/// The filters that chunks of the super-chunk go through, in their slots; none outside a super-chunk.
///
/// # Safety
/// As [`decoding`].
pub(super) unsafe fn slots(params: *const DParams) -> [u8; MAX_FILTERS] {
    // SAFETY: null or valid by the contract.
    let schunk = unsafe { params.as_ref() }.map_or(ptr::null(), |found| found.schunk);
    // SAFETY: null or a super-chunk, which C-Blosc2 does not change while it decompresses.
    unsafe { schunk.as_ref() }.map_or([0; MAX_FILTERS], |schunk| schunk.filters)
}

/// What the header of a chunk says to a decoder.
pub(super) struct Header {
    /// `versionlz`
    pub(super) version: u8,
    pub(super) last_filter: FilterId,
}

impl Header {
    /// # Safety
    /// `chunk` is null or leads to a chunk that C-Blosc2 decodes with a codec of others.
    pub(super) unsafe fn read(chunk: *const c_void) -> Result<Self, CallError> {
        if chunk.is_null() {
            return Err(CallError::Missing("the chunk"));
        }
        // SAFETY: the number of such a codec is in a header of this length, which C-Blosc2 has read before the call.
        let header = unsafe { slice::from_raw_parts(chunk.cast::<u8>(), HEADER_LEN) };
        Ok(Self { version: header[1], last_filter: last_filter(&header[16..22]) })
    }
}

fn last_filter(ids: &[u8]) -> FilterId {
    ids.iter().rev().find(|&&id| id != 0).map_or(FilterId::NONE, |&id| FilterId(id))
}
