//! An error with all of its causes in one line.

use std::error::Error;
use std::fmt;

/// An error and what caused it, as `error: cause: cause of the cause`.
///
/// The errors of these crates describe only their own level: the cause is their [`source`](Error::source) and is not
/// quoted in the message. Print the chain when you show an error to people.
///
/// ```
/// use oxiblosc_core::Chain;
///
/// let error = std::io::Error::other("the disk is on fire");
/// assert_eq!(Chain(&error).to_string(), "the disk is on fire");
/// ```
pub struct Chain<'a>(pub &'a (dyn Error + 'a));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.0.to_string();
        f.write_str(&said)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let message = error.to_string();
            // Errors of other crates may quote their cause. Do not print it twice.
            if !said.contains(&message) {
                write!(f, ": {message}")?;
                said = message;
            }
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use thiserror::Error;

    use super::*;

    #[derive(Debug, Error)]
    enum Layer {
        #[error("inner")]
        Inner,
        #[error("quoting: {0}")]
        Quoting(#[source] Box<Layer>),
        #[error("silent")]
        Silent(#[source] Box<Layer>),
    }

    #[test]
    fn each_cause_is_said_once() {
        let quoting = Layer::Quoting(Box::new(Layer::Inner));
        assert_eq!(Chain(&quoting).to_string(), "quoting: inner");
        let error = Layer::Silent(Box::new(Layer::Silent(Box::new(quoting))));
        assert_eq!(format!("{:?}", Chain(&error)), "silent: quoting: inner");
    }
}
