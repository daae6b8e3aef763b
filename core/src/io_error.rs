//! The errors of this crate as errors of `std::io`, for programs that use `?` in functions of readers and writers.
//!
//! Nothing here does any I/O.

use std::io;

use crate::chunk::{ChunkError, StreamError};
use crate::codec::CodecError;
use crate::filter::FilterError;
use crate::frame::{FrameError, FrameWriteError};
use crate::nd::NdError;
use crate::pipeline::PipelineError;
use crate::plugin_params::ParamError;
use crate::registry::RegistryError;

/// A conversion that keeps the error inside and asks a function for the kind.
macro_rules! inside {
    ($($error:ty, $kind:expr, $doc:literal;)*) => {$(
        impl From<$error> for io::Error {
            #[doc = $doc]
            fn from(error: $error) -> Self {
                let kind: fn(&$error) -> io::ErrorKind = $kind;
                Self::new(kind(&error), error)
            }
        }
    )*};
}

inside! {
    ChunkError, of_chunk, "What the caller asked for wrongly as [`io::ErrorKind::InvalidInput`], what there is no memory for \
        as [`io::ErrorKind::OutOfMemory`], what takes another plugin or other limits as [`io::ErrorKind::Other`], and \
        damage as [`io::ErrorKind::InvalidData`], with the error inside.";
    StreamError, |_| io::ErrorKind::InvalidData, "As [`io::ErrorKind::InvalidData`], with the error inside.";
    CodecError, |_| io::ErrorKind::InvalidData, "As [`io::ErrorKind::InvalidData`], with the error inside.";
    FilterError, |_| io::ErrorKind::InvalidData, "As [`io::ErrorKind::InvalidData`], with the error inside.";
    PipelineError, of_pipeline, "A missing filter as [`io::ErrorKind::Other`], one that failed as \
        [`io::ErrorKind::InvalidData`], with the error inside.";
    FrameError, of_frame, "As [`io::ErrorKind::InvalidData`], or as what a chunk in it has, with the error inside.";
    FrameWriteError, |_| io::ErrorKind::InvalidInput, "As [`io::ErrorKind::InvalidInput`], with the error inside.";
    NdError, of_array, "A damaged metalayer as [`io::ErrorKind::InvalidData`], all else as \
        [`io::ErrorKind::InvalidInput`], with the error inside.";
    ParamError, |_| io::ErrorKind::InvalidInput, "As [`io::ErrorKind::InvalidInput`], with the error inside.";
    RegistryError, |_| io::ErrorKind::Other, "As [`io::ErrorKind::Other`], with the error inside.";
}

fn of_chunk(error: &ChunkError) -> io::ErrorKind {
    match error {
        ChunkError::Memory { .. } => io::ErrorKind::OutOfMemory,
        ChunkError::Parameter { .. }
        | ChunkError::Configure { .. }
        | ChunkError::PluginParams { .. }
        | ChunkError::Destination { .. }
        | ChunkError::Reference { .. }
        | ChunkError::OutOfRange { .. } => io::ErrorKind::InvalidInput,
        ChunkError::Codec(_) | ChunkError::Limit { .. } => io::ErrorKind::Other,
        ChunkError::Filters(error) => of_pipeline(error),
        ChunkError::Pipeline { source, .. } => of_pipeline(source),
        ChunkError::Stream { source: StreamError::Registry(_), .. } => io::ErrorKind::Other,
        _ => io::ErrorKind::InvalidData,
    }
}

fn of_pipeline(error: &PipelineError) -> io::ErrorKind {
    match error {
        PipelineError::Registry { .. } => io::ErrorKind::Other,
        _ => io::ErrorKind::InvalidData,
    }
}

fn of_frame(error: &FrameError) -> io::ErrorKind {
    match error {
        FrameError::NoSuchChunk { .. } => io::ErrorKind::InvalidInput,
        FrameError::Chunk { source, .. } => of_chunk(source),
        FrameError::Index { source, .. } | FrameError::Vlmetalayer { source, .. } => of_chunk(source),
        _ => io::ErrorKind::InvalidData,
    }
}

fn of_array(error: &NdError) -> io::ErrorKind {
    match error {
        NdError::Truncated { .. } | NdError::Marker { .. } | NdError::DtypeText { .. } | NdError::Frame { .. } => {
            io::ErrorKind::InvalidData
        }
        _ => io::ErrorKind::InvalidInput,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkHeader;

    #[test]
    fn the_error_is_inside() {
        let read = || -> io::Result<()> {
            ChunkHeader::parse(&[5, 1, 1])?;
            Ok(())
        };
        let error = read().expect_err("three bytes are no header");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let inner = error.downcast::<ChunkError>().expect("the error of the chunk");
        assert!(matches!(inner, ChunkError::Truncated { .. }), "{inner}");
    }

    #[test]
    fn a_wrong_request_is_not_damage() {
        let error = ChunkError::parameter("level", 10, "0..=9");
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidInput);
        let error: io::Error = NdError::ItemSize.into();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
