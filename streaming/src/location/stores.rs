//! Which store a URL leads to, and its settings.

// What several stores share is of no use without any.
#![cfg_attr(not(all(feature = "aws", feature = "gcp", feature = "azure", feature = "http")), allow(dead_code))]

use std::env;
use std::sync::Arc;
use std::time::Duration;

use object_store::multipart::MultipartStore;
use object_store::{ClientConfigKey, ObjectStore, RetryConfig};

use super::Service;

/// A store that a URL leads to.
#[derive(Clone)]
pub(super) struct LocatedStore {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) uploads: Uploads,
}

/// What a store takes.
#[derive(Clone)]
pub(super) enum Uploads {
    /// Nothing: it is for reading.
    None,
    /// Parts in the order of the object.
    InOrder,
    /// Parts in any order: the same store.
    AnyOrder(Arc<dyn MultipartStore>),
}

/// The store of a URL, or why its settings are wrong; `None` if this program is built without that kind.
pub(super) fn open(service: Service, scheme: &str, host: &str, query: &str) -> Option<Result<LocatedStore, String>> {
    // What is not built needs less.
    let _ = (scheme, host, query);
    match service {
        #[cfg(feature = "aws")]
        Service::S3 => Some(super::s3::store(host, super::s3::variables()).map(any_order)),
        #[cfg(feature = "gcp")]
        Service::Gcs => Some(gcs(host).map(any_order)),
        #[cfg(feature = "azure")]
        Service::Azure => Some(azure(scheme, host).map(any_order)),
        #[cfg(feature = "http")]
        Service::Http => Some(http(scheme, host, query)),
        #[allow(unreachable_patterns, reason = "all of them may be built")]
        _ => None,
    }
}

fn any_order<S: ObjectStore + MultipartStore>(store: S) -> LocatedStore {
    let store = Arc::new(store);
    LocatedStore { store: Arc::clone(&store) as _, uploads: Uploads::AnyOrder(store) }
}

/// Timeouts for servers, unless the environment sets them: variables with these names and a prefix.
///
/// A request fails if the server is silent for a minute, which is also the time it has to accept one part of an
/// upload. The request as a whole may take longer: large parts on slow lines are no failure.
pub(super) const TIMEOUTS: [(ClientConfigKey, &str, &str); 3] = [
    (ClientConfigKey::ConnectTimeout, "CONNECT_TIMEOUT", "10s"),
    (ClientConfigKey::ReadTimeout, "READ_TIMEOUT", "60s"),
    (ClientConfigKey::Timeout, "TIMEOUT", "1h"),
];

/// Requests that fail quickly are retried for a minute; those that took that long to fail are not.
pub(super) fn retries() -> RetryConfig {
    RetryConfig { retry_timeout: Duration::from_secs(60), ..RetryConfig::default() }
}

/// The timeouts of [`TIMEOUTS`] that the environment does not set.
fn patience(prefix: &str) -> impl Iterator<Item = (ClientConfigKey, &'static str)> {
    let unsaid = move |name: &str| env::var_os(format!("{prefix}_{name}")).is_none();
    TIMEOUTS.into_iter().filter(move |(_, name, _)| unsaid(name)).map(|(key, _, time)| (key, time))
}

/// Checks a part of a URL for characters that every scheme allows.
pub(super) fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)) {
        return Ok(());
    }
    Err(format!("{what} is {name:?}: only letters, digits, hyphens, dots and underscores can be in it"))
}

#[cfg(feature = "gcp")]
fn gcs(bucket: &str) -> Result<object_store::gcp::GoogleCloudStorage, String> {
    use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};

    check_name("the bucket", bucket)?;
    let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_retry(retries());
    let set = |builder: GoogleCloudStorageBuilder, (key, time)| builder.with_config(GoogleConfigKey::Client(key), time);
    patience("GOOGLE").fold(builder, set).build().map_err(|e| e.to_string())
}

/// The container may come with an account: `abfss://container@account.dfs.core.windows.net/key`.
#[cfg(feature = "azure")]
fn azure(scheme: &str, host: &str) -> Result<object_store::azure::MicrosoftAzure, String> {
    use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};

    let builder = MicrosoftAzureBuilder::from_env().with_url(format!("{scheme}://{host}")).with_retry(retries());
    let set = |builder: MicrosoftAzureBuilder, (key, time)| builder.with_config(AzureConfigKey::Client(key), time);
    patience("AZURE").fold(builder, set).build().map_err(|e| e.to_string())
}

#[cfg(feature = "http")]
fn http(scheme: &str, host: &str, query: &str) -> Result<LocatedStore, String> {
    use object_store::ClientOptions;
    use object_store::http::HttpBuilder;

    let client = patience("HTTP").fold(ClientOptions::new(), |client, (key, time)| client.with_config(key, time));
    let builder = HttpBuilder::new().with_url(format!("{scheme}://{host}/{query}")).with_retry(retries());
    let store = builder.with_client_options(client.with_allow_http(true)).build().map_err(|e| e.to_string())?;
    Ok(LocatedStore { store: Arc::new(store), uploads: Uploads::None })
}
