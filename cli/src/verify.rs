//! `oxiblosc verify`.

use std::fmt::Write as _;
use std::io::{self, Write};

use oxiblosc::chunk::{ChunkDecoder, ChunkHeader};
use oxiblosc::frame::{ChecksumState, ChunkEntry, Frame, chunk_file_name};
use oxiblosc::nd::{ArrayMeta, NdArray};
use oxiblosc::{ErrorKind, Finding, FingerprintCheck, ReadError, ReadOptions, Registry, VerifyReport, block_on};

use crate::args::VerifyArgs;
use crate::cat::decode_chunk;
use crate::detect::FileKind;
use crate::error::{CliError, RECOVER_ADVICE, one_line};
use crate::input::Input;
use crate::needs::{Needs, missing_text};
use crate::progress;
use crate::units::show_exact;

/// The most findings that are listed one by one; beyond that only their number is shown.
const TOLD: usize = 8;

pub(crate) fn run(args: &VerifyArgs, registry: &Registry) -> Result<(), CliError> {
    let mut input = Input::open(&args.input)?;
    let checked = match input.kind {
        FileKind::Frame => frame(args, &mut input, registry)?,
        FileKind::Chunk => chunk(args, &input, registry)?,
    };
    if args.run.quiet {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}: good, {checked}", input.name).and_then(|()| out.flush()).map_err(CliError::stdout)
}

fn chunk(args: &VerifyArgs, input: &Input, registry: &Registry) -> Result<String, CliError> {
    let chunk = input.chunk()?;
    let (header, data) = decode_chunk(&chunk, &args.run.pool(), registry, None).map_err(|error| {
        let header = ChunkHeader::parse(&chunk);
        match registry.missing(header.iter().flat_map(ChunkHeader::plugins)) {
            missing if !missing.is_empty() && ErrorKind::of(&error) == ErrorKind::NoProvider => {
                input.not_verified(format!("not verified: {}", missing_text(&missing)))
            }
            _ => input.failed(error),
        }
    })?;
    let extra = input.bytes_behind(header.cbytes);
    if extra > 0 {
        let reason = format!("the chunk ends at offset {}, {extra} bytes before the file", header.cbytes);
        return Err(CliError::data(&input.name)(reason));
    }
    Ok(format!("1 chunk, {}", show_exact(data.len() as u64)))
}

fn frame(args: &VerifyArgs, input: &mut Input, registry: &Registry) -> Result<String, CliError> {
    let bar = progress::bar(None, args.run.quiet);
    input.watch(&bar);
    let reader = input.frame(ReadOptions::new().pool(&args.run.pool()).registry(registry))?;
    let mut nbytes = reader.nbytes();
    if ArrayMeta::find(reader.metalayers()).is_some() {
        // The shapes are valid, and agree with the sizes of the frame.
        nbytes = NdArray::new(reader.clone()).map_err(|e| input.failed(e))?.nbytes();
    }
    let needs = Needs::new(reader.plugins(), registry);
    // Only on a terminal: elsewhere there is one line, at the end.
    for plugin in needs.added() {
        bar.println(format!("{}: needs {plugin}", input.name));
    }
    if !needs.missing.is_empty() {
        bar.println(format!("{}: {}", input.name, missing_text(&needs.missing)));
    }
    bar.set_length(reader.cbytes());
    let report = block_on(reader.verify());
    bar.finish_and_clear();
    let report = report.map_err(|e| input.failed(e))?;
    if !report.findings.is_empty() {
        let mut text = failure_message(&report, reader.frame());
        if !report.is_verified() {
            let _ = write!(text, "; {}", not_verified(&report));
        }
        return Err(CliError::data(&input.name)(text).with_advice(RECOVER_ADVICE));
    }
    if !report.is_verified() {
        return Err(input.not_verified(not_verified(&report)));
    }
    let user_metadata = reader.frame().check_user_metadata(&mut ChunkDecoder::new(registry));
    user_metadata.map_err(|error| match ErrorKind::of(&error) {
        ErrorKind::NoProvider => input.not_verified(format!("not verified: user metadata: {}", one_line(&error))),
        _ => input.failed(error),
    })?;
    let mut text = ok_message(&report, nbytes);
    for plugin in needs.added() {
        let _ = write!(text, "; needs {plugin}");
    }
    if !needs.missing.is_empty() {
        // All chunks are stored, or are encoded with other parameters.
        let _ = write!(text, "; not needed so far, but named in its header: {}", missing_text(&needs.missing));
    }
    Ok(text)
}

/// What has not been verified, and what that takes.
fn not_verified(report: &VerifyReport) -> String {
    let mut parts = Vec::new();
    if !report.unverified.is_empty() {
        parts.push(format!("{} of {} chunks", report.unverified.len(), report.chunks));
    }
    parts.extend(report.unverified_metalayers.iter().map(|name| format!("variable-length metalayer {name:?}")));
    let mut text = format!("not verified: {}: {}", parts.join(", "), missing_text(&report.missing));
    if let (ChecksumState::Valid(_), true) = (&report.checksums, report.findings.is_empty()) {
        text += "; all checksums match";
    }
    text
}

/// Everything that is wrong, in one line.
fn failure_message(report: &VerifyReport, frame: &Frame) -> String {
    let mut missing = Vec::new();
    let mut bad = Vec::new();
    for finding in &report.findings {
        match missing_file(finding, frame) {
            Some(file) => missing.push(file),
            None => bad.push(one_line(finding)),
        }
    }
    let mut text = String::new();
    if !missing.is_empty() {
        let _ = write!(text, "{} of {} chunk files are missing: ", missing.len(), report.chunks);
        text += &some_of(missing, ", ");
    }
    if !bad.is_empty() {
        if !text.is_empty() {
            text += "; ";
        }
        let chunks = report.bad_chunks().count();
        if chunks > 1 && text.is_empty() {
            let _ = write!(text, "{chunks} of {} chunks are bad: ", report.chunks);
        }
        text += &some_of(bad, "; ");
    }
    if report.more_findings > 0 {
        let _ = write!(text, ", and {} findings that are not listed", report.more_findings);
    }
    text
}

/// The name of the chunk file, if the finding is that it is missing.
fn missing_file(finding: &Finding, frame: &Frame) -> Option<String> {
    let Finding::Chunk { chunk, source: ReadError::ChunkFile { source, .. } } = finding else { return None };
    match frame.entry(*chunk) {
        Ok(ChunkEntry::File { id }) if source.kind() == io::ErrorKind::NotFound => {
            Some(format!("{} (chunk {chunk})", chunk_file_name(id)))
        }
        _ => None,
    }
}

fn some_of(mut texts: Vec<String>, separator: &str) -> String {
    let more = texts.len().saturating_sub(TOLD);
    texts.truncate(TOLD);
    let mut text = texts.join(separator);
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// The message for a good frame, with what was verified.
fn ok_message(report: &VerifyReport, nbytes: u64) -> String {
    let chunks = report.chunks;
    let mut text = format!("{chunks} {}, {}", if chunks == 1 { "chunk" } else { "chunks" }, show_exact(nbytes));
    if let FingerprintCheck::Matches(fingerprint) = report.fingerprint {
        let _ = write!(text, ", fingerprint {fingerprint}");
    }
    match &report.checksums {
        ChecksumState::Absent => {}
        ChecksumState::Valid(_) => text += ", all checksums",
        state => {
            let _ = write!(text, "; no checksum was compared: {state}");
        }
    }
    text
}
