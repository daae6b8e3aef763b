//! The targets, and how one input is tried on one of them.

use bytes::Bytes;
use oxiblosc::CodecId;
use oxiblosc_brotli::BROTLI;
use oxiblosc_conformance::data::Random;
use oxiblosc_pco::PCO;

use crate::bound::Setup;
use crate::mutate::{Form, mutate};
use crate::place::{Place, directory};
use crate::reading::{self, Content, numbers, open};
use crate::script::Script;
use crate::{
    array_editing, chunk, codec, copying, editing, metalayers, recovering, slicing, streaming, transport, verifying,
};

/// Something that takes any bytes, and panics when it finds a bug.
#[derive(Debug)]
pub struct Target {
    /// Its name, and that of its program.
    pub name: &'static str,
    /// What its inputs consist of.
    pub form: Form,
    /// Its seeds.
    pub seeds: Seeds,
    body: fn(&Bytes, &Setup),
}

/// Which of the files in the repository are the seeds of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seeds {
    /// Chunks.
    Chunks,
    /// Contiguous frames of all ages.
    Frames,
    /// Those before 2021.
    Early,
    /// Frames without totals.
    Open,
    /// Arrays.
    Arrays,
    /// Arrays with a script.
    ScriptedArrays,
    /// Frames with a script.
    ScriptedFrames,
    /// Sparse frames.
    Directories,
    /// Sparse frames with a script.
    ScriptedDirectories,
    /// Streams of one codec.
    Streams(CodecId),
}

const fn target(name: &'static str, form: Form, seeds: Seeds, body: fn(&Bytes, &Setup)) -> Target {
    Target { name, form, seeds, body }
}

macro_rules! codec_target {
    ($name:literal, $id:expr) => {
        target($name, Form::Bytes, Seeds::Streams($id), |input, _| codec::check($id, input))
    };
}

impl Target {
    /// All of them.
    pub const ALL: &[Self] = &[
        target("chunk_header", Form::Chunk, Seeds::Chunks, |input, _| chunk::check_header(input)),
        target("chunk", Form::Chunk, Seeds::Chunks, |input, setup| chunk::check(input, setup)),
        codec_target!("codec_blosclz", CodecId::BLOSCLZ),
        codec_target!("codec_lz4", CodecId::LZ4),
        codec_target!("codec_lz4hc", CodecId::LZ4HC),
        codec_target!("codec_snappy", CodecId::SNAPPY),
        codec_target!("codec_zlib", CodecId::ZLIB),
        codec_target!("codec_zstd", CodecId::ZSTD),
        codec_target!("codec_ndlz", CodecId::NDLZ),
        codec_target!("codec_zfp_accuracy", CodecId::ZFP_ACCURACY),
        codec_target!("codec_zfp_precision", CodecId::ZFP_PRECISION),
        codec_target!("codec_zfp_rate", CodecId::ZFP_RATE),
        codec_target!("codec_brotli", BROTLI),
        codec_target!("codec_pco", PCO),
        target("metalayers", Form::Frame, Seeds::Frames, metalayers::check),
        target("frame", Form::Frame, Seeds::Frames, read),
        target("frame_early", Form::Frame, Seeds::Early, read),
        target("frame_sparse", Form::Directory, Seeds::Directories, |input, setup| {
            read_place(&directory(input), setup)
        }),
        target("frame_open", Form::Frame, Seeds::Open, open_ended),
        target("slices", Form::Frame, Seeds::Arrays, slices),
        target("verify", Form::Frame, Seeds::Frames, verify),
        target("recover", Form::Frame, Seeds::Frames, recover),
        target("recover_sparse", Form::Directory, Seeds::Directories, |input, setup| recover(&directory(input), setup)),
        target("stream", Form::Frame, Seeds::Frames, stream),
        target("edit", Form::ScriptedFrame, Seeds::ScriptedFrames, |input, setup| {
            let (frame, mut script) = Script::split(input);
            editing::check(&input.slice_ref(frame), &mut script, setup);
        }),
        target("edit_sparse", Form::ScriptedDirectory, Seeds::ScriptedDirectories, |input, setup| {
            let (files, mut script) = Script::split(input);
            editing::check(&directory(files), &mut script, setup);
        }),
        target("edit_array", Form::ScriptedFrame, Seeds::ScriptedArrays, |input, setup| {
            let (frame, mut script) = Script::split(input);
            array_editing::check(&input.slice_ref(frame), &mut script, setup);
        }),
        target("copy", Form::ScriptedFrame, Seeds::ScriptedFrames, |input, setup| {
            let (frame, mut script) = Script::split(input);
            copying::check(&input.slice_ref(frame), &mut script, setup);
        }),
        target("copy_sparse", Form::ScriptedDirectory, Seeds::ScriptedDirectories, |input, setup| {
            let (files, mut script) = Script::split(input);
            copying::check(&directory(files), &mut script, setup);
        }),
        target("transport", Form::Frame, Seeds::Frames, |input, _| transport::check(input)),
    ];

    /// The target of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|target| target.name == name)
    }

    /// Tries an input.
    ///
    /// # Panics
    /// When something is wrong.
    pub fn run(&self, input: &[u8], setup: &Setup) {
        (self.body)(&Bytes::copy_from_slice(input), setup);
    }

    /// Changes an input. The result has at most `most` bytes.
    pub fn mutate(&self, input: &[u8], most: usize, random: &mut Random) -> Vec<u8> {
        mutate(self.form, input, most, random)
    }
}

/// Opens and reads a contiguous frame in every way.
fn read(input: &Bytes, setup: &Setup) {
    read_place(input, setup);
}

/// Opens and reads a frame in every way.
pub(crate) fn read_place<P: Place>(place: &P, setup: &Setup) {
    let Some(reader) = open(place, setup.read()) else { return };
    reading::check_head(&reader);
    reading::check_bytes(&reader, setup);
    reading::check_items(&reader);
    if let Some(content) = Content::of(&reader, setup) {
        let mut random = numbers(reader.frame().header_bytes());
        reading::check_whole(&reader, &content, &mut random);
    }
}

fn open_ended(input: &Bytes, setup: &Setup) {
    if let Some(reader) = open(input, setup.read().open_ended(true)) {
        reading::check_head(&reader);
        if let Some(content) = Content::of(&reader, setup) {
            reading::check_whole(&reader, &content, &mut numbers(input));
        }
    }
    recovering::check_seal(input, setup);
}

/// Reads slices of an array.
pub fn slices<P: Place>(place: &P, setup: &Setup) {
    let Some(reader) = open(place, setup.read()) else { return };
    let content = Content::of(&reader, setup);
    slicing::check(&reader, content.as_ref(), setup, &mut numbers(reader.frame().header_bytes()));
}

/// Verifies a frame.
pub fn verify<P: Place>(place: &P, setup: &Setup) {
    let Some(reader) = open(place, setup.read()) else { return };
    let content = Content::of(&reader, setup);
    verifying::check(&reader, content.as_ref());
}

/// Recovers a frame.
pub fn recover<P: Place>(place: &P, setup: &Setup) {
    let reader = open(place, setup.read());
    let content = reader.as_ref().and_then(|reader| Content::of(reader, setup));
    recovering::check(place, reader.as_ref(), content.as_ref(), setup);
}

/// Longer chunks are not decoded as a whole.
pub(crate) const LARGE: usize = 16 << 20;

/// Reads a frame front to back.
pub fn stream(input: &Bytes, setup: &Setup) {
    let reader = open(input, setup.read());
    let content = reader.as_ref().and_then(|reader| Content::of(reader, setup));
    if reader.is_some() && content.is_none() && setup.limits.chunk_bytes > LARGE {
        // A stream gives whole chunks, as long as the limits allow.
        return;
    }
    streaming::check(input, content.as_ref(), setup);
}
