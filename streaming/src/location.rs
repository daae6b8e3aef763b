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
//! answers a range with the whole file is refused). Of GCS and Azure it is tested that URLs lead to their stores; what
//! these do is the matter of the crate `object_store`.
//!
//! All but paths need the feature `object_store`, whose crate documents all variables. Keys of S3, GCS and Azure are
//! taken as they stand, those of HTTP are percent-encoded. An endpoint given by `AWS_ENDPOINT_URL` may be plain HTTP.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::source::{FileSource, RangeSource};

/// Where a frame is or is to be.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Location {
    /// A file or directory.
    Local(PathBuf),
    /// An object, or the prefix of a sparse frame.
    #[cfg(feature = "object_store")]
    Object(ObjectLocation),
}

/// Why a string is no location.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LocationError {
    /// The URL names a kind of place that is not known.
    #[error("{url}: URLs begin with file, s3, gs, az, http or https, not {scheme}")]
    Scheme {
        /// The URL.
        url: String,
        /// What it begins with.
        scheme: String,
    },
    /// The URL is of an object store, and this program has been built without them.
    #[error("{url}: this program has been built without the feature `object_store`")]
    NotBuilt {
        /// The URL.
        url: String,
    },
    /// The URL does not say what it should.
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
    /// Understands a path or a URL; nothing is asked of the place yet.
    ///
    /// # Errors
    /// When it is a URL of a kind that is not known, or not a complete one, or when its credentials make no sense.
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
            "s3" | "s3a" | "gs" | "az" | "azure" | "abfs" | "abfss" | "adl" | "http" | "https" => remote(text),
            _ => Err(LocationError::Scheme { url: text.to_owned(), scheme: scheme.to_owned() }),
        }
    }

    /// Whether it is across a network.
    pub fn is_remote(&self) -> bool {
        !matches!(self, Self::Local(_))
    }

    /// What is there, to be read: a frame, or a sparse one if that is what it is.
    ///
    /// # Errors
    /// When there is nothing.
    pub async fn source(&self) -> io::Result<Box<dyn RangeSource>> {
        Ok(match self {
            Self::Local(path) => Box::new(FileSource::open(path).await?),
            #[cfg(feature = "object_store")]
            Self::Object(object) => Box::new(object.source().await?),
        })
    }
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

#[cfg(not(feature = "object_store"))]
fn remote(url: &str) -> Result<Location, LocationError> {
    Err(LocationError::NotBuilt { url: url.to_owned() })
}

#[cfg(feature = "object_store")]
pub use object::ObjectLocation;
#[cfg(feature = "object_store")]
use object::remote;

#[cfg(feature = "object_store")]
mod object {
    use std::fmt;
    use std::io;
    use std::sync::Arc;

    use object_store::ObjectStore;
    use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
    use object_store::azure::MicrosoftAzureBuilder;
    use object_store::client::ClientOptions;
    use object_store::gcp::GoogleCloudStorageBuilder;
    use object_store::http::HttpBuilder;
    use object_store::path::Path;

    use super::{Location, LocationError};
    use crate::object::UploadStore;
    use crate::source::ObjectSource;

    /// An object, or the prefix of a sparse frame, and the store that it is in.
    #[derive(Clone)]
    pub struct ObjectLocation {
        url: String,
        store: Arc<dyn ObjectStore>,
        uploads: Option<Arc<dyn UploadStore>>,
        path: Path,
    }

    impl ObjectLocation {
        /// The object at `path` of any store, to be read.
        pub fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
            Self { url: format!("{store}/{path}"), store, uploads: None, path }
        }

        /// The store as one that frames can be written to; `None` for plain HTTP.
        pub fn uploads(&self) -> Option<&Arc<dyn UploadStore>> {
            self.uploads.as_ref()
        }

        /// The store. Its futures need Tokio: see [`spawn`](crate::object::spawn).
        pub fn store(&self) -> &Arc<dyn ObjectStore> {
            &self.store
        }

        /// The key of the object within the store.
        pub fn path(&self) -> &Path {
            &self.path
        }

        /// What is there: an object, or a sparse frame. Unless the URL ends in a slash, which says that it is a sparse
        /// frame, this takes one request.
        ///
        /// # Errors
        /// When there is nothing.
        pub async fn source(&self) -> io::Result<ObjectSource> {
            if self.url.ends_with('/') {
                return Ok(ObjectSource::sparse(Arc::clone(&self.store), self.path.clone()));
            }
            ObjectSource::find(Arc::clone(&self.store), self.path.clone()).await
        }
    }

    impl fmt::Display for ObjectLocation {
        /// The URL, without a query, which may hold a signature.
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.url.split('?').next().unwrap_or_default())
        }
    }

    impl fmt::Debug for ObjectLocation {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "ObjectLocation({self})")
        }
    }

    pub(super) fn remote(url: &str) -> Result<Location, LocationError> {
        let wrong =
            |reason: String| LocationError::Url { url: url.split('?').next().unwrap_or_default().to_owned(), reason };
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let (host, key) = rest.split_once('/').unwrap_or((rest, ""));
        let scheme = scheme.to_ascii_lowercase();
        let is_http = scheme.starts_with("http");
        let (key, query) = match key.split_once('?').filter(|_| is_http) {
            Some((key, query)) => (key, format!("?{query}")),
            None => (key, String::new()),
        };
        if host.is_empty() || host.contains('?') || key.is_empty() {
            return Err(wrong("it names no object".to_owned()));
        }
        let path = if is_http { Path::from_url_path(key) } else { Path::parse(key.trim_end_matches('/')) };
        let path = path.map_err(|e| wrong(e.to_string()))?;
        let stores = match scheme.as_str() {
            "s3" | "s3a" => s3(host).map(both),
            "gs" => GoogleCloudStorageBuilder::from_env().with_bucket_name(host).build().map(both),
            "http" | "https" => {
                let options = ClientOptions::new().with_allow_http(true);
                let builder = HttpBuilder::new().with_url(format!("{scheme}://{host}/{query}"));
                builder.with_client_options(options).build().map(|store| (Arc::new(store) as _, None))
            }
            // The container may come with an account: abfss://container@account.dfs.core.windows.net/key.
            _ => MicrosoftAzureBuilder::from_env().with_url(format!("{scheme}://{host}")).build().map(both),
        };
        let (store, uploads) = stores.map_err(|e| wrong(e.to_string()))?;
        Ok(Location::Object(ObjectLocation { url: url.to_owned(), store, uploads, path }))
    }

    /// One store, to be read from and written to.
    fn both<S: UploadStore>(store: S) -> (Arc<dyn ObjectStore>, Option<Arc<dyn UploadStore>>) {
        let store = Arc::new(store);
        (Arc::clone(&store) as _, Some(store))
    }

    fn s3(bucket: &str) -> Result<AmazonS3, object_store::Error> {
        let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
        let keys = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
        // The more special one counts, as everywhere.
        let endpoint = keys.iter().find_map(|key| builder.get_config_value(key));
        // Whoever names a plain endpoint means it: a server on the same machine or network.
        if endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")) {
            builder = builder.with_allow_http(true);
        }
        builder.build()
    }
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
        if cfg!(not(feature = "object_store")) {
            assert!(Location::parse("s3://b/k").unwrap_err().to_string().contains("feature"));
        }
    }

    #[cfg(feature = "object_store")]
    #[test]
    fn objects() {
        let object = |text: &str| match Location::parse(text) {
            Ok(Location::Object(object)) => object,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(object("s3://bucket/a b/c%20d").path().to_string(), "a b/c%20d");
        assert_eq!(object("http://127.0.0.1:9000/a%20b?token=x").path().to_string(), "a b");
        assert_eq!(object("http://127.0.0.1/a?token=x").to_string(), "http://127.0.0.1/a");
        // Which store a URL leads to; nothing is asked of any.
        for (url, store, key, writable) in [
            ("s3://bucket/a/b", "AmazonS3(bucket)", "a/b", true),
            ("s3a://bucket/a/b/", "AmazonS3(bucket)", "a/b", true),
            ("gs://bucket/a/b", "GoogleCloudStorage(bucket)", "a/b", true),
            (
                "abfss://container@account.dfs.core.windows.net/a/b",
                "MicrosoftAzure { account: account, container: container }",
                "a/b",
                true,
            ),
            ("https://example.org/a/b", "HttpStore", "a/b", false),
        ] {
            let found = object(url);
            assert!(found.store().to_string().starts_with(store), "{url}: {}", found.store());
            assert_eq!((found.path().as_ref(), found.uploads().is_some()), (key, writable), "{url}");
            assert!(Location::parse(url).unwrap().is_remote());
        }
        // Without the account the container is not enough.
        let az = Location::parse("az://container/a/b");
        assert!(az.is_ok() || az.unwrap_err().to_string().contains("ccount"));
        for bad in ["s3://bucket", "gs://bucket", "az://container", "s3://bucket/", "s3:///key", "http://host?x/y"] {
            assert!(Location::parse(bad).is_err(), "{bad}");
        }
    }
}
