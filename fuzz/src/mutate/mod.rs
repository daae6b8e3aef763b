//! Changes that get past the first checks: one thing is changed, and the lengths, totals and offsets that depend on it are
//! corrected. (Not always, because the checks are to be tested, too.)

mod bytes;
mod chunk;
mod fields;
mod frame;
mod layers;
mod parts;
mod vouch;

use oxiblosc_conformance::data::Random;

use crate::place::{bundle, files};
use crate::script::Script;

/// What an input consists of, for those that change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Anything.
    Bytes,
    /// A chunk.
    Chunk,
    /// A contiguous frame of any age.
    Frame,
    /// A contiguous frame, and a [`Script`] behind it.
    ScriptedFrame,
    /// The files of a sparse frame ([`files`]).
    Directory,
    /// The same, and a script behind them.
    ScriptedDirectory,
}

/// Changes `input` somehow; the result has at most `most` bytes.
pub fn mutate(form: Form, input: &[u8], most: usize, random: &mut Random) -> Vec<u8> {
    let mut out = match form {
        Form::Bytes => bytes::mutate(input, random),
        Form::Chunk => chunk::mutate(input, random),
        Form::Frame => frame::mutate(input, random),
        Form::Directory => directory(input, random),
        Form::ScriptedFrame | Form::ScriptedDirectory => scripted(form, input, random),
    };
    if out.len() > most {
        // A frame that is cut is worth trying too.
        out.truncate(most);
    }
    out
}

fn scripted(form: Form, input: &[u8], random: &mut Random) -> Vec<u8> {
    let (body, _) = Script::split(input);
    let script = input[body.len()..input.len().saturating_sub(1)].to_vec();
    if random.below(2) == 0 {
        return Script::join(body, &bytes::mutate(&script, random));
    }
    let body = if form == Form::ScriptedFrame { frame::mutate(body, random) } else { directory(body, random) };
    Script::join(&body, &script)
}

fn directory(input: &[u8], random: &mut Random) -> Vec<u8> {
    let mut list = files(input);
    if list.is_empty() || random.below(8) == 0 {
        return bytes::mutate(input, random);
    }
    let at = random.below(list.len());
    match random.below(8) {
        0 => drop(list.remove(at)),
        1 => {
            let copy = (format!("{:08X}.chunk", random.below(8)), list[at].1.clone());
            list.push(copy);
        }
        _ => {
            let (name, content) = &list[at];
            let content = match name.ends_with(".chunk") {
                true => chunk::mutate(content, random),
                false => frame::mutate(content, random),
            };
            list[at].1 = content.into();
        }
    }
    if random.below(8) > 0 {
        vouch::repair_directory(&mut list);
    }
    bundle(list)
}
