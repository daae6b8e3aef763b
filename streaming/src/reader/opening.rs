//! Driving a frame opener.

use std::ops::Range;

use bytes::Bytes;
use oxiblosc_core::frame::{Frame, FrameError, FrameOpener, OpenStep};

/// Feeds an opener with what it asks for until the frame is open. `read` returns the bytes of ranges of the frame, in
/// their order.
///
/// # Errors
/// Those of `read`, and what is wrong with the frame.
pub(crate) async fn drive<E, F>(mut opener: FrameOpener, read: impl Fn(Vec<Range<u64>>) -> F) -> Result<Frame, E>
where
    E: From<FrameError>,
    F: Future<Output = Result<Vec<Bytes>, E>>,
{
    loop {
        match opener.step()? {
            OpenStep::Done(frame) => return Ok(*frame),
            OpenStep::Read(ranges) => {
                for (range, bytes) in ranges.clone().into_iter().zip(read(ranges).await?) {
                    opener.feed(range.start, bytes);
                }
            }
        }
    }
}
