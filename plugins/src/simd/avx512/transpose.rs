//! Transposition of pieces of vectors.

use std::arch::x86_64::*;

use super::{VECTOR, vector};

/// Permutes the bytes of each of `P` vectors, and transposes the pieces: piece `c` of vector `r` becomes piece `r` of
/// vector `c`, where each vector consists of `P` pieces; `P` is 2, 4, 8 or 16.
///
/// One bit of the two coordinates is swapped at a time: at distance `d`, the vectors `r` and `r + d` exchange the pieces
/// that have this bit set in one of them for those that have it clear in the other. The first exchange does the
/// permutation as well.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
pub(super) fn permute_and_transpose<const P: usize>(first: Permutation, mut v: [__m512i; P]) -> [__m512i; P] {
    // Written out so that every index below is a constant and the vectors stay in registers.
    first.exchange::<P, 1>(&mut v);
    if P > 2 {
        exchange::<P, 2>(&mut v);
    }
    if P > 4 {
        exchange::<P, 4>(&mut v);
    }
    if P > 8 {
        exchange::<P, 8>(&mut v);
    }
    v
}

/// Transposes the pieces of `P` vectors, and permutes the bytes of each. The last exchange does the permutation as well.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
pub(super) fn transpose_and_permute<const P: usize>(last: Permutation, mut v: [__m512i; P]) -> [__m512i; P] {
    if P > 2 {
        exchange::<P, 1>(&mut v);
    }
    if P > 4 {
        exchange::<P, 2>(&mut v);
    }
    if P > 8 {
        exchange::<P, 4>(&mut v);
    }
    match P {
        2 => last.exchange::<P, 1>(&mut v),
        4 => last.exchange::<P, 2>(&mut v),
        8 => last.exchange::<P, 4>(&mut v),
        _ => last.exchange::<P, 8>(&mut v),
    }
    v
}

/// A permutation of the bytes of a vector, joined with the exchange that comes after it or before it.
#[derive(Clone, Copy)]
pub(super) struct Permutation {
    low: __m512i,
    high: __m512i,
}

impl Permutation {
    /// The permutation of a table made by [`before_exchange`] or [`after_exchange`].
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    #[inline]
    pub(super) fn load([low, high]: &[[u8; VECTOR]; 2]) -> Self {
        Self { low: vector(*low), high: vector(*high) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    #[inline]
    fn exchange<const P: usize, const D: usize>(self, v: &mut [__m512i; P]) {
        for r in 0..P {
            if r & D == 0 {
                let (a, b) = (v[r], v[r + D]);
                v[r] = _mm512_permutex2var_epi8(a, self.low, b);
                v[r + D] = _mm512_permutex2var_epi8(a, self.high, b);
            }
        }
    }
}

/// For [`permute_and_transpose`]: byte `i` of a vector, which consists of that many pieces, comes from byte
/// `index[i]`.
pub(super) const fn before_exchange(pieces: usize, index: [u8; VECTOR]) -> [[u8; VECTOR]; 2] {
    let mut joined = [[0; VECTOR]; 2];
    let mut i = 0;
    while i < 2 * VECTOR {
        let (odd, at) = (i / VECTOR, i % VECTOR);
        let byte = 4 * TABLES[odd][(16 / pieces).ilog2() as usize][at / 4] as usize + at % 4;
        joined[odd][at] = (byte / VECTOR * VECTOR) as u8 + index[byte % VECTOR];
        i += 1;
    }
    joined
}

/// For [`transpose_and_permute`]: byte `i` of a vector comes from byte `index[i]`.
pub(super) const fn after_exchange(index: [u8; VECTOR]) -> [[u8; VECTOR]; 2] {
    let mut joined = [[0; VECTOR]; 2];
    let mut i = 0;
    while i < 2 * VECTOR {
        let (odd, at) = (i / VECTOR, i % VECTOR);
        let byte = index[at] as usize;
        joined[odd][at] = (4 * TABLES[odd][3][byte / 4] as usize + byte % 4) as u8;
        i += 1;
    }
    joined
}

/// The vectors `r` and `r + D` exchange pieces, for each `r` with the bit `D` clear.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn exchange<const P: usize, const D: usize>(v: &mut [__m512i; P]) {
    let run = 16 / P * D;
    let (low, high) = (dwords(TABLES[0], run), dwords(TABLES[1], run));
    for r in 0..P {
        if r & D == 0 {
            let (a, b) = (v[r], v[r + D]);
            v[r] = _mm512_permutex2var_epi32(a, low, b);
            v[r + D] = _mm512_permutex2var_epi32(a, high, b);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn dwords(table: [[i32; 16]; 4], run: usize) -> __m512i {
    let i = table[run.trailing_zeros() as usize];
    _mm512_setr_epi32(
        i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], i[8], i[9], i[10], i[11], i[12], i[13], i[14], i[15],
    )
}

/// Which double words are taken for the vectors `r` and for the vectors `r + D`.
const TABLES: [[[i32; 16]; 4]; 2] = [table(false), table(true)];

/// Which double word of the pair `(a, b)` each of the 16 of a result takes, when runs of `run` double words are
/// exchanged: the even runs of `a` and `b` alternating, or the odd ones. `b` starts at 16.
const fn table(odd: bool) -> [[i32; 16]; 4] {
    let mut table = [[0; 16]; 4];
    let mut log = 0;
    while log < 4 {
        let run = 1 << log;
        let mut i = 0;
        while i < 16 {
            let from_b = i & run != 0;
            let source = if odd { i | run } else { i & !run };
            table[log][i] = (source + if from_b { 16 } else { 0 }) as i32;
            i += 1;
        }
        log += 1;
    }
    table
}

/// Byte `c` of vector `r` becomes byte `r` of vector `c`, separately in each of the four 16-byte parts.
///
/// Number the bytes of a part, all vectors taken together, by the four bits of the vector followed by the four of the
/// position. Interleaving the vectors `r` and `r + 8` moves the highest bit of this number to the lowest place, so four
/// rounds swap the vector and the position.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
pub(super) fn transpose_bytes(v: [__m512i; 16]) -> [__m512i; 16] {
    interleave(interleave(interleave(interleave(v))))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn interleave(v: [__m512i; 16]) -> [__m512i; 16] {
    let mut out = v;
    for r in 0..8 {
        out[2 * r] = _mm512_unpacklo_epi8(v[r], v[r + 8]);
        out[2 * r + 1] = _mm512_unpackhi_epi8(v[r], v[r + 8]);
    }
    out
}
