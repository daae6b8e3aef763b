//! Codecs alone, on arbitrary streams.

use oxiblosc::codec::{Codec, CodecContext, CodecTraits};
use oxiblosc::filter::BlockContext;
use oxiblosc::nd::Geometry;
use oxiblosc::{CodecId, Registry};

/// Bytes before the stream: how long it decodes to (24 bits), type size, meta, and whether there is a dictionary.
pub(crate) const PREFIX: usize = 6;

/// Decoded lengths are below this.
const MOST: usize = 1 << 18;

/// Decodes the stream in `input`, behind a prefix of [`PREFIX`] bytes, with the codec of this id.
///
/// # Panics
/// When the result depends on what was in the destination or on what the codec did before, or when the decoded bytes do
/// not survive being encoded.
pub(crate) fn check(id: CodecId, input: &[u8]) {
    let Some((&[low, middle, high, typesize, meta, dict], stream)) = input.split_first_chunk() else { return };
    let Some(entry) = Registry::linked().ok().and_then(|registry| registry.codec(id).ok()) else { return };
    let typesize = usize::from(typesize).max(1);
    let len = (u32::from_le_bytes([low, middle, high, 0]) as usize) % MOST;
    let CodecTraits { lossy, needs_array: shaped, .. } = entry.info().traits;
    let geometry = shaped.then(|| geometry(len / typesize));
    // A dictionary is the beginning of the stream here: as likely as anything to be referred to.
    let (dict, stream) = match dict {
        0 => (None, stream),
        n => {
            let (dict, stream) = stream.split_at(usize::from(n).min(stream.len()));
            (Some(dict).filter(|dict| !dict.is_empty()), stream)
        }
    };
    let mut block = BlockContext::new(typesize);
    block.nd = geometry.as_ref().map(Into::into);
    let mut ctx = CodecContext::new(block, 5);
    (ctx.meta, ctx.dict) = (meta, dict);

    let mut codec = entry.instance();
    let mut decoded = vec![0xA5; len];
    let found = codec.decompress(&ctx, stream, &mut decoded);
    let mut again = vec![0x5A; len];
    let second = codec.decompress(&ctx, stream, &mut again);
    let mut fresh = vec![0; len];
    let third = entry.instance().decompress(&ctx, stream, &mut fresh);
    let n = found.as_ref().ok().copied();
    assert_eq!((n, n), (second.ok(), third.ok()), "the same stream decoded with another result");
    if let Some(n) = n {
        assert!(n <= len, "{n} bytes of {len}");
        assert!(decoded[..n] == again[..n] && decoded[..n] == fresh[..n], "the same stream decoded to other bytes");
    }
    if entry.info().traits.encode {
        round_trip(&mut *codec, &ctx, stream, lossy);
        if n == Some(len) {
            round_trip(&mut *codec, &ctx, &decoded, lossy);
        }
    }
}

/// Checks that any data survive, whatever the codec has seen before.
fn round_trip(codec: &mut dyn Codec, ctx: &CodecContext<'_>, data: &[u8], lossy: bool) {
    let typesize = ctx.block.typesize;
    let geometry = ctx.block.nd.map(|_| geometry(data.len() / typesize));
    let data = if geometry.is_some() { &data[..data.len() / typesize * typesize] } else { data };
    let mut ctx = *ctx;
    ctx.block.nd = geometry.as_ref().map(Into::into);
    let mut encoded = vec![0; data.len() + data.len() / 8 + 64];
    let Ok(Some(n)) = codec.compress(&ctx, data, &mut encoded) else { return };
    assert!(n <= encoded.len(), "{n} bytes of {}", encoded.len());
    let mut back = vec![0; data.len()];
    match codec.decompress(&ctx, &encoded[..n], &mut back) {
        Ok(len) => {
            assert_eq!(len, data.len(), "the length has changed");
            assert!(lossy || back == data, "the bytes have changed");
        }
        Err(e) => panic!("{} bytes were encoded, but do not decode: {e}", data.len()),
    }
}

/// An array of two dimensions of which this is the one block.
fn geometry(items: usize) -> Geometry {
    let items = items.max(1);
    let side = (1..=32).rev().find(|side| items.is_multiple_of(*side)).unwrap_or(1);
    let block_shape = vec![(items / side) as u32, side as u32];
    let shape = block_shape.iter().map(|&len| u64::from(len)).collect();
    Geometry { shape, chunk_shape: block_shape.clone(), block_shape }
}
