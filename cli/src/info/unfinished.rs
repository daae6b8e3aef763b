//! Information about an open-ended frame.

use oxiblosc::Registry;
use oxiblosc::frame::{ChecksumState, PartialHeader};
use oxiblosc::nd::ArrayMeta;
use oxiblosc::plugin_params::PluginParams;

use super::frame::metalayers;
use super::{Info, Named};
use crate::needs::Needs;

/// Reads the information from the header, which has no totals.
pub(super) fn info(head: &PartialHeader, registry: &Registry) -> Info {
    let header = &head.header;
    let recorded = PluginParams::find(&head.metalayers).unwrap_or_default();
    let array = ArrayMeta::find(&head.metalayers).and_then(Result::ok);
    Info {
        kind: if array.is_some() { "b2nd" } else { "frame" },
        layout: Some("contiguous"),
        version: header.version,
        nbytes: None,
        cbytes: None,
        typesize: header.typesize.into(),
        chunksize: header.chunk_size.fixed().map(|size| size as u64),
        blocksize: Some(u64::from(header.block_size)).filter(|&size| size > 0),
        nchunks: None,
        codec: Named::codec(header.codec, header.codec_meta, &recorded, registry),
        level: Some(header.level),
        filters: Named::filters(&header.filters, &recorded, registry),
        needs: Needs::new(header.plugins(), registry),
        dict: header.use_dict,
        meta: metalayers(&head.metalayers),
        vlmeta: Vec::new(),
        usermeta: None,
        fingerprint: None,
        checksums: ChecksumState::Absent,
        sealed: false,
        array,
        chunk: None,
        notes: vec![
            "its writer is not finished, was interrupted, or could not write the totals into the header: `oxiblosc \
             seal` does, or `oxiblosc recover` in a copy"
                .into(),
        ],
    }
}
