//! Inputs and outputs named on the command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser, ValueParser, ValueParserFactory};
use oxiblosc::location::{Location, LocationError};

use crate::remote::Remote;

/// A file, a directory, a remote object or prefix, or one of the standard streams.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Standard,
    Path(PathBuf),
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "no URL can be parsed"))]
    Remote(Remote),
}

impl Source {
    /// Its name in messages, as an input.
    pub(crate) fn name(&self) -> String {
        self.name_or("standard input")
    }

    /// Its name in messages, as an output.
    pub(crate) fn output_name(&self) -> String {
        self.name_or("standard output")
    }

    /// Whether both are the same file or directory, even under different names, or the same object.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(a), Self::Path(b)) => is_same(a, b),
            (Self::Remote(a), Self::Remote(b)) => a.to_string() == b.to_string(),
            _ => false,
        }
    }

    fn name_or(&self, stream: &str) -> String {
        match self {
            Self::Standard => stream.into(),
            Self::Path(path) => path.display().to_string(),
            Self::Remote(object) => object.to_string(),
        }
    }

    fn parse(name: OsString) -> Result<Self, LocationError> {
        // URLs are text.
        let Some(text) = name.to_str() else { return Ok(Self::Path(name.into())) };
        if text == "-" {
            return Ok(Self::Standard);
        }
        Ok(match Location::parse(text)? {
            #[cfg(feature = "remote")]
            Location::Object(object) => Self::Remote(object.into()),
            Location::Local(path) => Self::Path(path),
            // There are no others.
            _ => Self::Path(name.into()),
        })
    }
}

#[cfg(unix)]
fn is_same(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let id = |path: &Path| path.metadata().ok().filter(|m| m.is_file() || m.is_dir()).map(|m| (m.dev(), m.ino()));
    id(a).is_some_and(|a| id(b) == Some(a))
}

#[cfg(not(unix))]
fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

impl ValueParserFactory for Source {
    type Parser = ValueParser;

    fn value_parser() -> ValueParser {
        ValueParser::new(OsStringValueParser::new().try_map(Self::parse))
    }
}
