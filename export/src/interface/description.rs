//! What a library says of its plugin.

use oxiblosc_core::codec::CodecTraits;
use oxiblosc_core::filter::FilterTraits;
use oxiblosc_core::plugin::{PluginKind, Provider};
use oxiblosc_core::plugin_params::ParamInfo;
use oxiblosc_core::registry::{Claim, CodecInfo, FilterInfo};
use oxiblosc_core::{CodecId, FilterId};

use super::Slice;

/// The fields of [`CodecInfo`] or [`FilterInfo`], without the parameters, which are asked for one by one.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Description {
    name: Slice<u8>,
    crate_name: Slice<u8>,
    crate_version: Slice<u8>,
    /// One bit for each fact.
    traits: u32,
    kind: u8,
    id: u8,
    claim: u8,
    /// Of codecs: the version of their format.
    version: u8,
    /// Of codecs: the highest level at which blocks are split; [`Description::NEVER`] for never.
    split_up_to_level: u8,
}

/// What is wrong with a description.
pub(crate) type Invalid = &'static str;

const CLAIMS: [Claim; 4] = [Claim::Builtin, Claim::User, Claim::Assigned, Claim::Override];

/// The facts of filters, each with its bit.
fn filter_facts(traits: &mut FilterTraits) -> [&mut bool; 7] {
    [
        &mut traits.lossy,
        &mut traits.forward_only,
        &mut traits.keeps_zeros,
        &mut traits.needs_reference,
        &mut traits.groups_bytes,
        &mut traits.positional,
        &mut traits.needs_array,
    ]
}

/// The facts of codecs, each with its bit.
fn codec_facts(traits: &mut CodecTraits) -> [&mut bool; 8] {
    [
        &mut traits.high_ratio,
        &mut traits.dict,
        &mut traits.encode,
        &mut traits.lossy,
        &mut traits.positional,
        &mut traits.needs_array,
        &mut traits.ranges,
        &mut traits.prefixes,
    ]
}

fn to_bits<const N: usize>(facts: [&mut bool; N]) -> u32 {
    facts.iter().enumerate().map(|(bit, fact)| u32::from(**fact) << bit).sum()
}

fn set_bits<const N: usize>(facts: [&mut bool; N], bits: u32) -> Result<(), Invalid> {
    if bits >> N != 0 {
        return Err("a fact about it is not known here");
    }
    facts.into_iter().enumerate().for_each(|(bit, fact)| *fact = bits >> bit & 1 == 1);
    Ok(())
}

impl Description {
    const FILTER: u8 = 0;
    const CODEC: u8 = 1;
    const NEVER: u8 = u8::MAX;

    pub(crate) const EMPTY: Self = Self {
        name: Slice::NONE,
        crate_name: Slice::NONE,
        crate_version: Slice::NONE,
        traits: 0,
        kind: 0,
        id: 0,
        claim: 0,
        version: 0,
        split_up_to_level: 0,
    };

    pub(crate) fn of_filter(info: &FilterInfo) -> Self {
        let mut traits = info.traits;
        Self {
            kind: Self::FILTER,
            id: info.id.0,
            traits: to_bits(filter_facts(&mut traits)),
            ..Self::of(info.name, info.provider, info.claim)
        }
    }

    pub(crate) fn of_codec(info: &CodecInfo) -> Self {
        let mut traits = info.traits;
        Self {
            kind: Self::CODEC,
            id: info.id.0,
            traits: to_bits(codec_facts(&mut traits)),
            version: traits.version,
            split_up_to_level: traits.split_up_to_level.unwrap_or(Self::NEVER),
            ..Self::of(info.name, info.provider, info.claim)
        }
    }

    fn of(name: &'static str, provider: &'static Provider, claim: Claim) -> Self {
        // One that is not among them is found invalid on the other side.
        let claim = CLAIMS.iter().position(|&known| known == claim).unwrap_or(CLAIMS.len());
        Self {
            name: Slice::new(name.as_bytes()),
            crate_name: Slice::new(provider.name.as_bytes()),
            crate_version: Slice::new(provider.version.as_bytes()),
            claim: claim as u8,
            ..Self::EMPTY
        }
    }

    pub(crate) fn kind(&self) -> Result<PluginKind, Invalid> {
        match self.kind {
            Self::FILTER => Ok(PluginKind::Filter),
            Self::CODEC => Ok(PluginKind::Codec),
            _ => Err("it is neither a filter nor a codec"),
        }
    }

    /// # Safety
    /// The texts are there for good: the library is never unloaded.
    pub(crate) unsafe fn filter(&self, params: Vec<ParamInfo>) -> Result<FilterInfo, Invalid> {
        let mut traits = FilterTraits::LOSSLESS;
        set_bits(filter_facts(&mut traits), self.traits)?;
        traits.params = params.leak();
        // SAFETY: by the contract.
        let (name, provider) = unsafe { self.texts()? };
        Ok(FilterInfo::new(FilterId(self.id), name, traits, provider).claiming(self.claim()?))
    }

    /// # Safety
    /// The texts are there for good: the library is never unloaded.
    pub(crate) unsafe fn codec(&self, params: Vec<ParamInfo>) -> Result<CodecInfo, Invalid> {
        let mut traits = CodecTraits::PLAIN;
        set_bits(codec_facts(&mut traits), self.traits)?;
        traits.params = params.leak();
        traits.version = self.version;
        traits.split_up_to_level = (self.split_up_to_level != Self::NEVER).then_some(self.split_up_to_level);
        // SAFETY: by the contract.
        let (name, provider) = unsafe { self.texts()? };
        Ok(CodecInfo::new(CodecId(self.id), name, traits, provider).claiming(self.claim()?))
    }

    /// # Safety
    /// The texts are there for good.
    unsafe fn texts(&self) -> Result<(&'static str, &'static Provider), Invalid> {
        let text = |bytes| str::from_utf8(bytes).map_err(|_| "its name or version is not UTF-8");
        // SAFETY: by the contract.
        let [name, crate_name, version] = unsafe { [self.name.get(), self.crate_name.get(), self.crate_version.get()] };
        let (name, crate_name, version) = (text(name)?, text(crate_name)?, text(version)?);
        // As the library, it stays.
        Ok((name, Box::leak(Box::new(Provider { name: crate_name, version }))))
    }

    fn claim(&self) -> Result<Claim, Invalid> {
        CLAIMS.get(usize::from(self.claim)).copied().ok_or("its claim to the id is not known here")
    }
}

#[cfg(test)]
mod tests {
    use oxiblosc_core::provider;

    use super::*;

    #[test]
    fn a_description_arrives_as_it_was_sent() {
        let filters = [
            FilterTraits::LOSSLESS,
            FilterTraits::FORWARD_ONLY.with_reference(),
            FilterTraits::LOSSLESS.grouping_bytes().positional().for_arrays(),
        ];
        for traits in filters {
            for claim in CLAIMS {
                let sent = FilterInfo::new(FilterId(200), "made", traits, provider!()).claiming(claim);
                // SAFETY: string constants.
                let found = unsafe { Description::of_filter(&sent).filter(Vec::new()) }.unwrap();
                assert_eq!(format!("{found:?}"), format!("{sent:?}"));
            }
        }
        let codecs = [
            CodecTraits::PLAIN,
            CodecTraits::PLAIN.high_ratio().split_up_to(0).with_version(7),
            CodecTraits::PLAIN
                .split_up_to(9)
                .with_dict()
                .decode_only()
                .lossy()
                .positional()
                .for_arrays()
                .with_ranges()
                .with_prefixes(),
        ];
        for traits in codecs {
            let sent = CodecInfo::new(CodecId(200), "made", traits, provider!());
            // SAFETY: string constants.
            let found = unsafe { Description::of_codec(&sent).codec(Vec::new()) }.unwrap();
            assert_eq!(format!("{found:?}"), format!("{sent:?}"));
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let info = CodecInfo::new(CodecId(200), "made", CodecTraits::PLAIN, provider!());
        let good = Description::of_codec(&info);
        let refused = |bad: Description| {
            // SAFETY: string constants.
            unsafe { bad.codec(Vec::new()) }.unwrap_err()
        };
        assert_eq!(refused(Description { traits: 1 << 31, ..good }), "a fact about it is not known here");
        assert_eq!(refused(Description { claim: 4, ..good }), "its claim to the id is not known here");
        assert_eq!(refused(Description { name: Slice::new(&[0xFF]), ..good }), "its name or version is not UTF-8");
        assert!(Description { kind: 2, ..good }.kind().is_err());
    }
}
