//! What is known of a frame, for programs and for the page.

use std::io;

use oxiblosc::frame::ChunkEntry;
use oxiblosc::nd::{Plan, Selection};
use serde_json::{Value, json};

use super::failure::Failure;
use super::frames::{Frames, OpenFrame};
use super::reply::Reply;
use super::slice::tiling;
use crate::chunk_headers::chunk_headers;
use crate::error::one_line;
use crate::units::ratio;

/// Chunks that one answer tells of.
const MOST_CHUNKS: usize = 4096;

/// The page that shows a frame. It asks for everything else by itself.
pub(super) fn page() -> Reply {
    Reply::html(include_str!("page.html"))
        .header(hyper::header::VARY, hyper::header::HeaderValue::from_static("accept"))
}

/// What `info --json` says.
pub(super) async fn json(frame: &OpenFrame, frames: &Frames) -> Result<Reply, Failure> {
    Ok(Reply::json(&crate::info::of_reader(&frame.reader, &frames.registry).await))
}

/// The chunks that a slice touches, without decoding one.
pub(super) async fn chunks(frame: &OpenFrame, selection: &Selection) -> Result<Reply, Failure> {
    let tiling = tiling(frame)?;
    let plan = Plan::new(&tiling, selection)?;
    let numbers: Vec<u64> = plan.chunks().map(|chunk| chunk.number()).take(MOST_CHUNKS + 1).collect();
    if numbers.len() > MOST_CHUNKS {
        let message = format!("the slice is in more than {MOST_CHUNKS} chunks: ask for a smaller window");
        return Err(Failure::too_large(message));
    }
    let headers = chunk_headers(&frame.reader, numbers.iter().copied()).await?;
    let chunk = |(&number, header): (&u64, Result<oxiblosc::chunk::ChunkHeader, _>)| -> Result<Value, Failure> {
        let index = tiling.chunk_position(number)?;
        Ok(match header {
            Ok(header) => {
                // A chunk that exists only in the index takes no room.
                let in_index = matches!(frame.reader.frame().entry(number), Ok(ChunkEntry::Special(_)));
                let cbytes = if in_index { 0 } else { header.cbytes as u64 };
                let ratio = ratio(header.nbytes as u64, cbytes);
                let body = crate::info::body(&header);
                json!({
                    "number": number, "index": index, "body": body, "nbytes": header.nbytes, "cbytes": cbytes,
                    "ratio": ratio,
                })
            }
            Err(error) => json!({ "number": number, "index": index, "error": one_line(&error) }),
        })
    };
    let chunks = numbers.iter().zip(headers).map(chunk).collect::<Result<Vec<_>, _>>()?;
    let grid: Vec<u64> = tiling.chunk_grid().collect();
    let geometry = tiling.geometry();
    Ok(Reply::json(&json!({
        "shape": geometry.shape,
        "chunkshape": geometry.chunk_shape,
        "blockshape": geometry.block_shape,
        "grid": grid,
        "chunks": chunks,
    })))
}

impl Failure {
    /// An error that was met when the frame was opened.
    pub(super) fn damaged(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::from(io::Error::new(io::ErrorKind::InvalidData, one_line(error)))
    }
}
