//! A metalayer with the file that holds its content.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use oxiblosc::frame::{Checksums, Sequential};
use oxiblosc::nd::ArrayMeta;

use crate::error::CliError;

/// Names that must not be written by hand, since readers rely on them.
const RESERVED: [(&str, &str); 4] = [
    (ArrayMeta::NAME, "says that the frame is an array: use --dtype and --shape"),
    (ArrayMeta::LEGACY_NAME, "says that the frame is an array: use --dtype and --shape"),
    (Sequential::NAME, "describes the order of the chunks: use --layout open"),
    (Checksums::NAME, "holds the checksums: use --checksum"),
];

/// A metalayer by name, with the file that holds its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) name: String,
    path: PathBuf,
}

impl Layer {
    /// The content, as it is in the file.
    pub(crate) fn content(&self) -> Result<Vec<u8>, CliError> {
        fs::read(&self.path).map_err(CliError::io(self.path.display().to_string()))
    }
}

impl FromStr for Layer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.split_once('=').map(|(name, _)| name);
        if let Some((name, meaning)) = RESERVED.into_iter().find(|(reserved, _)| name == Some(reserved)) {
            return Err(format!("a metalayer called {name} {meaning}"));
        }
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                Ok(Self { name: name.to_owned(), path: path.into() })
            }
            _ => Err("expected NAME=FILE".into()),
        }
    }
}
