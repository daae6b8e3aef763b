//! The data that everything is measured on.

use std::path::Path;

use crate::{Result, npy, synthetic};

/// Bytes of every data set: well past any cache of one core.
pub const BYTES: usize = 64 << 20;

/// Where a data set comes from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// A file of the conformance crate, repeated.
    Array(&'static str),
    /// Computed: bytes of an item, and the generator.
    Synthetic(usize, fn(usize) -> Vec<u8>),
}

/// A named data set that has not been loaded yet.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Name in tables and JSON.
    pub name: &'static str,
    origin: Origin,
}

/// A loaded data set.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Name in tables and JSON.
    pub name: &'static str,
    /// Bytes of an item.
    pub typesize: usize,
    /// [`BYTES`] bytes of items.
    pub bytes: Vec<u8>,
}

/// All data sets: five real arrays and four synthetic ones.
pub const ALL: [Source; 9] = [
    Source { name: "fmri-i16", origin: Origin::Array("fmri.npy") },
    Source { name: "disparity-f32", origin: Origin::Array("disparity.npy") },
    Source { name: "faces-f64", origin: Origin::Array("faces.npy") },
    Source { name: "astronaut-u8", origin: Origin::Array("astronaut.npy") },
    Source { name: "health-f64", origin: Origin::Array("health.npy") },
    Source { name: "smooth-f64", origin: Origin::Synthetic(8, synthetic::smooth_f64) },
    Source { name: "noisy-f32", origin: Origin::Synthetic(4, synthetic::noisy_f32) },
    Source { name: "timestamps-i64", origin: Origin::Synthetic(8, synthetic::timestamps_i64) },
    Source { name: "image-u16", origin: Origin::Synthetic(2, synthetic::image_u16) },
];

impl Source {
    /// The data set called `name`; one of [`ALL`].
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|source| source.name == name)
    }

    /// The first `bytes` bytes of the data set.
    ///
    /// # Errors
    /// When the file of a real array cannot be read.
    pub fn load(&self, bytes: usize) -> Result<Workload> {
        let (typesize, bytes) = match self.origin {
            Origin::Array(file) => {
                let arrays = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/data/arrays");
                let array = npy::read(&arrays.join(file))?;
                // One array is longer than any block, so repeating it gives no codec a match it would not have.
                (array.typesize, array.bytes.iter().copied().cycle().take(bytes).collect())
            }
            Origin::Synthetic(typesize, generate) => (typesize, generate(bytes)),
        };
        Ok(Workload { name: self.name, typesize, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_data_set_loads_and_has_the_length_asked_for() {
        for source in ALL {
            let workload = source.load(3_000_000).unwrap();
            assert_eq!(workload.bytes.len(), 3_000_000, "{}", source.name);
            assert!(source.name.ends_with(&(workload.typesize * 8).to_string()), "{}", source.name);
        }
    }

    #[test]
    fn a_shorter_load_is_a_prefix() {
        for source in ALL {
            let (short, long) = (source.load(1000).unwrap(), source.load(5000).unwrap());
            assert!(long.bytes.starts_with(&short.bytes), "{}", source.name);
        }
    }
}
