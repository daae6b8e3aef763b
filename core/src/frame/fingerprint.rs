//! Digests of whole frames.

use std::fmt;

use rmp::Marker;
use xxhash_rust::xxh3::Xxh3;

/// The kind of digest that a fingerprint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FingerprintKind {
    /// The low 32 bits of XXH3-64: kind 1.
    Xxh3_32,
    /// XXH3-64: kind 2.
    Xxh3_64,
    /// XXH3-128: kind 3.
    #[default]
    Xxh3_128,
}

impl FingerprintKind {
    /// The kind that this byte stands for.
    pub const fn from_u8(kind: u8) -> Option<Self> {
        match kind {
            1 => Some(Self::Xxh3_32),
            2 => Some(Self::Xxh3_64),
            3 => Some(Self::Xxh3_128),
            _ => None,
        }
    }

    /// The byte in the trailer.
    pub const fn to_u8(self) -> u8 {
        match self {
            Self::Xxh3_32 => 1,
            Self::Xxh3_64 => 2,
            Self::Xxh3_128 => 3,
        }
    }

    /// Bytes of the digest.
    pub const fn digest_len(self) -> usize {
        match self {
            Self::Xxh3_32 => 4,
            Self::Xxh3_64 => 8,
            Self::Xxh3_128 => 16,
        }
    }
}

/// A digest of a whole frame, which a writer may store at the very end of it.
///
/// Source: contiguous frame format document, "fingerprint", for its kinds and its place at the very end of the trailer.
/// The document does not say what is digested. Here it is, in this order: everything after the header up to the
/// fingerprint's own extension type (chunks section with its holes, index, trailer), then the header. The header comes
/// last because it is known last, so that one pass over the frame is enough to write it. In a sparse frame the chunk
/// files take the place of the chunks section, in the order of the index and each as long as its chunk.
///
/// C-Blosc2 writes kind 0 whenever it writes a trailer, and never reads it. A fingerprint was therefore written by
/// software that knows it, and no other software has written the trailer since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fingerprint {
    /// Kind: 0 none, 1 32 bits, 2 64 bits, 3 128 bits.
    pub kind: u8,
    /// The digest as a big-endian number, padded with zeros on the right.
    pub digest: [u8; 16],
}

impl Fingerprint {
    /// No fingerprint.
    pub const NONE: Self = Self { kind: 0, digest: [0; 16] };
    /// Bytes at the very end of a frame that a fingerprint occupies: `D8`, the kind, the digest.
    pub const LEN: usize = 18;

    /// The bytes at the very end of a frame.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[0] = Marker::FixExt16.to_u8();
        out[1] = self.kind;
        out[2..].copy_from_slice(&self.digest);
        out
    }
}

/// The digest in hexadecimal; `none` for kind 0.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE {
            return f.write_str("none");
        }
        let len = FingerprintKind::from_u8(self.kind).map_or(self.digest.len(), FingerprintKind::digest_len);
        self.digest[..len].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Computes the fingerprint of a frame from its bytes, in the order that [`Fingerprint`] gives: first everything after
/// the header up to the fingerprint, then the header.
#[derive(Clone)]
pub struct Fingerprinter {
    kind: FingerprintKind,
    hasher: Box<Xxh3>,
}

impl Fingerprinter {
    /// Starts a new digest.
    pub fn new(kind: FingerprintKind) -> Self {
        Self { kind, hasher: Box::new(Xxh3::new()) }
    }

    /// The kind of this digest.
    pub fn kind(&self) -> FingerprintKind {
        self.kind
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// The fingerprint of all bytes so far.
    pub fn finish(&self) -> Fingerprint {
        let mut digest = [0; 16];
        match self.kind {
            FingerprintKind::Xxh3_32 => digest[..4].copy_from_slice(&(self.hasher.digest() as u32).to_be_bytes()),
            FingerprintKind::Xxh3_64 => digest[..8].copy_from_slice(&self.hasher.digest().to_be_bytes()),
            FingerprintKind::Xxh3_128 => digest = self.hasher.digest128().to_be_bytes(),
        }
        Fingerprint { kind: self.kind.to_u8(), digest }
    }
}

impl fmt::Debug for Fingerprinter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fingerprinter").field("kind", &self.kind).finish_non_exhaustive()
    }
}
