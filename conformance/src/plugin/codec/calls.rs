//! Calls of a codec, of which nothing is believed.

use oxiblosc_core::codec::{Codec, CodecError};

use super::super::case::Case;
use super::super::input::Misaligned;
use super::super::promise::{Broken, Promise, Verdict, same};
use super::super::watch::Watch;
use super::CodecRun;

/// A stream and what it decodes to.
#[derive(Clone)]
pub(super) struct Stream {
    pub(super) case: Case,
    pub(super) bytes: Vec<u8>,
    pub(super) decoded: Vec<u8>,
}

/// A stream, and what comes back of it.
pub(super) type Packed = (Vec<u8>, Vec<u8>);

/// How a buffer is prepared: what is in it, and where it and the source begin.
#[derive(Clone, Copy)]
pub(super) struct Buffers {
    pub(super) stale: u8,
    pub(super) src_offset: usize,
    pub(super) dst_offset: usize,
}

impl Buffers {
    pub(super) fn holding(stale: u8) -> Self {
        Self { stale, src_offset: 0, dst_offset: 0 }
    }
}

/// Compresses valid data into `room` bytes.
pub(super) fn compress(
    watch: &Watch,
    codec: &mut dyn Codec,
    case: &Case,
    src: &[u8],
    room: usize,
    buffers: Buffers,
) -> Result<Option<Vec<u8>>, Broken> {
    watch.expect_bytes(src.len());
    let source = Misaligned::copy(src, buffers.src_offset);
    let mut dst = Misaligned::filled(buffers.stale, room, buffers.dst_offset);
    let ctx = case.encoding(src.len());
    let written = match watch.call(|| codec.compress(&ctx, source.as_ref(), dst.as_mut())) {
        Err(panic) => return Err(Broken::new(Promise::Accepts, format!("compress panicked: {panic}"))),
        Ok(Err(error @ CodecError::Geometry { .. })) if case.geometry.is_none() => {
            return Err(Broken::new(Promise::Array, format!("not declared, but compress fails: {error}")));
        }
        Ok(Err(error)) => return Err(Broken::new(Promise::Accepts, format!("compress failed: {error}"))),
        Ok(Ok(written)) => written,
    };
    match written {
        None => Ok(None),
        Some(n @ 1..) if n <= room => Ok(Some(dst.as_ref()[..n].to_vec())),
        Some(n) => Err(Broken::new(Promise::Claims, format!("compress claims {n} bytes in a buffer of {room}"))),
    }
}

/// Decompresses anything to `len` bytes. The inner error is that of the codec, or that it produced fewer bytes.
pub(super) fn decompress(
    watch: &Watch,
    codec: &mut dyn Codec,
    case: &Case,
    src: &[u8],
    len: usize,
    buffers: Buffers,
) -> Result<Result<Vec<u8>, String>, Broken> {
    watch.expect_bytes(len);
    let source = Misaligned::copy(src, buffers.src_offset);
    let mut dst = Misaligned::filled(buffers.stale, len, buffers.dst_offset);
    let ctx = case.decoding(len);
    match watch.call(|| codec.decompress(&ctx, source.as_ref(), dst.as_mut())) {
        Err(panic) => Err(Broken::new(Promise::Damage, format!("decompress panicked: {panic}"))),
        Ok(result) => found(result, dst.as_ref()),
    }
}

/// Judges the number of bytes that `decompress` returned.
pub(super) fn found(result: Result<usize, CodecError>, dst: &[u8]) -> Result<Result<Vec<u8>, String>, Broken> {
    match result {
        Err(error) => Ok(Err(error.to_string())),
        Ok(n) if n > dst.len() => {
            let detail = format!("decompress claims {n} bytes in a buffer of {}", dst.len());
            Err(Broken::new(Promise::Claims, detail))
        }
        Ok(n) if n < dst.len() => Ok(Err(format!("{n} bytes decoded, expected {}", dst.len()))),
        Ok(_) => Ok(Ok(dst.to_vec())),
    }
}

impl CodecRun {
    pub(super) fn watch(&self) -> &Watch {
        &self.session.watch
    }

    pub(super) fn lossy(&self) -> bool {
        self.entry.info().traits.lossy
    }

    /// A new instance. The registry made the first one, so this does not panic without reason.
    pub(super) fn instance(&self) -> Box<dyn Codec> {
        self.entry.instance()
    }

    /// Decompresses a stream that the codec made itself.
    pub(super) fn restore(
        &self,
        codec: &mut dyn Codec,
        case: &Case,
        stream: &[u8],
        len: usize,
        buffers: Buffers,
    ) -> Result<Vec<u8>, Broken> {
        match decompress(self.watch(), codec, case, stream, len, buffers) {
            Err(broken) if broken.promise == Promise::Damage => Err(broken.becomes(Promise::Restores)),
            Err(broken) => Err(broken),
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => Err(Broken::new(Promise::Restores, format!("decompress failed: {error}"))),
        }
    }

    /// Compares what came back with what went in.
    pub(super) fn compare(&self, case: &Case, src: &[u8], back: &[u8]) -> Verdict {
        if !self.lossy() {
            return same(Promise::Restores, src, back, "what comes back");
        }
        let ctx = case.decoding(src.len()).block;
        self.session.settings.tolerates(&ctx, src, back).map_err(|what| Broken::new(Promise::Tolerance, what))
    }

    /// Compresses and decompresses on a worn instance and on fresh ones. Returns the stream and what it decodes to.
    pub(super) fn round_trip(&self, worn: &mut dyn Codec, case: &Case, src: &[u8]) -> Result<Option<Packed>, Broken> {
        let watch = self.watch();
        let len = src.len();
        let pack = |codec: &mut dyn Codec, stale| compress(watch, codec, case, src, len, Buffers::holding(stale));
        let first = pack(worn, 0)?;
        let fresh = pack(&mut *self.instance(), 0xff)?;
        if first != fresh {
            let stale = pack(&mut *self.instance(), 0)?;
            if stale != fresh && stale == pack(&mut *self.instance(), 0)? {
                let detail = "compress: the stream depends on what the buffer held before";
                return Err(Broken::new(Promise::Written, detail));
            }
            let lens = [&first, &fresh].map(|stream| stream.as_ref().map_or(0, Vec::len));
            let detail = format!(
                "compress: the stream of a used instance ({} bytes) is not that of a new one ({})",
                lens[0], lens[1]
            );
            return Err(Broken::new(Promise::Calls, detail));
        }
        let Some(packed) = first else { return Ok(None) };
        let unpack = |codec: &mut dyn Codec, stale| self.restore(codec, case, &packed, len, Buffers::holding(stale));
        let fresh = unpack(&mut *self.instance(), 0x55)?;
        let back = unpack(worn, 0xaa).map_err(|broken| {
            let detail = format!("a used instance fails where a new one does not: {}", broken.detail);
            Broken::new(Promise::Calls, detail)
        })?;
        if back != fresh {
            let stale = unpack(&mut *self.instance(), 0xaa)?;
            let promise = if stale == back { Promise::Written } else { Promise::Calls };
            same(promise, &fresh, &back, "decompress, a second time")?;
        }
        self.compare(case, src, &back)?;
        Ok(Some((packed, back)))
    }

    /// The same on fresh instances alone, once each: for long inputs, and for shrinking.
    pub(super) fn quick_trip(&self, case: &Case, src: &[u8]) -> Result<Option<Vec<u8>>, Broken> {
        let Some(packed) = compress(self.watch(), &mut *self.instance(), case, src, src.len(), Buffers::holding(0xff))?
        else {
            return Ok(None);
        };
        let back = self.restore(&mut *self.instance(), case, &packed, src.len(), Buffers::holding(0x55))?;
        self.compare(case, src, &back)?;
        Ok(Some(packed))
    }
}
