//! The ways into the library, each of which every finding goes.

use oxiblosc_fuzz::check::{self, Content, numbers, open};
use oxiblosc_fuzz::{Place, SCRIPTS, Script, Setup};

use crate::finding::Kind;

/// One way in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Bytes that may be allocated with the default limits, which allow more than any test should take.
    pub(crate) bytes: usize,
    /// Whether whole chunks are asked for, however long they are.
    pub(crate) chunks: bool,
    pub(crate) run: fn(&Kind, &Setup),
}

/// For what is small whatever the frame holds.
const LITTLE: usize = 32 << 20;
/// For what passes over a whole frame.
const MUCH: usize = 256 << 20;

macro_rules! entry {
    ($name:literal, $bytes:expr, $check:expr) => {
        Entry {
            name: $name,
            bytes: $bytes,
            chunks: false,
            run: |kind, setup| each!(kind, |place| $check(place, setup)),
        }
    };
}

/// The same for both kinds of frames.
macro_rules! each {
    ($kind:expr, |$place:ident| $body:expr) => {
        match $kind {
            Kind::Contiguous($place) => $body,
            Kind::Sparse($place) => $body,
            Kind::Chunk(_) | Kind::Packed(_) => {}
        }
    };
}

impl Entry {
    /// Those for a frame.
    pub(crate) const FRAME: &[Self] = &[
        entry!("open", LITTLE, head),
        entry!("one byte", LITTLE, byte),
        entry!("items", LITTLE, items),
        entry!("whole", LITTLE, whole),
        entry!("slices", LITTLE, check::slices),
        entry!("verify", MUCH, check::verify),
        entry!("recover", MUCH, check::recover),
        entry!("edit", MUCH, edit),
        entry!("edit as an array", MUCH, edit_array),
        entry!("copy", MUCH, copy),
        Self { name: "stream", bytes: MUCH, chunks: true, run: |kind, setup| contiguous(kind, setup, check::stream) },
        Self { name: "seal", bytes: MUCH, chunks: false, run: |kind, setup| contiguous(kind, setup, check::seal) },
    ];

    /// Those for a chunk.
    pub(crate) const CHUNK: &[Self] = &[Self {
        name: "chunk",
        bytes: LITTLE,
        chunks: false,
        run: |kind, setup| {
            if let Kind::Chunk(bytes) = kind {
                check::chunk(bytes, setup);
            }
        },
    }];

    /// Those for a compressed stream.
    pub(crate) const PACKED: &[Self] = &[Self {
        name: "transport",
        bytes: MUCH,
        chunks: false,
        run: |kind, _| {
            if let Kind::Packed(bytes) = kind {
                check::transport(bytes);
            }
        },
    }];
}

fn contiguous(kind: &Kind, setup: &Setup, check: fn(&bytes::Bytes, &Setup)) {
    if let Kind::Contiguous(bytes) = kind {
        check(bytes, setup);
    }
}

fn head<P: Place>(place: &P, setup: &Setup) {
    open(place, setup.read()).iter().for_each(check::check_head);
}

fn byte<P: Place>(place: &P, setup: &Setup) {
    open(place, setup.read()).iter().for_each(|reader| check::check_bytes(reader, setup));
}

fn items<P: Place>(place: &P, setup: &Setup) {
    open(place, setup.read()).iter().for_each(check::check_items);
}

fn whole<P: Place>(place: &P, setup: &Setup) {
    let Some(reader) = open(place, setup.read()) else { return };
    let Some(content) = Content::of(&reader, setup) else { return };
    check::check_whole(&reader, &content, &mut numbers(reader.frame().header_bytes()));
}

fn edit<P: Place>(place: &P, setup: &Setup) {
    for script in SCRIPTS {
        check::edit(place, &mut Script::new(script), setup);
    }
}

fn copy<P: Place>(place: &P, setup: &Setup) {
    for script in [&[0][..], &[2], &[3, 0, 5, 7], &[3, 0x83, 1, 0x18]] {
        check::copy(place, &mut Script::new(script), setup);
    }
}

fn edit_array<P: Place>(place: &P, setup: &Setup) {
    for script in [&[0, 7, 1][..], &[1, 1, 5, 6], &[2, 0, 1], &[2, 255, 2, 0, 9, 9], &[1, 0, 0, 0, 1, 6, 6, 6]] {
        check::edit_array(place, &mut Script::new(script), setup);
    }
}
