//! Hostile streams take a bounded amount of memory and panic nowhere.

use std::time::Duration;

use oxiblosc_conformance::budget::{self, Heap, ResourceLimit};
use oxiblosc_conformance::data::{Random, samples};
use oxiblosc_core::codec::{Codec, CodecContext, CodecError};
use oxiblosc_core::filter::BlockContext;
use oxiblosc_pco::{NumberKind, Pco};

#[global_allocator]
static HEAP: Heap = budget::heap();

/// One kind for each type size at least, and all that Pco treats differently.
const TYPES: [(NumberKind, usize); 7] = [
    (NumberKind::Unsigned, 1),
    (NumberKind::Signed, 2),
    (NumberKind::Unsigned, 4),
    (NumberKind::Signed, 8),
    (NumberKind::Float, 2),
    (NumberKind::Float, 4),
    (NumberKind::Float, 8),
];

/// The buffers of a test, and what Pco keeps for one chunk: bins, tables and a window.
const LIMIT: ResourceLimit = ResourceLimit::bytes(4 << 20).time(Duration::from_secs(120));

fn context(kind: NumberKind, typesize: usize) -> CodecContext<'static> {
    let mut ctx = CodecContext::new(BlockContext::new(typesize), 5);
    ctx.meta = kind.meta();
    ctx
}

/// One test for all, because what another one allocates at the same time would count.
#[test]
fn hostile_streams_do_no_harm() {
    a_dictionary_that_the_stream_does_not_have_is_not_allocated();
    damage_does_no_harm();
    noise_does_no_harm();
}

/// Damage is an error or other numbers. Tests are debug builds, and what only those check is checked here.
fn damage_does_no_harm() {
    const LEN: usize = 4099;
    let mut random = Random::new(7);
    for (kind, typesize) in TYPES {
        let ctx = context(kind, typesize);
        for sample in samples(LEN) {
            let mut packed = vec![0; 2 * LEN];
            let len = Pco::default().compress(&ctx, &sample.bytes, &mut packed).unwrap().unwrap();
            packed.truncate(len);
            LIMIT.run(&HEAP, sample.name, || {
                let mut dst = vec![0; LEN];
                for round in 0..600 {
                    let mut damaged = packed.clone();
                    // The metadata are at the beginning, and most of the checks are of them.
                    let reach = if round % 2 == 0 { damaged.len().min(40) } else { damaged.len() };
                    for _ in 0..=random.below(3) {
                        let at = random.below(reach);
                        damaged[at] = if random.below(2) == 0 { damaged[at] ^ 1 << random.below(8) } else { 0xFF };
                    }
                    let _ = Pco::default().decompress(&ctx, &damaged, &mut dst);
                }
            });
            let mut back = vec![0; LEN];
            Pco::default().decompress(&ctx, &packed, &mut back).unwrap();
            assert_eq!(back, sample.bytes);
        }
    }
}

fn noise_does_no_harm() {
    let mut random = Random::new(11);
    for (kind, typesize) in TYPES {
        let ctx = context(kind, typesize);
        LIMIT.run(&HEAP, "noise", || {
            for _ in 0..2000 {
                let len = 1 + random.below(2000);
                // The right length and version, so that what follows is read.
                let mut stream = (len as u32).to_le_bytes().to_vec();
                stream.extend([4, 1]);
                stream.extend((0..random.below(300)).map(|_| random.next_u64() as u8));
                let _ = Pco::default().decompress(&ctx, &stream, &mut vec![0; len]);
            }
        });
    }
}

fn a_dictionary_that_the_stream_does_not_have_is_not_allocated() {
    // Mode 4 with 2^25 - 1 entries of 8 bytes, and a window of 2^24 numbers.
    let dictionary = [8, 0, 0, 0, 4, 1, 0xF4, 0xFF, 0xFF, 0x1F, 0, 0];
    let window = [8, 0, 0, 0, 4, 1, 0x20, 23, 0, 0, 0, 0];
    for stream in [dictionary, window] {
        ResourceLimit::bytes(1 << 20).run(&HEAP, "one number", || {
            let error = Pco::default().decompress(&context(NumberKind::Unsigned, 8), &stream, &mut [0; 8]).unwrap_err();
            assert!(matches!(error, CodecError::Corrupt { offset: 6, .. }), "{error}");
        });
    }
}
