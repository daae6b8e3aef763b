//! The data that everything is measured on.

use std::path::Path;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::{Error, Result, fetched, generated, npy, synthetic};

/// Bytes of the nine sets that are repeated or computed: well past any cache of one core.
pub const BYTES: usize = 64 << 20;

/// What a data set may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub enum Role {
    /// Whoever changes an encoder or a decoder may look at it.
    Tuned,
    /// For final figures only: no change is made because of its rows alone.
    Held,
    /// Made anew by each run, from its seed.
    Generated,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tuned, Self::Held, Self::Generated];

    /// Name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tuned => "tuned",
            Self::Held => "held",
            Self::Generated => "generated",
        }
    }
}

/// Where a data set comes from.
#[derive(Debug, Clone)]
enum Origin {
    /// A file of the conformance crate, repeated.
    Array(&'static str),
    /// Computed: bytes of an item, and the generator.
    Synthetic(usize, fn(usize) -> Vec<u8>),
    /// Out of a package that a registry serves.
    Fetched(&'static fetched::Entry),
    /// Computed from the seed of the run.
    Generated(generated::Recipe),
}

/// A named data set that has not been loaded yet.
#[derive(Debug, Clone)]
pub struct Source {
    /// Name in tables and JSON.
    pub name: &'static str,
    /// What kind of data it is.
    pub kind: &'static str,
    /// What it may be used for.
    pub role: Role,
    origin: Origin,
}

/// A loaded data set.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Name in tables and JSON.
    pub name: &'static str,
    /// What it may be used for.
    pub role: Role,
    /// Bytes of an item.
    pub typesize: usize,
    /// Whole items.
    pub bytes: Vec<u8>,
}

/// The nine sets that need no network: five real arrays and four synthetic ones, all of [`BYTES`].
pub static OLD: LazyLock<[Source; 9]> = LazyLock::new(|| {
    let source = |name, kind, origin| Source { name, kind, role: Role::Tuned, origin };
    [
        source("fmri-i16", "volume", Origin::Array("fmri.npy")),
        source("disparity-f32", "image", Origin::Array("disparity.npy")),
        source("faces-f64", "image", Origin::Array("faces.npy")),
        source("astronaut-u8", "image", Origin::Array("astronaut.npy")),
        source("health-f64", "table", Origin::Array("health.npy")),
        source("smooth-f64", "synthetic", Origin::Synthetic(8, synthetic::smooth_f64)),
        source("noisy-f32", "synthetic", Origin::Synthetic(4, synthetic::noisy_f32)),
        source("timestamps-i64", "synthetic", Origin::Synthetic(8, synthetic::timestamps_i64)),
        source("image-u16", "synthetic", Origin::Synthetic(2, synthetic::image_u16)),
    ]
});

/// The sets of `data/sets.tsv`.
pub fn packaged() -> Vec<Source> {
    let source = |entry: &'static fetched::Entry| Source {
        name: entry.name,
        kind: entry.kind,
        role: entry.role,
        origin: Origin::Fetched(entry),
    };
    fetched::ENTRIES.iter().map(source).collect()
}

/// `count` sets that follow from `seed`.
pub fn from_seed(seed: u64, count: usize) -> Vec<Source> {
    let source = |recipe: generated::Recipe| Source {
        // A run makes a few dozen of them, once.
        name: recipe.name().leak(),
        kind: recipe.family.name(),
        role: Role::Generated,
        origin: Origin::Generated(recipe),
    };
    generated::recipes(seed, count).into_iter().map(source).collect()
}

impl Source {
    /// The data set called `name`, unless it is a generated one.
    pub fn named(name: &str) -> Option<Self> {
        OLD.iter().cloned().chain(packaged()).find(|source| source.name == name)
    }

    /// Whether the bytes must come from a registry first.
    pub fn is_packaged(&self) -> bool {
        matches!(self.origin, Origin::Fetched(_))
    }

    /// The first `bytes` bytes of the data set, or as many as it has.
    ///
    /// # Errors
    /// When the file of a real array cannot be read, or a package not be fetched.
    pub fn load(&self, bytes: usize) -> Result<Workload> {
        let (typesize, bytes) = match &self.origin {
            Origin::Array(file) => {
                let arrays = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/data/arrays");
                let array = npy::read(&arrays.join(file))?;
                // One array is longer than any block, so repeating it gives no codec a match it would not have.
                (array.typesize, array.bytes.iter().copied().cycle().take(bytes).collect())
            }
            Origin::Synthetic(typesize, generate) => (*typesize, generate(bytes)),
            Origin::Fetched(entry) => {
                let mut items = fetched::load(entry)?;
                items.truncate(bytes / entry.typesize * entry.typesize);
                (entry.typesize, items)
            }
            Origin::Generated(recipe) => {
                let mut items = recipe.generate();
                items.truncate(bytes / recipe.typesize * recipe.typesize);
                (recipe.typesize, items)
            }
        };
        if bytes.is_empty() {
            return Err(Error::new(format!("{} is empty", self.name)));
        }
        Ok(Workload { name: self.name, role: self.role, typesize, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_data_set_loads_and_has_the_length_asked_for() {
        for source in OLD.iter() {
            let workload = source.load(3_000_000).unwrap();
            assert_eq!(workload.bytes.len(), 3_000_000, "{}", source.name);
            assert!(source.name.ends_with(&(workload.typesize * 8).to_string()), "{}", source.name);
        }
    }

    #[test]
    fn a_shorter_load_is_a_prefix() {
        for source in OLD.iter() {
            let (short, long) = (source.load(1000).unwrap(), source.load(5000).unwrap());
            assert!(long.bytes.starts_with(&short.bytes), "{}", source.name);
        }
    }

    #[test]
    fn generated_sets_follow_from_the_seed_and_hold_whole_items() {
        for source in from_seed(7, 20) {
            let (first, again) = (source.load(BYTES).unwrap(), source.load(BYTES).unwrap());
            assert_eq!(first.bytes, again.bytes, "{}", source.name);
            assert_eq!(first.bytes.len() % first.typesize, 0, "{}", source.name);
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> =
            OLD.iter().cloned().chain(packaged()).chain(from_seed(1, 20)).map(|source| source.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
