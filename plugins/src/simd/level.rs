//! Which instructions the kernels may use.

use std::fmt;
use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512;
#[cfg(target_arch = "aarch64")]
use super::lanes::Neon;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Sse2};

/// A set of instructions that this machine has, and the kernels written for it.
///
/// A value exists only for instructions that were detected at run time, so holding one proves that a kernel of that
/// level may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Level(LevelProof);

/// The levels, each with the proof that it may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LevelProof {
    Scalar,
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    #[cfg(target_arch = "x86_64")]
    Sse2(Sse2),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Level {
    /// Portable code: works everywhere.
    pub const SCALAR: Self = Self(LevelProof::Scalar);

    /// All levels of this machine, the slowest first.
    pub fn available() -> Vec<Self> {
        let mut levels = vec![Self::SCALAR];
        #[cfg(target_arch = "aarch64")]
        levels.extend(Neon::detect().map(LevelProof::Neon).map(Self));
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(Sse2::detect().map(LevelProof::Sse2).map(Self));
            levels.extend(Avx2::detect().map(LevelProof::Avx2).map(Self));
            levels.extend(Avx512::detect().map(LevelProof::Avx512).map(Self));
        }
        levels
    }

    /// The fastest level of this machine.
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::available().pop().unwrap_or(Self::SCALAR))
    }

    /// Name in benchmarks and messages.
    pub const fn name(self) -> &'static str {
        match self.0 {
            LevelProof::Scalar => "scalar",
            #[cfg(target_arch = "aarch64")]
            LevelProof::Neon(_) => "neon",
            #[cfg(target_arch = "x86_64")]
            LevelProof::Sse2(_) => "sse2",
            #[cfg(target_arch = "x86_64")]
            LevelProof::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            LevelProof::Avx512(_) => "avx512",
        }
    }

    pub(super) const fn kind(self) -> LevelProof {
        self.0
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::best()
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
