//! The parameters of a shared frame, as lines of text.

use std::fmt::Write;

use bytes::Bytes;
use oxiblosc_core::chunk::{ChunkFormat, EncodeParams, SplitMode};
use oxiblosc_core::frame::{FingerprintKind, FrameParams, FrameType, SpecialPlacement};
use oxiblosc_core::nd::{ArrayMeta, Tiling};
use oxiblosc_core::pipeline::{FilterSlot, FilterSlots};
use oxiblosc_core::plugin_params::PluginParams;
use oxiblosc_core::{CodecId, FilterId, Registry};

use super::error::ShareError;
use crate::sink::WriteOptions;

/// A parameter of a plan and its value, without line breaks.
pub(super) type PlanLine = (String, String);

/// Everything that determines the bytes of a frame that several writers fill.
#[derive(Debug, Clone)]
pub(super) struct SharedPlan {
    /// Decoded bytes of all chunks.
    pub(super) nbytes: u64,
    /// Whether chunks are given as boxes of an array.
    pub(super) array: bool,
    pub(super) params: FrameParams,
    pub(super) vlmetalayers: Vec<(String, Bytes)>,
}

const SPLITS: [(SplitMode, &str); 4] = [
    (SplitMode::Always, "always"),
    (SplitMode::Never, "never"),
    (SplitMode::Auto, "auto"),
    (SplitMode::ForwardCompat, "forward"),
];

const FORMATS: [(ChunkFormat, &str); 3] =
    [(ChunkFormat::Blosc2, "blosc2"), (ChunkFormat::Blosc1, "blosc1"), (ChunkFormat::Early, "early")];

impl SharedPlan {
    pub(super) fn new(nbytes: u64, array: bool, options: &WriteOptions) -> Result<Self, ShareError> {
        let mut params = options.frame_params(options.resolved_chunk_size()?)?;
        // Every chunk is a file, zeros included, or it would not be known which have been written.
        params.frame_type = FrameType::Sparse;
        params.special = SpecialPlacement::Stored;
        Ok(Self { nbytes, array, params, vlmetalayers: options.vlmetalayers.clone() })
    }

    /// How the array is cut into chunks, if it is one.
    pub(super) fn tiling(&self) -> Option<Result<Tiling, ShareError>> {
        let tile = |meta: ArrayMeta| meta.geometry.tile(self.params.encode.typesize);
        let meta = ArrayMeta::find(&self.params.metalayers).filter(|_| self.array)?;
        Some(meta.and_then(tile).map_err(ShareError::from))
    }

    /// Number of chunks.
    pub(super) fn nchunks(&self) -> u64 {
        self.nbytes.div_ceil(self.params.chunk_size.max(1) as u64)
    }

    /// The parameters, in a fixed order.
    pub(super) fn lines(&self) -> Vec<PlanLine> {
        let (params, encode) = (&self.params, &self.params.encode);
        let name = |found: Option<&'static str>| found.unwrap_or("unknown").to_owned();
        let filters = encode.filters.0.map(|slot| format!("{}={}", slot.id.0, slot.meta));
        let mut lines = vec![
            ("bytes".to_owned(), self.nbytes.to_string()),
            ("array".to_owned(), self.array.to_string()),
            ("chunk size".to_owned(), params.chunk_size.to_string()),
            ("type size".to_owned(), encode.typesize.to_string()),
            ("block size".to_owned(), encode.block_size.map_or("auto".to_owned(), |size| size.to_string())),
            ("codec".to_owned(), encode.codec.0.to_string()),
            ("codec meta".to_owned(), encode.codec_meta.to_string()),
            ("level".to_owned(), encode.level.to_string()),
            ("filters".to_owned(), filters.join(",")),
            ("split".to_owned(), name(SPLITS.iter().find(|(mode, _)| *mode == encode.split).map(|found| found.1))),
            ("dictionary".to_owned(), encode.use_dict.to_string()),
            ("format".to_owned(), name(FORMATS.iter().find(|(mode, _)| *mode == encode.format).map(|found| found.1))),
            ("fingerprint".to_owned(), params.fingerprint.map_or(0, FingerprintKind::to_u8).to_string()),
            ("checksums".to_owned(), params.checksums.to_string()),
        ];
        let content = |name: &str, content: &[u8]| format!("{} {}", hex(name.as_bytes()), hex(content));
        lines.extend(params.metalayers.iter().map(|(name, bytes)| ("metalayer".to_owned(), content(&name, bytes))));
        let variable = |(name, bytes): &(String, Bytes)| ("vlmetalayer".to_owned(), content(name, bytes));
        lines.extend(self.vlmetalayers.iter().map(variable));
        if !encode.plugin_params.is_empty() {
            lines.push(("plugin parameters".to_owned(), hex(&encode.plugin_params.to_bytes())));
        }
        // Plans without it stay readable for versions that do not know it.
        lines.extend(params.vlmetalayer_codec.map(|codec| ("vlmetalayer codec".to_owned(), codec.0.to_string())));
        lines
    }

    /// Parses the plan in these lines, or says what is wrong with them.
    pub(super) fn parse(lines: &[PlanLine]) -> Result<Self, String> {
        let mut encode = EncodeParams::default();
        let (mut nbytes, mut array, mut chunk_size) = (None, false, None);
        let (mut fingerprint, mut checksums) = (None, false);
        let (mut metalayers, mut vlmetalayers, mut vlmetalayer_codec) = (Vec::new(), Vec::new(), None);
        for (key, value) in lines {
            let bad = || format!("{key}: {value}");
            match key.as_str() {
                "bytes" => nbytes = Some(value.parse::<u64>().map_err(|_| bad())?),
                "array" => array = value.parse().map_err(|_| bad())?,
                "chunk size" => chunk_size = Some(value.parse::<usize>().map_err(|_| bad())?),
                "type size" => encode.typesize = value.parse().map_err(|_| bad())?,
                "block size" if value == "auto" => encode.block_size = None,
                "block size" => encode.block_size = Some(value.parse().map_err(|_| bad())?),
                "codec" => encode.codec = CodecId(value.parse().map_err(|_| bad())?),
                "codec meta" => encode.codec_meta = value.parse().map_err(|_| bad())?,
                "level" => encode.level = value.parse().map_err(|_| bad())?,
                "filters" => encode.filters = filters(value).ok_or_else(bad)?,
                "split" => encode.split = SPLITS.iter().find(|known| known.1 == value).ok_or_else(bad)?.0,
                "dictionary" => encode.use_dict = value.parse().map_err(|_| bad())?,
                "plugin parameters" => {
                    let bytes = unhex(value).ok_or_else(bad)?;
                    encode.plugin_params = PluginParams::from_bytes(&bytes).map_err(|_| bad())?;
                }
                "format" => encode.format = FORMATS.iter().find(|known| known.1 == value).ok_or_else(bad)?.0,
                "fingerprint" if value == "0" => fingerprint = None,
                "fingerprint" => {
                    let kind = value.parse().ok().and_then(FingerprintKind::from_u8);
                    fingerprint = Some(kind.ok_or_else(bad)?);
                }
                "checksums" => checksums = value.parse().map_err(|_| bad())?,
                "metalayer" => metalayers.push(named(value).ok_or_else(bad)?),
                "vlmetalayer codec" => vlmetalayer_codec = Some(CodecId(value.parse().map_err(|_| bad())?)),
                "vlmetalayer" => vlmetalayers.push(named(value).ok_or_else(bad)?),
                // Its writer relies on it.
                _ => return Err(format!("unknown parameter {key}")),
            }
        }
        let (Some(nbytes), Some(chunk_size)) = (nbytes, chunk_size) else {
            return Err("the number of bytes or the chunk size is missing".to_owned());
        };
        if chunk_size == 0 {
            return Err("the chunk size is 0".to_owned());
        }
        let mut params = FrameParams::new(encode, chunk_size);
        params.frame_type = FrameType::Sparse;
        params.special = SpecialPlacement::Stored;
        params.fingerprint = fingerprint;
        params.checksums = checksums;
        params.vlmetalayer_codec = vlmetalayer_codec;
        for (name, content) in metalayers {
            params.metalayers.insert(&name, content).map_err(|error| error.to_string())?;
        }
        Ok(Self { nbytes, array, params, vlmetalayers })
    }
}

/// The first parameter in which two plans differ, with both values.
pub(super) fn difference(here: &[PlanLine], there: &[PlanLine]) -> Option<(String, String, String)> {
    let none = || "nothing".to_owned();
    for i in 0..here.len().max(there.len()) {
        let (one, other) = (here.get(i), there.get(i));
        if one != other {
            let key = one.or(other).map_or_else(String::new, |line| line.0.clone());
            let of = |line: Option<&PlanLine>| line.filter(|line| line.0 == key).map_or_else(none, shown);
            return Some((key.clone(), of(one), of(other)));
        }
    }
    None
}

/// The error of a writer whose plan differs in this parameter, with names instead of the numbers of the plan.
pub(super) fn differs((key, here, there): (String, String, String), registry: &Registry) -> ShareError {
    let (here, there) = (worded(&key, here, registry), worded(&key, there, registry));
    ShareError::PlanDiffers { what: key, here, there }
}

/// A value of a plan in words.
fn worded(key: &str, value: String, registry: &Registry) -> String {
    let codec = |id| registry.codec(id).map_or_else(|_| id.to_string(), |entry| entry.info().name.to_owned());
    let filter = |id| registry.filter(id).map_or_else(|_| id.to_string(), |entry| entry.info().name.to_owned());
    let words = match key {
        "array" => Some(if value == "true" { "an array" } else { "plain bytes" }.to_owned()),
        "checksums" | "dictionary" => Some(if value == "true" { "some" } else { "none" }.to_owned()),
        "fingerprint" if value == "0" => Some("none".to_owned()),
        "codec" | "vlmetalayer codec" => value.parse().ok().map(|id| codec(CodecId(id))),
        "filters" => filters(&value).map(|slots| {
            let shown = |slot: FilterSlot| match slot.meta {
                0 => filter(slot.id),
                meta => format!("{} with meta byte {meta}", filter(slot.id)),
            };
            let shown: Vec<_> = slots.active().map(|(_, slot)| shown(slot)).collect();
            if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
        }),
        _ => None,
    };
    words.unwrap_or(value)
}

/// A value in readable form.
fn shown((key, value): &PlanLine) -> String {
    if !key.ends_with("metalayer") {
        return value.clone();
    }
    match named(value) {
        Some((name, content)) if name == ArrayMeta::NAME => match ArrayMeta::parse(&content) {
            Ok(ArrayMeta { geometry, dtype, .. }) => {
                let (chunks, blocks) = (&geometry.chunk_shape, &geometry.block_shape);
                format!("shape {:?}, chunks {chunks:?}, blocks {blocks:?}, dtype {dtype:?}", geometry.shape)
            }
            Err(_) => format!("{name}, {} bytes", content.len()),
        },
        Some((name, content)) => format!("{name}, {} bytes", content.len()),
        None => value.clone(),
    }
}

fn filters(text: &str) -> Option<FilterSlots> {
    let mut slots = FilterSlots::NONE;
    let mut texts = text.split(',');
    for slot in &mut slots.0 {
        let (id, meta) = texts.next()?.split_once('=')?;
        *slot = FilterSlot { id: FilterId(id.parse().ok()?), meta: meta.parse().ok()? };
    }
    texts.next().is_none().then_some(slots)
}

fn named(text: &str) -> Option<(String, Bytes)> {
    let (name, content) = text.split_once(' ')?;
    Some((String::from_utf8(unhex(name)?).ok()?, unhex(content)?.into()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use oxiblosc_core::plugin_params::Params;

    use super::*;
    use crate::nd::ArrayOptions;

    fn plans() -> Vec<SharedPlan> {
        let plain = WriteOptions::default();
        let filters = FilterSlots::from_list(&[(FilterId(3), 0), (FilterId(4), 10), (FilterId::SHUFFLE, 0)]).unwrap();
        let params = EncodeParams {
            codec: CodecId(200),
            codec_meta: 7,
            level: 9,
            typesize: 300,
            filters,
            block_size: Some(3000),
            split: SplitMode::Never,
            use_dict: true,
            format: ChunkFormat::Blosc1,
            plugin_params: PluginParams::default().codec(CodecId(200), Params::default().with("a\n", "\u{e4}")),
        };
        let full = WriteOptions::new(params)
            .chunk_size(6000)
            .fingerprint(FingerprintKind::Xxh3_64)
            .checksums(true)
            .metalayer("a name\n", &b"\n\x00\xff"[..])
            .vlmetalayer("\u{e4}", Bytes::new())
            .vlmetalayer_codec(CodecId(201));
        let array = |chunks: [u32; 2]| {
            let options = ArrayOptions::new([4096, 4096], "<f4").chunks(chunks).blocks([64, 64]);
            let (options, _, tiling) = options.into_frame().unwrap();
            SharedPlan::new(tiling.stored_bytes(), true, &options).unwrap()
        };
        vec![
            SharedPlan::new(0, false, &plain).unwrap(),
            SharedPlan::new(u64::MAX, false, &full).unwrap(),
            array([1024, 1024]),
            array([512, 2048]),
        ]
    }

    #[test]
    fn plans_come_back_and_tell_how_they_differ() {
        let plans = plans();
        for plan in &plans {
            let lines = plan.lines();
            assert!(lines.iter().all(|(key, value)| !key.contains('\n') && !value.contains('\n')));
            assert_eq!(SharedPlan::parse(&lines).unwrap().lines(), lines);
            assert_eq!(difference(&lines, &lines), None);
        }
        let (what, here, there) = difference(&plans[2].lines(), &plans[3].lines()).unwrap();
        assert_eq!(what, "metalayer");
        assert!(here.contains("chunks [1024, 1024]") && there.contains("chunks [512, 2048]"), "{here}, {there}");
        let (what, here, there) = difference(&plans[0].lines(), &plans[1].lines()).unwrap();
        assert_eq!((what.as_str(), here.as_str(), there), ("bytes", "0", u64::MAX.to_string()));
        let fewer = &plans[1].lines()[..14];
        let (what, _, there) = difference(&plans[1].lines(), fewer).unwrap();
        assert_eq!((what.as_str(), there.as_str()), ("metalayer", "nothing"));
    }

    #[test]
    fn damaged_plans_are_refused() {
        for plan in plans() {
            let lines = plan.lines();
            for i in 0..lines.len() {
                for value in ["", "-1", "x", "99999999999999999999", "1=2,3=4", "0g 00", "\u{e4}\u{e4}"] {
                    let mut damaged = lines.clone();
                    damaged[i].1 = value.to_owned();
                    // Never a panic, and never the same plan.
                    assert!(
                        SharedPlan::parse(&damaged).is_ok_and(|found| found.lines() == lines) == (damaged == lines)
                    );
                }
            }
            let mut more = lines.clone();
            more.push(("colour".to_owned(), "red".to_owned()));
            assert!(SharedPlan::parse(&more).is_err());
            assert!(SharedPlan::parse(&lines[1..]).is_err());
        }
    }
}
