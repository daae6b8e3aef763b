//! Errors and their exit status.

use std::error::Error;
use std::io;

use oxiblosc::{Chain, ErrorKind};
use thiserror::Error;

/// What to do where a filter or codec is missing.
pub(crate) const PLUGIN_ADVICE: &str =
    "--plugin loads it from a shared library, and `oxiblosc plugins` lists what is there";
/// What to do about a damaged frame.
pub(crate) const RECOVER_ADVICE: &str = "`oxiblosc recover` saves what is left of it";

/// Why a command failed.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// The command line asks for something that does not exist, or contradicts itself.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read or written.
    #[error("{name}")]
    Io {
        /// The name of the file or stream.
        name: String,
        source: io::Error,
    },
    /// The content of a file is invalid.
    #[error("{name}")]
    Data {
        /// The name of the file or stream.
        name: String,
        source: Box<dyn Error + Send + Sync>,
        /// What to do about it.
        advice: Option<&'static str>,
    },
    /// Data could not be verified, because a filter or codec is missing. Nothing else is wrong with it.
    #[error("{name}: {reason}")]
    NotVerified {
        /// The name of the file or stream.
        name: String,
        /// What has not been verified, and what that takes.
        reason: String,
    },
    /// What has been compared differs; what differs has been printed.
    #[error("different")]
    Different,
    /// A comparison has no result, for which the status must be another one than for a difference.
    #[error(transparent)]
    NotCompared(Box<CliError>),
    /// The reader of standard output has closed it.
    #[error("broken pipe")]
    BrokenPipe,
}

impl CliError {
    /// An I/O error on the file called `name`.
    pub(crate) fn io(name: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { name: name.into(), source }
    }

    /// An error in the content of the file called `name`.
    pub(crate) fn data<E: Into<Box<dyn Error + Send + Sync>>>(name: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |source| Self::Data { name: name.into(), source: source.into(), advice: None }
    }

    /// The same error with what to do about it, unless it says that itself.
    pub(crate) fn with_advice(mut self, words: &'static str) -> Self {
        if let Self::Data { advice, source, .. } = &mut self
            && !one_line(&**source).contains("`oxiblosc")
        {
            *advice = Some(words);
        }
        self
    }

    /// The error in one line: what happened, and what to do about it.
    pub(crate) fn message(&self) -> String {
        let what = one_line(self);
        match self {
            // What the library says is meant for programs.
            Self::Io { name, .. } | Self::Data { name, .. } if ErrorKind::of(self) == ErrorKind::Replaced => {
                format!("{name}: it was changed while it was read: run the command again")
            }
            Self::Data { advice: Some(advice), .. } => format!("{what}; {advice}"),
            Self::NotVerified { .. } => format!("{what}; {PLUGIN_ADVICE}"),
            Self::NotCompared(error) => error.message(),
            _ => what,
        }
    }

    /// An error of writing to standard output, where a broken pipe is not worth a message.
    pub(crate) fn stdout(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Io { name: "standard output".into(), source },
        }
    }

    /// Whether there is nothing more to say.
    pub(crate) fn is_silent(&self) -> bool {
        match self {
            // It has been printed why.
            Self::NotCompared(error) => error.is_silent(),
            error => matches!(error, Self::BrokenPipe | Self::Different),
        }
    }

    /// The exit status of the command.
    pub(crate) fn status(&self) -> u8 {
        match self {
            // As shells report it for programs that SIGPIPE ends: 128 plus its number.
            Self::BrokenPipe => 141,
            Self::Io { .. } | Self::Data { .. } | Self::Different => 1,
            Self::Usage(_) | Self::NotCompared(_) => 2,
            Self::NotVerified { .. } => 3,
        }
    }
}

/// The error and its sources, in one line.
pub(crate) fn one_line(error: &dyn Error) -> String {
    in_one_line(&Chain(error).to_string())
}

/// The text without line breaks: messages of libraries may have several lines, and file names may contain anything.
pub(crate) fn in_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Error)]
    enum Layer {
        #[error("inner at offset 7")]
        Inner,
        #[error("quoting: {0}")]
        Quoting(#[source] Box<Layer>),
        #[error("silent\nabout it")]
        Silent(#[source] Box<Layer>),
    }

    #[test]
    fn causes_are_said_once_and_in_one_line() {
        let error = Layer::Silent(Box::new(Layer::Quoting(Box::new(Layer::Inner))));
        let error = CliError::data::<Layer>("a.b2frame")(error);
        assert_eq!(one_line(&error), "a.b2frame: silent about it: quoting: inner at offset 7");
        assert_eq!(error.status(), 1);
    }
}
