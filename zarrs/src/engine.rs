//! Chunks encoded and decoded, and what zarrs has to know about them.

use std::borrow::Cow;

use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, ChunkHeader, EncodeParams};
use oxiblosc_core::registry::RegistryError;
use oxiblosc_core::{Chain, Inline, Registry};
use thiserror::Error;
use zarrs_codec::{ArrayBytesRaw, BytesRepresentation, CodecError};

/// Why a configuration cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// A number is not one that the codec takes.
    #[error("{field} is {found}, expected {expected}")]
    Field {
        /// The field of the configuration.
        field: &'static str,
        /// Its value.
        found: u64,
        /// What it may be.
        expected: &'static str,
    },
    /// More filters than a chunk has places for.
    #[error("there are {found} filters, at most {most} fit")]
    Filters {
        /// How many there are.
        found: usize,
        /// How many fit.
        most: usize,
    },
    /// A codec or filter is not known.
    #[error(transparent)]
    Plugin(#[from] RegistryError),
    /// The parameters do not go together.
    #[error(transparent)]
    Params(#[from] ChunkError),
}

/// The codecs and filters that are linked into the program.
///
/// # Errors
/// When two of them have one id.
pub(crate) fn registry() -> Result<&'static Registry, RegistryError> {
    oxiblosc_plugins::link();
    Registry::linked()
}

/// Checks that chunks can be encoded with these parameters.
///
/// # Errors
/// When they do not go together, or a codec or filter is not known.
pub(crate) fn check(params: &EncodeParams) -> Result<(), ConfigurationError> {
    if params.level > 9 {
        let found = params.level.into();
        return Err(ConfigurationError::Field { field: "clevel", found, expected: "0 to 9" });
    }
    ChunkEncoder::new(params, registry()?)?;
    Ok(())
}

/// The error of a codec, which has room for a text and no more.
fn failed(error: &dyn std::error::Error) -> CodecError {
    CodecError::Other(Chain(error).to_string())
}

/// Encodes one chunk.
pub(crate) fn encode<'a>(data: &[u8], params: &EncodeParams) -> Result<ArrayBytesRaw<'a>, CodecError> {
    let registry = registry().map_err(|e| failed(&e))?;
    let mut encoder = ChunkEncoder::new(params, registry).map_err(|e| failed(&e))?;
    let chunk = encoder.encode(data, &ChunkContext::default(), &Inline).map_err(|e| failed(&e))?;
    Ok(Cow::Owned(chunk))
}

/// Decodes a chunk of Blosc 1 or Blosc2. Its header must state the length that Zarr expects, so that no file makes this
/// allocate more.
pub(crate) fn decode<'a>(chunk: &[u8], expected: &BytesRepresentation) -> Result<ArrayBytesRaw<'a>, CodecError> {
    let header = ChunkHeader::parse(chunk).map_err(|e| failed(&e))?;
    let found = header.nbytes as u64;
    let fits = match expected {
        BytesRepresentation::FixedSize(size) => found == *size,
        BytesRepresentation::BoundedSize(most) => found <= *most,
        BytesRepresentation::UnboundedSize => true,
    };
    if !fits {
        let expected = expected.size().unwrap_or_default();
        return Err(CodecError::Other(format!("the chunk holds {found} bytes, expected {expected}")));
    }
    let mut decoded = Vec::new();
    decoded.try_reserve_exact(header.nbytes).map_err(|e| failed(&e))?;
    decoded.resize(header.nbytes, 0);
    let registry = registry().map_err(|e| failed(&e))?;
    let mut decoder = ChunkDecoder::new(registry);
    decoder.decode_into(chunk, &ChunkContext::default(), &mut decoded, &Inline).map_err(|e| failed(&e))?;
    Ok(Cow::Owned(decoded))
}

/// What encoded chunks may take: a chunk that does not get smaller is stored with a header and a few bytes for each block.
pub(crate) fn encoded_representation(decoded: &BytesRepresentation) -> BytesRepresentation {
    match decoded.size() {
        Some(size) => BytesRepresentation::BoundedSize(size + size / 8 + 4096),
        None => BytesRepresentation::UnboundedSize,
    }
}

/// The parts of a codec that are the same for both.
macro_rules! codec {
    ($codec:ident, $configuration:ident, $name:literal) => {
        zarrs_plugin::impl_extension_aliases!($codec, v3: $name);

        inventory::submit! {
            CodecPluginV3::new::<$codec>()
        }

        impl CodecTraitsV3 for $codec {
            fn create(metadata: &MetadataV3) -> Result<Codec, PluginCreateError> {
                let configuration: $configuration = metadata.to_typed_configuration()?;
                let codec = Self::new(configuration).map_err(|e| PluginCreateError::Other(Chain(&e).to_string()))?;
                Ok(Codec::BytesToBytes(Arc::new(codec)))
            }
        }

        impl CodecTraits for $codec {
            fn as_any(&self) -> &dyn Any {
                self
            }

            fn configuration(&self, _version: ZarrVersion, _options: &CodecMetadataOptions) -> Option<Configuration> {
                match serde_json::to_value(&self.configuration) {
                    Ok(serde_json::Value::Object(fields)) => Some(fields.into()),
                    _ => None,
                }
            }

            fn partial_decoder_capability(&self) -> PartialDecoderCapability {
                PartialDecoderCapability { partial_read: false, partial_decode: false }
            }

            fn partial_encoder_capability(&self) -> PartialEncoderCapability {
                PartialEncoderCapability { partial_encode: false }
            }
        }

        impl BytesToBytesCodecTraits for $codec {
            fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
                self
            }

            fn recommended_concurrency(
                &self,
                _decoded: &BytesRepresentation,
            ) -> Result<RecommendedConcurrency, CodecError> {
                Ok(RecommendedConcurrency::new_maximum(1))
            }

            fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
                engine::encoded_representation(decoded)
            }

            fn encode<'a>(
                &self,
                decoded: ArrayBytesRaw<'a>,
                _options: &CodecOptions,
            ) -> Result<ArrayBytesRaw<'a>, CodecError> {
                engine::encode(&decoded, self.params()?)
            }

            fn decode<'a>(
                &self,
                encoded: ArrayBytesRaw<'a>,
                expected: &BytesRepresentation,
                _options: &CodecOptions,
            ) -> Result<ArrayBytesRaw<'a>, CodecError> {
                engine::decode(&encoded, expected)
            }
        }
    };
}

pub(crate) use codec;
