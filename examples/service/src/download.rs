//! Objects, or parts of them, as bodies.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{Stream, TryStreamExt};
use oxiblosc::FrameReader;
use oxiblosc::nd::NdArray;
use oxiblosc::source::ObjectSource;
use serde::Deserialize;

use crate::{Failure, Service, path};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    items: Option<String>,
    slice: Option<String>,
}

async fn open(service: &Service, name: &str) -> Result<FrameReader<ObjectSource>, Failure> {
    let source = ObjectSource::new(Arc::clone(&service.store), path(name)?);
    Ok(service.reading().open(source).await?)
}

/// A body that is decoded while it is sent. An error in the middle breaks the connection off, so that no client takes
/// what it has for everything.
fn body<E>(service: &Arc<Service>, pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static) -> Body
where
    E: std::error::Error + Send + Sync + 'static,
{
    let service = Arc::clone(service);
    Body::from_stream(pieces.inspect_ok(move |piece| {
        service.metrics.sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
    }))
}

/// `GET /frames/NAME`.
pub(crate) async fn items(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    Query(part): Query<Part>,
) -> Result<Response, Failure> {
    let reader = open(&service, &name).await?;
    let typesize = reader.typesize() as u64;
    let body = match part.items {
        None => body(&service, reader.chunks()),
        Some(range) => {
            let bad = || Failure::bad_request("`items` is a range such as 10..20");
            let (start, end) = range.split_once("..").ok_or_else(bad)?;
            let (start, end): (u64, u64) = (start.parse().map_err(|_| bad())?, end.parse().map_err(|_| bad())?);
            // One answer is one buffer here, so it has to fit the memory.
            if end.saturating_sub(start).saturating_mul(typesize) > service.settings.memory as u64 / 4 {
                return Err(Failure::bad_request("too many items for one request"));
            }
            let bytes = reader.items(start..end).await?;
            service.metrics.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            bytes.into()
        }
    };
    let headers =
        [(CONTENT_TYPE.as_str(), "application/octet-stream".to_owned()), ("x-typesize", typesize.to_string())];
    Ok((headers, body).into_response())
}

/// `GET /arrays/NAME`. The headers have the dtype, and the shape of the whole array.
pub(crate) async fn slice(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    Query(part): Query<Part>,
) -> Result<Response, Failure> {
    let array = NdArray::new(open(&service, &name).await?)?;
    let selection = part.slice.as_deref().unwrap_or("...").parse()?;
    let shape = array.shape().iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let dtype = array.dtype().unwrap_or_default().to_owned();
    let body = body(&service, array.stream(&selection)?);
    let content_type = "application/octet-stream".to_owned();
    let headers = [(CONTENT_TYPE.as_str(), content_type), ("x-shape", shape), ("x-dtype", dtype)];
    Ok((headers, body).into_response())
}
