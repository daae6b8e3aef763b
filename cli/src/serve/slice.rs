//! The items of a slice.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::stream::{self, Stream, StreamExt};
use oxiblosc::nd::{Geometry, NdArray, NdError, Plan, Selection, Tiling};

use super::failure::Failure;
use super::frames::OpenFrame;
use super::npy;
use super::reply::Reply;
use super::target::Format;
use crate::input::{InputSource, Reader};

/// Times as many bytes as a slice may have may be decoded for one: a slice with large steps touches every block.
const WORK: u64 = 16;
/// More blocks than this are too much work, however small they are.
const MOST_BLOCKS: u64 = 1 << 22;

type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, Failure>> + Send>>;

/// The answer with the items of a slice, of at most `most` bytes.
pub(super) async fn reply(
    frame: &Arc<OpenFrame>,
    selection: &Selection,
    format: Format,
    most: u64,
) -> Result<Reply, Failure> {
    let tiling = tiling(frame)?;
    let (shape, len) = measure(&tiling, selection, most).await?;
    let item_size = tiling.item_size();
    let dtype = match &frame.array {
        Some(Ok(array)) => array.dtype(),
        _ => None,
    };
    let mut pieces: Pieces = match &frame.array {
        Some(Ok(array)) => Box::pin(array_pieces(array, selection)?),
        _ => Box::pin(stream::once(frame_items(frame.reader.clone(), tiling, selection.clone()))),
    };
    // What fails at once is an answer with a status.
    let first = match len {
        0 => Bytes::new(),
        _ => pieces.next().await.transpose()?.unwrap_or_default(),
    };
    let swap = dtype.filter(|_| format == Format::Raw).and_then(swapped);
    let shown = swap.as_ref().map(|(dtype, _)| dtype.as_str()).or(dtype);
    let head = match format {
        Format::Npy => npy::header(dtype, item_size, &shape).into(),
        Format::Raw => Bytes::new(),
    };
    let content_type = match format {
        Format::Npy => "application/x-npy",
        Format::Raw => "application/octet-stream",
    };
    let mut words = Words { len: swap.as_ref().map_or(1, |(_, len)| *len), rest: BytesMut::new() };
    let total = head.len() as u64 + len;
    let items = stream::once(async { Ok(first) }).chain(pieces).map(move |piece| piece.map(|piece| words.swap(piece)));
    let body = stream::once(async { Ok(head) }).chain(items);
    let body = body.filter(|piece| std::future::ready(!matches!(piece, Ok(piece) if piece.is_empty())));
    let body = body.map(|piece| piece.map_err(|failure: Failure| io::Error::other(format!("{failure:?}"))));
    let lens = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let unknown = if item_size == 1 { "|u1".to_owned() } else { format!("|V{item_size}") };
    let reply = Reply::pieces(content_type, total, body).text_header("x-shape", &lens);
    Ok(reply.text_header("x-dtype", shown.unwrap_or(&unknown)))
}

fn array_pieces(
    array: &NdArray<InputSource>,
    selection: &Selection,
) -> Result<impl Stream<Item = Result<Bytes, Failure>> + Send + use<>, Failure> {
    Ok(array.stream(selection)?.map(|piece| piece.map_err(Failure::from)))
}

/// How an array is cut; a frame that is none has one axis, of its items.
pub(super) fn tiling(frame: &OpenFrame) -> Result<Tiling, Failure> {
    match &frame.array {
        Some(Ok(array)) => return Ok(array.tiling().clone()),
        Some(Err(error)) => return Err(Failure::damaged(error)),
        None => {}
    }
    let reader = &frame.reader;
    let (typesize, items) = (reader.typesize(), reader.items_len());
    let chunk_size = match reader.chunk_size() {
        Some(size) => size,
        None if reader.nchunks() == 0 => typesize,
        None => return Err(Failure::bad_request("chunks of this frame differ in size: it has no slices")),
    };
    let chunk = chunk_size.max(typesize) / typesize.max(1);
    if !chunk_size.max(typesize).is_multiple_of(typesize) {
        return Err(Failure::bad_request("items of this frame lie across chunks: it has no slices"));
    }
    let chunk = u32::try_from(chunk)?;
    let geometry = Geometry { shape: vec![items], chunk_shape: vec![chunk], block_shape: vec![chunk] };
    Ok(Tiling::new(geometry, typesize)?)
}

/// The shape and the bytes of a slice, if it is no more than may be asked for.
async fn measure(tiling: &Tiling, selection: &Selection, most: u64) -> Result<(Vec<u64>, u64), Failure> {
    let (tiling, selection) = (tiling.clone(), selection.clone());
    let measure = move || -> Result<_, Failure> {
        let plan = Plan::new(&tiling, &selection).map_err(|error| no_such_items(&error, &tiling))?;
        let len = plan.buffer_bytes()? as u64;
        if len > most {
            let message =
                format!("the slice has {len} bytes, and at most {most} are sent: ask for less of it at a time");
            return Err(Failure::too_large(message));
        }
        let most_blocks = (most.saturating_mul(WORK) / tiling.block_bytes().max(1) as u64).clamp(1, MOST_BLOCKS);
        let mut blocks = 0;
        for chunk in plan.chunks() {
            blocks += chunk.blocks().take(MOST_BLOCKS as usize).count() as u64;
            if blocks > most_blocks {
                let message = format!(
                    "the slice is in more than {most_blocks} blocks of {} bytes, which is too much to decode for one \
                     request: ask for a smaller window",
                    tiling.block_bytes()
                );
                return Err(Failure::too_large(message));
            }
        }
        Ok((plan.shape().to_vec(), len))
    };
    tokio::task::spawn_blocking(measure).await.map_err(io::Error::from)?
}

fn no_such_items(error: &NdError, tiling: &Tiling) -> Failure {
    Failure::bad_request(format!("{error}; the shape is {:?}", tiling.shape()))
}

/// Items of a frame that is not an array: its chunks are decoded one after the other.
async fn frame_items(reader: Reader, tiling: Tiling, selection: Selection) -> Result<Bytes, Failure> {
    let plan = Plan::new(&tiling, &selection)?;
    let mut items = vec![0; plan.buffer_bytes()?];
    for number in plan.chunks().map(|chunk| chunk.number()).collect::<Vec<_>>() {
        let mut decoded = Vec::from(reader.chunk(number).await?);
        // The last one is as long as there are items.
        decoded.resize(tiling.chunk_bytes(), 0);
        if let Some(part) = plan.chunk(number) {
            part.copy_out(&decoded, &mut items)?;
        }
    }
    Ok(items.into())
}

/// The little-endian dtype for a big-endian one, and the bytes of a number in it; `None` where there is nothing to do.
fn swapped(dtype: &str) -> Option<(String, usize)> {
    let code = dtype.strip_prefix('>')?;
    let digits: String = code.chars().skip(1).take_while(char::is_ascii_digit).collect();
    let size = digits.parse().ok();
    let len = match code.chars().next()? {
        'i' | 'u' | 'f' => size?,
        // Two numbers.
        'c' => size? / 2,
        'm' | 'M' => 8,
        'U' => 4,
        _ => return None,
    };
    Some((format!("<{code}"), len))
}

/// Turns the bytes of numbers around, wherever pieces end.
struct Words {
    len: usize,
    /// The beginning of a number whose end is in the next piece.
    rest: BytesMut,
}

impl Words {
    fn swap(&mut self, piece: Bytes) -> Bytes {
        if self.len < 2 {
            return piece;
        }
        self.rest.extend_from_slice(&piece);
        let whole = self.rest.len() / self.len * self.len;
        let mut words = self.rest.split_to(whole);
        words.chunks_exact_mut(self.len).for_each(<[u8]>::reverse);
        words.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_turned_around_wherever_pieces_end() {
        assert_eq!(swapped(">i4"), Some(("<i4".into(), 4)));
        assert_eq!(swapped(">c16"), Some(("<c16".into(), 8)));
        assert_eq!(swapped(">M8[ns]"), Some(("<M8[ns]".into(), 8)));
        assert_eq!(swapped(">U5"), Some(("<U5".into(), 4)));
        for plain in ["<i4", "|u1", "[('a', '>i4')]", ">V3", ""] {
            assert_eq!(swapped(plain), None, "{plain}");
        }
        let data: Vec<u8> = (0..24).collect();
        let expected: Vec<u8> = data.chunks(4).flat_map(|word| word.iter().rev().copied()).collect();
        for len in 1..=24 {
            let mut words = Words { len: 4, rest: BytesMut::new() };
            let pieces = data.chunks(len).map(|piece| words.swap(Bytes::copy_from_slice(piece)));
            assert_eq!(pieces.flatten().collect::<Vec<_>>(), expected, "pieces of {len}");
        }
    }
}
