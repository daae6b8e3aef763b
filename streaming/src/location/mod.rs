//! Where a frame is, in one string: a path or a URL.
//!
//! | written as | what it is | credentials and settings |
//! |---|---|---|
//! | `a/path`, `file:///a/path` | a file, or the directory of a sparse frame | |
//! | `s3://bucket/key` | an object in S3 or something like it | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_SKIP_SIGNATURE` … |
//! | `gs://bucket/key` | in Google Cloud Storage | `GOOGLE_SERVICE_ACCOUNT`, `GOOGLE_APPLICATION_CREDENTIALS` … |
//! | `az://container/key` | in Azure Blob Storage | `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY` … |
//! | `http://host/path?query`, `https://…` | behind a web server that serves ranges; the query, say of a signed URL, is sent with every request | |
//!
//! S3 is tested against servers of two kinds, HTTP against one that serves ranges and some that do not (a server that
//! answers a range with the whole file is refused). For GCS and Azure the tests cover that URLs lead to the right
//! stores; what those do is up to the crate `object_store`.
//!
//! Each kind of URL needs the feature of its own: `aws`, `gcp`, `azure` and `http`. The crate `object_store` documents all
//! variables. Keys of S3, GCS and Azure are
//! taken as they stand, those of HTTP are percent-encoded. An endpoint given by `AWS_ENDPOINT_URL` may be plain HTTP. A
//! variable of S3 that is empty counts as not set.
//!
//! A request fails if the server is silent for a minute; as long as bytes arrive, it may take an hour. The variables
//! `AWS_READ_TIMEOUT`, `AWS_TIMEOUT` and `AWS_CONNECT_TIMEOUT` change that (`GOOGLE_…`, `AZURE_…` alike).

#[cfg(feature = "object_store")]
mod object;
#[cfg(feature = "aws")]
mod s3;
#[cfg(feature = "object_store")]
mod stores;

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::source::{FileSource, RangeSource};

#[cfg(feature = "object_store")]
pub use object::ObjectLocation;
#[cfg(feature = "object_store")]
use object::remote;

/// Where a frame is, or will be.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Location {
    /// A file or directory.
    Local(PathBuf),
    /// An object, or the prefix of a sparse frame.
    #[cfg(feature = "object_store")]
    Object(ObjectLocation),
}

/// Why a string is not a location.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LocationError {
    /// The scheme of the URL is not known.
    #[error("{url}: URLs begin with file, s3, gs, az, http or https, not {scheme}")]
    Scheme {
        /// The URL.
        url: String,
        /// What it begins with.
        scheme: String,
    },
    /// The URL names an object store of a kind that this program was built without.
    #[error("{url}: this program has been built without the feature `{feature}`")]
    NotBuilt {
        /// The URL.
        url: String,
        /// The feature of this crate to be turned on.
        feature: &'static str,
    },
    /// The URL is incomplete or invalid.
    #[error("{url}: {reason}")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong.
        reason: String,
    },
}

impl From<LocationError> for io::Error {
    fn from(error: LocationError) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

impl Location {
    /// Parses a path or a URL, without accessing it.
    ///
    /// # Errors
    /// When the scheme of the URL is not known, or the URL is incomplete. Invalid settings and credentials are reported
    /// when the place is used.
    pub fn parse(text: &str) -> Result<Self, LocationError> {
        let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) else {
            return Ok(Self::Local(text.into()));
        };
        match scheme.to_ascii_lowercase().as_str() {
            "file" => {
                let path = rest.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(rest);
                let reason = || "a file URL has three slashes: file:///path".to_owned();
                let absolute = path.starts_with('/').then_some(path);
                let path = absolute.ok_or_else(|| LocationError::Url { url: text.to_owned(), reason: reason() })?;
                Ok(Self::Local(percent_decode(path).into()))
            }
            "s3" | "s3a" => remote(text, Service::S3),
            "gs" => remote(text, Service::Gcs),
            "az" | "azure" | "abfs" | "abfss" | "adl" => remote(text, Service::Azure),
            "http" | "https" => remote(text, Service::Http),
            _ => Err(LocationError::Scheme { url: text.to_owned(), scheme: scheme.to_owned() }),
        }
    }

    /// Whether it is across a network.
    pub fn is_remote(&self) -> bool {
        !matches!(self, Self::Local(_))
    }

    /// Opens what is there for reading, be it a contiguous frame or a sparse one.
    ///
    /// # Errors
    /// When there is nothing; [`io::ErrorKind::InvalidInput`] when the name of the bucket, or an environment variable,
    /// is invalid.
    pub async fn source(&self) -> io::Result<Box<dyn RangeSource>> {
        Ok(match self {
            Self::Local(path) => Box::new(FileSource::open(path).await?),
            #[cfg(feature = "object_store")]
            Self::Object(object) => Box::new(object.source().await?),
        })
    }
}

/// A kind of object store that URLs name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    S3,
    Gcs,
    Azure,
    Http,
}

impl Service {
    /// The feature that this program needs for it.
    fn feature(self) -> &'static str {
        match self {
            Self::S3 => "aws",
            Self::Gcs => "gcp",
            Self::Azure => "azure",
            Self::Http => "http",
        }
    }
}

#[cfg(not(feature = "object_store"))]
fn remote(url: &str, service: Service) -> Result<Location, LocationError> {
    Err(LocationError::NotBuilt { url: url.to_owned(), feature: service.feature() })
}

/// A letter, then letters, digits and `+-.`; more than one of them, as `c://` is a path of Windows.
fn is_scheme(text: &str) -> bool {
    text.len() > 1
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let hex = behind.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_urls() {
        let local = |text: &str| match Location::parse(text) {
            Ok(Location::Local(path)) => path,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(local("a/b.b2nd"), PathBuf::from("a/b.b2nd"));
        assert_eq!(local("a:b"), PathBuf::from("a:b"));
        assert_eq!(local("c://x"), PathBuf::from("c://x"));
        assert_eq!(local("file:///a%20b/%c3%bc%"), PathBuf::from("/a b/\u{fc}%"));
        assert_eq!(local("file://localhost/a"), PathBuf::from("/a"));
        for (bad, part) in [("ftp://x/y", "not ftp"), ("file://x", "three slashes")] {
            let error = Location::parse(bad).unwrap_err().to_string();
            assert!(error.contains(part) && error.starts_with(bad), "{error}");
        }
    }

    #[test]
    fn what_is_not_built_names_its_feature() {
        for (url, built, feature) in [
            ("s3://b/k", cfg!(feature = "aws"), "`aws`"),
            ("gs://b/k", cfg!(feature = "gcp"), "`gcp`"),
            ("az://b/k", cfg!(feature = "azure"), "`azure`"),
            ("https://h/k", cfg!(feature = "http"), "`http`"),
        ] {
            match Location::parse(url) {
                Ok(location) => assert!(built && location.is_remote(), "{url}"),
                Err(error) => assert!(!built && error.to_string().contains(feature), "{error}"),
            }
        }
    }
}
