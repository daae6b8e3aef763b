//! The libraries: zlib, and libdeflate, for which zlib stands in where there is no C.

#[cfg(feature = "libdeflate")]
pub(super) use libdeflate::{Deflate, Inflate, adler32};
pub(super) use zlib::Deflate as ZlibDeflate;
#[cfg(not(feature = "libdeflate"))]
pub(super) use zlib::{Deflate, Inflate, adler32};

/// Why a stream was not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InflateError {
    /// It holds more than there is room for.
    TooLong,
    /// It is no zlib stream, or is cut short.
    Damaged,
}

#[cfg(feature = "libdeflate")]
mod libdeflate {
    use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

    use super::InflateError;

    pub(in super::super) use libdeflater::adler32;

    pub(in super::super) struct Deflate(Compressor);

    impl Deflate {
        pub(in super::super) fn new(level: u8) -> Self {
            let level = CompressionLvl::new(level.into()).expect("libdeflate has the levels 0 to 12");
            Self(Compressor::new(level))
        }

        /// The length of the stream, or `None` if it does not fit.
        pub(in super::super) fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Option<usize> {
            self.0.zlib_compress(src, dst).ok()
        }
    }

    /// libdeflate leaves its fast loop so many bytes before the end of a stream, at most, and goes on byte by byte.
    const SLOW_TAIL: usize = 32;
    /// Streams up to this length are copied to get around that, which costs next to nothing.
    const SHORT: usize = 4096;
    /// The longest stream that is copied at all. In a longer one the tail does not count for much.
    const LONGEST_COPIED: usize = 1 << 20;

    /// Whether the last bytes of a stream stand for much of what it holds, as where a block ends with a plane of zeros. Each
    /// of the longest matches there is written in the same few bits, so that bytes come back after at most as many.
    pub(super) fn has_long_tail(src: &[u8]) -> bool {
        /// The end of the last block, and the checksum.
        const END: usize = 6;
        const FARTHEST: usize = 15;
        const LEAST_EQUAL: usize = 8;
        let Some(tail) = src.len().checked_sub(END).and_then(|end| src[..end].last_chunk::<SLOW_TAIL>()) else {
            return false;
        };
        (1..=FARTHEST).any(|far| tail.iter().zip(&tail[far..]).filter(|(a, b)| a == b).count() >= LEAST_EQUAL)
    }

    #[derive(Default)]
    pub(in super::super) struct Inflate {
        decompressor: Option<Decompressor>,
        padded: Vec<u8>,
    }

    impl Inflate {
        /// The length of what is decoded. Bytes after the end of the stream are left alone.
        pub(in super::super) fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, InflateError> {
            if (src.len() <= SHORT || src.len() <= LONGEST_COPIED && has_long_tail(src))
                && let Some(decoded) = self.decompress_padded(src, dst)
            {
                return Ok(decoded);
            }
            let decompressor = self.decompressor.get_or_insert_with(Decompressor::new);
            decompressor.zlib_decompress(src, dst).map_err(|error| match error {
                DecompressionError::InsufficientSpace => InflateError::TooLong,
                DecompressionError::BadData => InflateError::Damaged,
            })
        }

        /// Decodes a stream that ends where `src` does, with zeros behind it, so that its last bytes are decoded in the fast
        /// loop, too: where data compress very well, they stand for most of the block. `None` if it is not such a stream,
        /// which the zeros must not hide.
        fn decompress_padded(&mut self, src: &[u8], dst: &mut [u8]) -> Option<usize> {
            let (&[method, flags], deflated) = src.split_first_chunk()?;
            // RFC 1950, section 2.2: deflate, no preset dictionary, and a check of the two bytes.
            if method & 15 != 8 || flags & 32 != 0 || u16::from_be_bytes([method, flags]) % 31 != 0 {
                return None;
            }
            self.padded.clear();
            self.padded.extend_from_slice(deflated);
            self.padded.extend_from_slice(&[0; SLOW_TAIL]);
            let decompressor = self.decompressor.get_or_insert_with(Decompressor::new);
            let decoded = decompressor.deflate_decompress(&self.padded, dst).ok()?;
            deflated.ends_with(&adler32(&dst[..decoded]).to_be_bytes()).then_some(decoded)
        }
    }
}

mod zlib {
    use flate2::{Compress, Compression, FlushCompress, Status};
    // The decoder is built by all tests, so that it does not fall behind.
    #[cfg(any(test, not(feature = "libdeflate")))]
    use flate2::{Decompress, FlushDecompress};

    #[cfg(any(test, not(feature = "libdeflate")))]
    use super::InflateError;

    pub(in super::super) struct Deflate(Compress);

    impl Deflate {
        pub(in super::super) fn new(level: u8) -> Self {
            Self(Compress::new(Compression::new(level.min(9).into()), true))
        }

        /// The length of the stream, or `None` if it does not fit.
        pub(in super::super) fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Option<usize> {
            self.0.reset();
            let status = self.0.compress(src, dst, FlushCompress::Finish);
            // Otherwise the output is full before the stream ends. There are no other errors.
            matches!(status, Ok(Status::StreamEnd)).then(|| self.0.total_out() as usize)
        }
    }

    #[cfg(any(test, not(feature = "libdeflate")))]
    #[derive(Default)]
    pub(in super::super) struct Inflate(Option<Decompress>);

    #[cfg(any(test, not(feature = "libdeflate")))]
    impl Inflate {
        /// The length of what is decoded. Bytes after the end of the stream are left alone.
        pub(in super::super) fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, InflateError> {
            let state = self.0.get_or_insert_with(|| Decompress::new(true));
            state.reset(true);
            let (status, found) = (state.decompress(src, dst, FlushDecompress::Finish), state.total_out() as usize);
            match status {
                Ok(Status::StreamEnd) => return Ok(found),
                Ok(_) if found == dst.len() => {}
                _ => return Err(InflateError::Damaged),
            }
            // It waits for room or for input: give it room.
            let rest = src.get(state.total_in() as usize..).unwrap_or_default();
            let status = state.decompress(rest, &mut [0], FlushDecompress::Finish);
            match status {
                Ok(_) if state.total_out() as usize > found => Err(InflateError::TooLong),
                Ok(Status::StreamEnd) => Ok(found),
                _ => Err(InflateError::Damaged),
            }
        }
    }

    #[cfg(any(test, not(feature = "libdeflate")))]
    pub(in super::super) fn adler32(bytes: &[u8]) -> u32 {
        simd_adler32::adler32(&bytes)
    }
}

#[cfg(all(test, feature = "libdeflate"))]
mod tests {
    use super::*;
    use crate::codecs::testing;

    /// Noise, and after it so many zeros.
    fn noise_and_zeros(zeros: usize) -> Vec<u8> {
        let mut random = testing::Random(5);
        let mut bytes: Vec<u8> = (0..40_000).map(|_| random.below(256) as u8).collect();
        bytes.resize(bytes.len() + zeros, 0);
        bytes
    }

    #[test]
    fn zeros_at_the_end_are_seen_in_the_stream() {
        let has_long_tail = |src: &[u8], level| {
            let mut packed = vec![0; 2 * src.len()];
            let written = zlib::Deflate::new(level).compress(src, &mut packed).unwrap();
            libdeflate::has_long_tail(&packed[..written])
        };
        for level in 1..=9 {
            assert!(has_long_tail(&noise_and_zeros(1 << 14), level), "zeros at level {level}");
            assert!(!has_long_tail(&noise_and_zeros(0), level), "noise at level {level}");
        }
    }

    #[test]
    fn both_say_the_same() {
        let (mut one, mut other) = (libdeflate::Inflate::default(), zlib::Inflate::default());
        for &len in testing::LENGTHS {
            for (kind, src) in testing::data(len).into_iter().chain([("noise and zeros", noise_and_zeros(len))]) {
                let len = src.len();
                assert_eq!(libdeflate::adler32(&src), zlib::adler32(&src), "{len} of {kind}");
                let mut packed = vec![0; 2 * len + 100];
                let written = zlib::Deflate::new(5).compress(&src, &mut packed).unwrap();
                packed.truncate(written);
                let mut room = vec![0; len];
                for inflate in [&mut |s: &[u8], d: &mut [u8]| one.decompress(s, d), &mut |s: &[u8], d: &mut [u8]| {
                    other.decompress(s, d)
                }]
                    as [&mut dyn FnMut(&[u8], &mut [u8]) -> Result<usize, InflateError>; 2]
                {
                    assert_eq!(inflate(&packed, &mut room), Ok(len));
                    assert_eq!(room, src, "{len} of {kind}");
                    assert_eq!(inflate(&packed, &mut vec![0; len + 9]), Ok(len));
                    assert_eq!(inflate(&packed, &mut vec![0; len - 1]), Err(InflateError::TooLong), "{len} of {kind}");
                    for cut in written.saturating_sub(40)..written {
                        assert!(
                            inflate(&packed[..cut], &mut room).is_err(),
                            "{cut} of {written} bytes, {len} of {kind}"
                        );
                    }
                    assert_eq!(inflate(&[&packed[..], b"junk"].concat(), &mut room), Ok(len));
                }
            }
        }
    }
}
