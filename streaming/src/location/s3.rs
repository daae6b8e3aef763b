//! Buckets of S3 and what speaks like it.

use std::env;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::ClientOptions;
use object_store::http::HttpBuilder;

use super::stores::{TIMEOUTS, check_name, retries};

/// The environment variables that are text and not empty.
pub(super) fn variables() -> impl Iterator<Item = (String, String)> {
    let text = env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    text.filter(|(_, value)| !value.is_empty())
}

/// The store of a bucket. Names and settings become parts of URLs and headers, and the crate assumes that they are
/// valid there, so that is checked here.
pub(super) fn store(bucket: &str, variables: impl IntoIterator<Item = (String, String)>) -> Result<AmazonS3, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_no_url_or_header_can_be_made_of() {
        let s3 = |bucket, variable: &str, value: &str| {
            let variables = [("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"), (variable, value)];
            store(bucket, variables.map(|(name, value)| (name.to_owned(), value.to_owned())))
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
    }
}
