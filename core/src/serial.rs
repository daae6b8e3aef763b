//! Parameters for serde (feature `serde`): with names in formats that people read, with numbers in others.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::{CodecId, FilterId};
use crate::pipeline::{FilterSlot, FilterSlots, SLOTS};
use crate::plugin_params::{Params, PluginParams};

/// Names of the filters that have a constant, as registries have them.
const FILTERS: [(FilterId, &str); 10] = [
    (FilterId::NONE, "none"),
    (FilterId::SHUFFLE, "shuffle"),
    (FilterId::BITSHUFFLE, "bitshuffle"),
    (FilterId::DELTA, "delta"),
    (FilterId::TRUNC_PREC, "trunc_prec"),
    (FilterId::NDCELL, "ndcell"),
    (FilterId::NDMEAN, "ndmean"),
    (FilterId::BYTEDELTA_OLD, "bytedelta_old"),
    (FilterId::BYTEDELTA, "bytedelta"),
    (FilterId::INT_TRUNC, "int_trunc"),
];

/// Names of the codecs that have a constant, as registries have them.
const CODECS: [(CodecId, &str); 10] = [
    (CodecId::BLOSCLZ, "blosclz"),
    (CodecId::LZ4, "lz4"),
    (CodecId::LZ4HC, "lz4hc"),
    (CodecId::SNAPPY, "snappy"),
    (CodecId::ZLIB, "zlib"),
    (CodecId::ZSTD, "zstd"),
    (CodecId::NDLZ, "ndlz"),
    (CodecId::ZFP_ACCURACY, "zfp_acc"),
    (CodecId::ZFP_PRECISION, "zfp_prec"),
    (CodecId::ZFP_RATE, "zfp_rate"),
];

/// An id that is a name or a number.
trait Named: Copy + PartialEq + 'static {
    const KIND: &'static str;
    const NAMES: &'static [(Self, &'static str)];
    fn number(self) -> u8;
    fn of(number: u8) -> Self;

    fn name(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(id, _)| *id == self).map(|(_, name)| *name)
    }

    fn from_text(text: &str) -> Option<Self> {
        let named = Self::NAMES.iter().find(|(_, name)| *name == text).map(|(id, _)| *id);
        named.or_else(|| text.parse().ok().map(Self::of))
    }

    fn to_text(self) -> String {
        self.name().map_or_else(|| self.number().to_string(), str::to_owned)
    }
}

impl Named for FilterId {
    const KIND: &'static str = "filter";
    const NAMES: &'static [(Self, &'static str)] = &FILTERS;

    fn number(self) -> u8 {
        self.0
    }

    fn of(number: u8) -> Self {
        Self(number)
    }
}

impl Named for CodecId {
    const KIND: &'static str = "codec";
    const NAMES: &'static [(Self, &'static str)] = &CODECS;

    fn number(self) -> u8 {
        self.0
    }

    fn of(number: u8) -> Self {
        Self(number)
    }
}

fn serialize_id<I: Named, S: Serializer>(id: I, serializer: S) -> Result<S::Ok, S::Error> {
    match id.name().filter(|_| serializer.is_human_readable()) {
        Some(name) => serializer.serialize_str(name),
        None => serializer.serialize_u8(id.number()),
    }
}

fn deserialize_id<'de, I: Named, D: Deserializer<'de>>(deserializer: D) -> Result<I, D::Error> {
    struct IdVisitor<I>(std::marker::PhantomData<I>);

    impl<I: Named> Visitor<'_> for IdVisitor<I> {
        type Value = I;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "the name of a {} or an id, 0 to 255", I::KIND)
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<I, E> {
            let id =
                u8::try_from(number).map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(number), &self))?;
            Ok(I::of(id))
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<I, E> {
            I::from_text(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
        }
    }

    let visitor = IdVisitor(std::marker::PhantomData);
    match deserializer.is_human_readable() {
        true => deserializer.deserialize_any(visitor),
        false => deserializer.deserialize_u8(visitor),
    }
}

/// A name such as `shuffle` where people read it, and the number otherwise or if it has no name.
impl Serialize for FilterId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_id(*self, serializer)
    }
}

/// A name or a number where people write it, a number otherwise.
impl<'de> Deserialize<'de> for FilterId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_id(deserializer)
    }
}

/// A name such as `zstd` where people read it, and the number otherwise or if it has no name.
impl Serialize for CodecId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_id(*self, serializer)
    }
}

/// A name or a number where people write it, a number otherwise.
impl<'de> Deserialize<'de> for CodecId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_id(deserializer)
    }
}

/// `trunc_prec=10` or `shuffle` where people read it, id and byte of metadata otherwise.
impl Serialize for FilterSlot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return (self.id.0, self.meta).serialize(serializer);
        }
        match self.meta {
            0 => serializer.serialize_str(&self.id.to_text()),
            meta => serializer.collect_str(&format_args!("{}={meta}", self.id.to_text())),
        }
    }
}

/// What the command takes for `--filter`, but parameters, where people write it; id and byte of metadata otherwise.
impl<'de> Deserialize<'de> for FilterSlot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            let (id, meta) = <(u8, u8)>::deserialize(deserializer)?;
            return Ok(Self { id: FilterId(id), meta });
        }
        let text = String::deserialize(deserializer)?;
        let parse = || {
            let (id, meta) = text.split_once('=').unwrap_or((&text, "0"));
            Some(Self { id: FilterId::from_text(id)?, meta: meta.parse().ok()? })
        };
        let expected = &"a filter by name or id, with `=` and its byte of metadata if that is not 0";
        parse().ok_or_else(|| D::Error::invalid_value(serde::de::Unexpected::Str(&text), expected))
    }
}

/// A list of slots where people read it, without the empty ones in front: `["shuffle"]` is shuffle in the last slot,
/// where [`FilterSlots::single`] has it. Six slots otherwise.
impl Serialize for FilterSlots {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return self.0.serialize(serializer);
        }
        let empty = self.0.iter().take_while(|slot| **slot == FilterSlot::default()).count();
        self.0[empty..].serialize(serializer)
    }
}

/// Fewer than six slots are the last ones, where people write them.
impl<'de> Deserialize<'de> for FilterSlots {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return <[FilterSlot; SLOTS]>::deserialize(deserializer).map(Self);
        }
        let given = Vec::<FilterSlot>::deserialize(deserializer)?;
        let mut slots = Self::NONE;
        let first = SLOTS.checked_sub(given.len());
        let first = first.ok_or_else(|| D::Error::invalid_length(given.len(), &"at most six filters"))?;
        slots.0[first..].copy_from_slice(&given);
        Ok(slots)
    }
}

/// A map of names and values, both text.
impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = BTreeMap::<String, String>::deserialize(deserializer)?;
        Ok(map.iter().fold(Self::default(), |params, (name, value)| params.with(name, value)))
    }
}

/// What [`PluginParams`] has, with names.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PluginParamsRepr {
    codec: Option<(CodecId, Params)>,
    /// Slot, filter and its parameters.
    filters: Vec<(u8, FilterId, Params)>,
}

/// The codec with its parameters, and the filters, each with its slot.
impl Serialize for PluginParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (codec, filters) = self.subjects();
        let of_codec = |id| Some((id, self.of_codec(id)?.clone()));
        let of_filter = |(slot, id)| Some((slot, id, self.of_filter(slot, id)?.clone()));
        let filters = filters.filter_map(of_filter).collect();
        PluginParamsRepr { codec: codec.and_then(of_codec), filters }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PluginParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let repr = PluginParamsRepr::deserialize(deserializer)?;
        let mut params = Self::default();
        if let Some((id, of_codec)) = repr.codec {
            params = params.codec(id, of_codec);
        }
        for (slot, id, of_filter) in repr.filters {
            if usize::from(slot) >= SLOTS {
                let found = serde::de::Unexpected::Unsigned(slot.into());
                return Err(D::Error::invalid_value(found, &"a slot, 0 to 5"));
            }
            params = params.filter(slot, id, of_filter);
        }
        Ok(params)
    }
}
