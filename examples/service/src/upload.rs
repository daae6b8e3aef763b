//! Bodies that become objects.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::body::{Body, BodyDataStream};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use bytes::Bytes;
use futures::StreamExt;
use oxiblosc::nd::ArrayOptions;
use oxiblosc::{EncodeParams, Registry, Summary, WriteOptions};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Failure, Service, path};

/// How an upload is stored.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    typesize: Option<usize>,
    codec: Option<String>,
    level: Option<u8>,
    dtype: Option<String>,
    shape: Option<String>,
}

impl Parameters {
    fn options(&self, service: &Service) -> Result<WriteOptions, Failure> {
        let name = self.codec.as_deref().unwrap_or("zstd");
        let codec = Registry::linked()?.codec_by_name(name).map_err(|error| Failure::bad_request(error.to_string()))?;
        let params = EncodeParams {
            codec: codec.info().id,
            level: self.level.unwrap_or(1),
            typesize: self.typesize.unwrap_or(1),
            ..EncodeParams::default()
        };
        Ok(WriteOptions::new(params).pool(&service.pool).budget(&service.budget).checksums(true))
    }

    /// Lengths of the axes; `None` for the rows that are counted.
    fn shape(&self) -> Result<(Option<u64>, Vec<u64>), Failure> {
        let bad = || Failure::bad_request("`shape` is a list of lengths, of which the first may be -1");
        let mut lens = self.shape.as_deref().ok_or_else(bad)?.split(',').map(str::trim);
        let rows = match lens.next() {
            Some("-1") => None,
            Some(len) => Some(len.parse().map_err(|_| bad())?),
            None => return Err(bad()),
        };
        Ok((rows, lens.map(|len| len.parse().map_err(|_| bad())).collect::<Result<_, _>>()?))
    }
}

/// The pieces of a body, within the limits of the service.
struct Pieces<'a> {
    service: &'a Service,
    body: BodyDataStream,
    received: u64,
}

impl<'a> Pieces<'a> {
    fn new(service: &'a Service, body: Body) -> Self {
        Self { service, body: body.into_data_stream(), received: 0 }
    }

    /// The next piece. It is asked for when the last one has been taken, so a client that sends faster than the store
    /// takes is made to wait.
    async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let settings = &self.service.settings;
        let next = tokio::time::timeout(settings.idle, self.body.next()).await;
        let next = next.map_err(|_| Failure::new(StatusCode::REQUEST_TIMEOUT, "nothing came for too long"))?;
        let Some(piece) = next else { return Ok(None) };
        let piece = piece.map_err(|error| Failure::bad_request(error.to_string()))?;
        self.received += piece.len() as u64;
        if self.received > settings.upload_bytes {
            let message = format!("the body is longer than {} bytes", settings.upload_bytes);
            return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        self.service.metrics.received.fetch_add(piece.len() as u64, Ordering::Relaxed);
        Ok(Some(piece))
    }
}

fn created(service: &Service, summary: &Summary, shape: Option<&[u64]>) -> (StatusCode, Json<Value>) {
    service.metrics.stored.fetch_add(summary.frame_len, Ordering::Relaxed);
    let body =
        json!({ "nbytes": summary.nbytes, "stored": summary.frame_len, "chunks": summary.chunks, "shape": shape });
    (StatusCode::CREATED, Json(body))
}

type Created = Result<(StatusCode, Json<Value>), Failure>;

/// `PUT /frames/NAME`. When it fails, or the client goes away, whatever has been sent to the store is removed, and an
/// object that had the name before is still there.
pub(crate) async fn frame(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    Query(parameters): Query<Parameters>,
    body: Body,
) -> Created {
    let _permit = service.uploads.try_acquire().map_err(|_| busy())?;
    let mut sink = parameters.options(&service)?.sink((service.target)(path(&name)?))?;
    // Dropped before `close` has succeeded, the sink aborts the upload.
    let mut pieces = Pieces::new(&service, body);
    while let Some(mut piece) = pieces.next().await? {
        sink.write_bytes(&mut piece).await?;
    }
    let summary = sink.close().await?;
    Ok(created(&service, &summary, None))
}

/// `PUT /arrays/NAME`.
pub(crate) async fn array(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    Query(parameters): Query<Parameters>,
    body: Body,
) -> Created {
    let _permit = service.uploads.try_acquire().map_err(|_| busy())?;
    let dtype = parameters.dtype.clone().ok_or_else(|| Failure::bad_request("an array needs a `dtype`"))?;
    let options = match parameters.shape()? {
        (Some(rows), row) => ArrayOptions::new([vec![rows], row].concat(), dtype),
        (None, row) => ArrayOptions::rows(&row, dtype),
    };
    let options = options.frame(parameters.options(&service)?);
    let mut sink = options.sink((service.target)(path(&name)?))?;
    let mut pieces = Pieces::new(&service, body);
    while let Some(mut piece) = pieces.next().await? {
        sink.write_bytes(&mut piece).await?;
    }
    let summary = sink.close().await?;
    Ok(created(&service, &summary.frame, Some(&summary.shape)))
}

fn busy() -> Failure {
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "too many uploads at the same time")
}
