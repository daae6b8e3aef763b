//! Which instructions the kernels may use.

use std::fmt;

/// A set of instructions that this machine has, and the kernels written for it.
///
/// A value exists only for instructions that were found at run time, so holding one is the proof that a kernel of that
/// level may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Level(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Scalar,
}

impl Level {
    /// Portable code: works everywhere.
    pub const SCALAR: Self = Self(Kind::Scalar);

    /// All levels of this machine, the slowest first.
    pub fn available() -> Vec<Self> {
        vec![Self::SCALAR]
    }

    /// The fastest level of this machine.
    pub fn best() -> Self {
        Self::SCALAR
    }

    /// Name in benchmarks and messages.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Scalar => "scalar",
        }
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
