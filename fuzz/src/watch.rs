//! Runs one target, one input at a time, and watches the memory that it takes.

use std::fmt;

use oxiblosc_conformance::budget::Heap;
use oxiblosc_conformance::budget::peak;
use oxiblosc_conformance::data::Random;

use crate::bound::Setup;
use crate::target::Target;

/// Runs inputs of one target.
pub struct Watch {
    heap: &'static Heap,
    target: &'static Target,
    setup: Setup,
}

impl Watch {
    /// For the target of this name, whose program allocates from `heap`.
    ///
    /// # Panics
    /// When there is no target of this name.
    pub fn new(heap: &'static Heap, name: &str) -> Self {
        let target = Target::named(name).unwrap_or_else(|| panic!("no target is called {name:?}"));
        Self { heap, target, setup: Setup::small() }
    }

    /// Tries an input.
    ///
    /// # Panics
    /// When the target finds a bug, or takes more memory than [`Setup::bytes`].
    pub fn run(&self, input: &[u8]) {
        let ((), bytes) = peak(self.heap, || self.target.run(input, &self.setup));
        let most = self.setup.bytes(input.len());
        assert!(
            bytes <= most,
            "{}: {bytes} bytes allocated for an input of {}, at most {most}",
            self.target.name,
            input.len()
        );
    }

    /// Changes the first `size` bytes of `data`, which has room for `most`. Returns the new size.
    pub fn mutate(&self, data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
        let mut random = Random::new(u64::from(seed) << 20 | 0x5EED);
        let changed = self.target.mutate(&data[..size], most.min(data.len()), &mut random);
        data[..changed.len()].copy_from_slice(&changed);
        changed.len()
    }

    /// The target.
    pub fn target(&self) -> &'static Target {
        self.target
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("target", &self.target.name).finish_non_exhaustive()
    }
}
