//! A place in an object store.

use std::fmt;
use std::io;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;

use super::stores::{LocatedStore, Uploads, open};
use super::{Location, LocationError, Service};
use crate::source::ObjectSource;
use crate::target::ObjectTarget;

/// An object, or the prefix of a sparse frame, and the store that it is in.
#[derive(Clone)]
pub struct ObjectLocation {
    /// Without a query, which may hold a signature.
    url: String,
    /// Or why it cannot be made.
    store: Result<LocatedStore, String>,
    path: Path,
}

impl ObjectLocation {
    /// The object at `path` of any store.
    pub fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        let url = format!("{store}/{path}");
        Self { url, store: Ok(LocatedStore { store, uploads: Uploads::InOrder }), path }
    }

    fn located(&self) -> io::Result<&LocatedStore> {
        self.store.as_ref().map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason.as_str()))
    }

    /// The store. Its futures need Tokio: see [`spawn`](crate::object::spawn).
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] when the name of the bucket, or an environment variable, is invalid.
    pub fn store(&self) -> io::Result<&Arc<dyn ObjectStore>> {
        Ok(&self.located()?.store)
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

    /// A target that writes one object there, whose parts are sent while the frame is written if the store can do that;
    /// `None` for HTTP URLs, which are for reading.
    ///
    /// # Errors
    /// As those of [`store`](Self::store).
    pub fn target(&self) -> io::Result<Option<ObjectTarget>> {
        let LocatedStore { store, uploads } = self.located()?;
        Ok(match uploads {
            Uploads::None => None,
            Uploads::InOrder => Some(ObjectTarget::new(Arc::clone(store), self.path.clone())),
            Uploads::AnyOrder(multipart) => {
                Some(ObjectTarget::from_stores(Arc::clone(store), Arc::clone(multipart), self.path.clone()))
            }
        })
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

pub(super) fn remote(url: &str, service: Service) -> Result<Location, LocationError> {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let is_http = service == Service::Http;
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
    let not_built = || LocationError::NotBuilt { url: shown.to_owned(), feature: service.feature() };
    let store = open(service, &scheme.to_ascii_lowercase(), host, query).ok_or_else(not_built)?;
    Ok(Location::Object(ObjectLocation { url: shown.to_owned(), store, path }))
}

#[cfg(all(test, feature = "aws", feature = "gcp", feature = "azure", feature = "http"))]
mod tests {
    use super::*;
    use crate::compute::block_on;

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
            let (there, target) = (found.store().unwrap(), found.target().unwrap());
            assert!(there.to_string().starts_with(store), "{url}: {there}");
            assert_eq!((found.path().as_ref(), target.is_some()), (key, writable), "{url}");
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

    #[test]
    fn names_that_no_url_can_be_made_of() {
        for url in ["s3://a b/key", "gs://a b/key"] {
            let Ok(Location::Object(object)) = Location::parse(url) else { panic!("{url}") };
            assert_eq!(object.store().unwrap_err().kind(), io::ErrorKind::InvalidInput, "{url}");
            assert!(block_on(object.source()).unwrap_err().to_string().contains("bucket"), "{url}");
        }
    }
}
