//! A metalayer with the file that holds its content.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::CliError;

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
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                Ok(Self { name: name.to_owned(), path: path.into() })
            }
            _ => Err("expected NAME=FILE".into()),
        }
    }
}
