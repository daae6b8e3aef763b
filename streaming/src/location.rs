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
//! All but paths need the feature `object_store`, whose crate documents all variables. Keys of S3, GCS and Azure are
//! taken as they stand, those of HTTP are percent-encoded. An endpoint given by `AWS_ENDPOINT_URL` may be plain HTTP. A
//! variable of S3 that is empty counts as not set.
//!
//! A request fails if the server is silent for a minute; as long as bytes arrive, it may take an hour. The variables
//! `AWS_READ_TIMEOUT`, `AWS_TIMEOUT` and `AWS_CONNECT_TIMEOUT` change that (`GOOGLE_…`, `AZURE_…` alike).

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::source::{FileSource, RangeSource};

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
    /// The URL names an object store, and this program was built without support for them.
    #[error("{url}: this program has been built without the feature `object_store`")]
    NotBuilt {
        /// The URL.
        url: String,
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
            "s3" | "s3a" | "gs" | "az" | "azure" | "abfs" | "abfss" | "adl" | "http" | "https" => remote(text),
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
    use std::env;
    use std::fmt;
    use std::io;
    use std::sync::Arc;
    use std::time::Duration;

    use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
    use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
    use object_store::client::ClientOptions;
    use object_store::gcp::{GoogleCloudStorage, GoogleCloudStorageBuilder, GoogleConfigKey};
    use object_store::http::HttpBuilder;
    use object_store::path::Path;
    use object_store::{ClientConfigKey, ObjectStore, RetryConfig};

    use super::{Location, LocationError};
    use crate::object::UploadStore;
    use crate::source::ObjectSource;

    /// Timeouts for servers, unless the environment sets them: variables with these names and a prefix.
    ///
    /// A request fails if the server is silent for a minute, which is also the time it has to accept one part of an
    /// upload. The request as a whole may take longer: large parts on slow lines are no failure.
    const TIMEOUTS: [(ClientConfigKey, &str, &str); 3] = [
        (ClientConfigKey::ConnectTimeout, "CONNECT_TIMEOUT", "10s"),
        (ClientConfigKey::ReadTimeout, "READ_TIMEOUT", "60s"),
        (ClientConfigKey::Timeout, "TIMEOUT", "1h"),
    ];

    /// Requests that fail quickly are retried for a minute; those that took that long to fail are not.
    fn retries() -> RetryConfig {
        RetryConfig { retry_timeout: Duration::from_secs(60), ..RetryConfig::default() }
    }

    /// The timeouts of [`PATIENCE`] that the environment does not set.
    fn patience(prefix: &str) -> impl Iterator<Item = (ClientConfigKey, &'static str)> {
        let unsaid = move |name: &str| env::var_os(format!("{prefix}_{name}")).is_none();
        TIMEOUTS.into_iter().filter(move |(_, name, _)| unsaid(name)).map(|(key, _, time)| (key, time))
    }

    /// An object, or the prefix of a sparse frame, and the store that it is in.
    #[derive(Clone)]
    pub struct ObjectLocation {
        /// Without a query, which may hold a signature.
        url: String,
        /// Or why they cannot be made.
        stores: Result<Stores, String>,
        path: Path,
    }

    /// A store, and the same as one that can be written to.
    type Stores = (Arc<dyn ObjectStore>, Option<Arc<dyn UploadStore>>);

    impl ObjectLocation {
        /// The object at `path` of any store, for reading.
        pub fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
            Self { url: format!("{store}/{path}"), stores: Ok((store, None)), path }
        }

        fn stores(&self) -> io::Result<&Stores> {
            self.stores.as_ref().map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason.as_str()))
        }

        /// The store as one that frames can be written to; `None` for plain HTTP.
        ///
        /// # Errors
        /// As those of [`store`](Self::store).
        pub fn uploads(&self) -> io::Result<Option<&Arc<dyn UploadStore>>> {
            Ok(self.stores()?.1.as_ref())
        }

        /// The store. Its futures need Tokio: see [`spawn`](crate::object::spawn).
        ///
        /// # Errors
        /// [`io::ErrorKind::InvalidInput`] when the name of the bucket, or an environment variable, is invalid.
        pub fn store(&self) -> io::Result<&Arc<dyn ObjectStore>> {
            Ok(&self.stores()?.0)
        }

        /// The key of the object within the store.
        pub fn path(&self) -> &Path {
            &self.path
        }

        /// Whether the URL ends in a slash, which says that it is the prefix of a sparse frame.
        pub fn is_prefix(&self) -> bool {
            self.url.ends_with('/')
        }

        /// Opens the object or sparse frame that is there. Unless it [is a prefix](Self::is_prefix), this takes one
        /// request.
        ///
        /// # Errors
        /// When there is nothing, and those of [`store`](Self::store).
        pub async fn source(&self) -> io::Result<ObjectSource> {
            let store = Arc::clone(self.store()?);
            if self.is_prefix() {
                return Ok(ObjectSource::sparse(store, self.path.clone()));
            }
            ObjectSource::find(store, self.path.clone()).await
        }
    }

    impl fmt::Display for ObjectLocation {
        /// The URL, without a query, which may hold a signature.
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&self.url)
        }
    }

    impl fmt::Debug for ObjectLocation {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "ObjectLocation({self})")
        }
    }

    pub(super) fn remote(url: &str) -> Result<Location, LocationError> {
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let scheme = scheme.to_ascii_lowercase();
        let is_http = scheme.starts_with("http");
        // A question mark in a key is literal; only HTTP has queries.
        let (shown, query) = match url.find('?').filter(|_| is_http) {
            Some(at) => url.split_at(at),
            None => (url, ""),
        };
        let rest = rest.strip_suffix(query).unwrap_or(rest);
        let wrong = |reason: String| LocationError::Url { url: shown.to_owned(), reason };
        let (host, key) = rest.split_once('/').unwrap_or((rest, ""));
        if host.is_empty() || key.is_empty() {
            return Err(wrong("it names no object".to_owned()));
        }
        // The crate silently drops some of these, which would name another object.
        if key.strip_suffix('/').unwrap_or(key).split('/').any(str::is_empty) {
            return Err(wrong("its path has an empty part: two slashes in a row".to_owned()));
        }
        let path = if is_http { Path::from_url_path(key) } else { Path::parse(key) };
        let path = path.map_err(|e| wrong(e.to_string()))?;
        let stores = match scheme.as_str() {
            "s3" | "s3a" => s3(host, variables()).map(both),
            "gs" => gs(host).map(both),
            "http" | "https" => {
                let client =
                    patience("HTTP").fold(ClientOptions::new(), |client, (key, time)| client.with_config(key, time));
                let builder = HttpBuilder::new().with_url(format!("{scheme}://{host}/{query}")).with_retry(retries());
                let store = builder.with_client_options(client.with_allow_http(true)).build();
                store.map(|store| (Arc::new(store) as _, None)).map_err(|e| e.to_string())
            }
            // The container may come with an account: abfss://container@account.dfs.core.windows.net/key.
            _ => {
                let builder =
                    MicrosoftAzureBuilder::from_env().with_url(format!("{scheme}://{host}")).with_retry(retries());
                let set = |builder: MicrosoftAzureBuilder, (key, time)| {
                    builder.with_config(AzureConfigKey::Client(key), time)
                };
                patience("AZURE").fold(builder, set).build().map(both).map_err(|e| e.to_string())
            }
        };
        Ok(Location::Object(ObjectLocation { url: shown.to_owned(), stores, path }))
    }

    /// One store, to be read from and written to.
    fn both<S: UploadStore>(store: S) -> Stores {
        let store = Arc::new(store);
        (Arc::clone(&store) as _, Some(store))
    }

    fn gs(bucket: &str) -> Result<GoogleCloudStorage, String> {
        check_name("the bucket", bucket)?;
        let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_retry(retries());
        let set =
            |builder: GoogleCloudStorageBuilder, (key, time)| builder.with_config(GoogleConfigKey::Client(key), time);
        patience("GOOGLE").fold(builder, set).build().map_err(|e| e.to_string())
    }

    /// The environment variables that are text and not empty.
    fn variables() -> impl Iterator<Item = (String, String)> {
        let text =
            env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        text.filter(|(_, value)| !value.is_empty())
    }

    /// The store of a bucket. Names and settings become parts of URLs and headers, and the crate assumes that they are
    /// valid there, so that is checked here.
    pub(super) fn s3(bucket: &str, variables: impl IntoIterator<Item = (String, String)>) -> Result<AmazonS3, String> {
        use AmazonS3ConfigKey as Key;

        check_name("the bucket", bucket)?;
        let mut builder = AmazonS3Builder::new().with_bucket_name(bucket).with_retry(retries());
        for (key, _, time) in TIMEOUTS {
            builder = builder.with_config(Key::Client(key), time);
        }
        for (name, value) in variables {
            if !name.starts_with("AWS_") || value.is_empty() {
                continue;
            }
            let Ok(key) = name.to_ascii_lowercase().parse::<Key>() else { continue };
            match key {
                Key::Endpoint | Key::S3Endpoint | Key::StsEndpoint | Key::MetadataEndpoint => check_url(&name, &value)?,
                Key::Region | Key::DefaultRegion => check_name(&name, &value)?,
                Key::AccessKeyId | Key::SecretAccessKey | Key::Token if value.contains(char::is_control) => {
                    return Err(format!("{name} has control characters in it, such as the end of a line"));
                }
                _ => {}
            }
            builder = builder.with_config(key, value);
        }
        // The more specific one takes precedence.
        let endpoint = [Key::S3Endpoint, Key::Endpoint].iter().find_map(|key| builder.get_config_value(key));
        // A plain HTTP endpoint is deliberate: a server on the same machine or network.
        if endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")) {
            builder = builder.with_allow_http(true);
        }
        builder.build().map_err(|e| e.to_string())
    }

    /// Checks a part of a URL for characters that every scheme allows.
    fn check_name(what: &str, name: &str) -> Result<(), String> {
        if name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)) {
            return Ok(());
        }
        Err(format!("{what} is {name:?}: only letters, digits, hyphens, dots and underscores can be in it"))
    }

    /// An endpoint, to which paths are appended.
    fn check_url(variable: &str, url: &str) -> Result<(), String> {
        let wrong = |reason: &str| Err(format!("{variable} is {url:?}: {reason}"));
        let Some(rest) = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")) else {
            return wrong("a URL begins with http:// or https://");
        };
        if rest.is_empty() || rest.starts_with('/') {
            return wrong("it names no host");
        }
        // Stricter than the parser of URLs, which would escape some of them.
        if !rest.chars().all(|c| c.is_ascii_graphic() && !"\"<>\\^`{|}?#@".contains(c)) {
            return wrong("it has characters that cannot be in it");
        }
        // The parser is not exported, but this store checks its own URL with it.
        let client = ClientOptions::new().with_allow_http(true).with_no_system_certificates(true);
        match HttpBuilder::new().with_url(url).with_client_options(client).build() {
            Ok(_) => Ok(()),
            Err(_) => wrong("it is no URL"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "object_store")]
    use crate::compute::block_on;

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
        // Which store a URL leads to; no store is accessed.
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
            let (there, uploads) = (found.store().unwrap(), found.uploads().unwrap());
            assert!(there.to_string().starts_with(store), "{url}: {there}");
            assert_eq!((found.path().as_ref(), uploads.is_some()), (key, writable), "{url}");
            assert!(Location::parse(url).unwrap().is_remote());
        }
        // Without the account the container is not enough.
        let az = object("az://container/a/b");
        assert!(az.store().is_ok() || az.store().unwrap_err().to_string().contains("ccount"));
        for bad in ["s3://bucket", "gs://bucket", "az://container", "s3://bucket/", "s3:///key", "http://host?x/y"] {
            assert!(matches!(Location::parse(bad), Err(LocationError::Url { .. })), "{bad}");
        }
        // Nothing is dropped from a key.
        for key in ["//lead", "//", "/a//b", "/a//"] {
            for store in ["s3://bucket", "gs://bucket", "http://host"] {
                let url = format!("{store}{key}");
                let error = Location::parse(&url).unwrap_err();
                let said = error.to_string().contains("empty part");
                assert!(said && matches!(error, LocationError::Url { .. }), "{url}: {error}");
            }
        }
        let question = object("s3://bucket/what?/a?b#c");
        assert_eq!(
            (question.path().as_ref(), question.to_string().as_str()),
            ("what?/a?b#c", "s3://bucket/what?/a?b#c")
        );
        for (url, prefix) in
            [("s3://b/a", false), ("s3://b/a/", true), ("http://h/a/?q=x", true), ("http://h/a?q=/", false)]
        {
            assert_eq!(object(url).is_prefix(), prefix, "{url}");
        }
    }

    #[cfg(feature = "object_store")]
    #[test]
    fn settings_that_no_url_or_header_can_be_made_of() {
        let s3 = |bucket, variable: &str, value: &str| {
            let variables = [("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"), (variable, value)];
            object::s3(bucket, variables.map(|(name, value)| (name.to_owned(), value.to_owned())))
        };
        for (variable, bad) in [
            ("AWS_ENDPOINT_URL", "localhost:18777"),
            ("AWS_ENDPOINT_URL", "http://"),
            ("AWS_ENDPOINT_URL", "https:///x"),
            ("AWS_ENDPOINT_URL", "http://a b"),
            ("AWS_ENDPOINT_URL", "http://a/b c"),
            ("AWS_ENDPOINT_URL", "://"),
            ("AWS_ENDPOINT_URL", "ftp://host"),
            ("AWS_ENDPOINT_URL", "http://host:port"),
            ("AWS_ENDPOINT_URL", "http://host:65536"),
            ("AWS_ENDPOINT_URL", "http://1.2.3.256"),
            ("AWS_ENDPOINT_URL", "http://[::1"),
            ("AWS_ENDPOINT_URL", "http://:1"),
            ("AWS_ENDPOINT_URL_S3", "x"),
            ("AWS_REGION", "us east"),
            ("AWS_ACCESS_KEY_ID", "key\n"),
            ("AWS_SECRET_ACCESS_KEY", "\u{1}"),
            ("AWS_SESSION_TOKEN", "a\0b"),
        ] {
            let error = s3("bucket", variable, bad).unwrap_err();
            assert!(error.starts_with(&format!("{variable} ")), "{bad:?}: {error}");
        }
        for (variable, good) in [
            ("AWS_ENDPOINT_URL", ""),
            ("AWS_ENDPOINT_URL", "http://localhost:18777"),
            ("AWS_ENDPOINT_URL", "https://[::1]:9000/path/"),
            ("AWS_REGION", ""),
            ("AWS_REGION", "us-east-1"),
            ("AWS_READ_TIMEOUT", "5s"),
        ] {
            assert!(s3("bucket", variable, good).is_ok(), "{variable} {good}");
        }
        for bucket in ["a b", "b\n", "b\u{fc}cket"] {
            let error = s3(bucket, "", "").unwrap_err();
            assert!(error.contains("bucket is"), "{error}");
        }
        for url in ["s3://a b/key", "gs://a b/key"] {
            let Ok(Location::Object(object)) = Location::parse(url) else { panic!("{url}") };
            assert_eq!(object.store().unwrap_err().kind(), io::ErrorKind::InvalidInput, "{url}");
            assert!(block_on(object.source()).unwrap_err().to_string().contains("bucket"), "{url}");
        }
    }
}
