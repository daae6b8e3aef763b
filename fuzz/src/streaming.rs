//! Checks that reading a frame front to back gives the same as reading it in any order.

use std::io::Cursor;

use bytes::Bytes;
use oxiblosc::blocking::FrameStream;

use crate::bound::{MOST_CHUNKS, Setup};
use crate::reading::Content;

/// Reads `frame` as it would come from a pipe. `content` is what it holds, if it opens and is not too long.
///
/// # Panics
/// When a stream that ends well gives something else, or a frame that decodes cannot be streamed.
pub(crate) fn check(frame: &Bytes, content: Option<&Content>, setup: &Setup) {
    for trust_order in [false, true] {
        let options = setup.read().trust_order(trust_order);
        let Ok(mut stream) = FrameStream::with_options(Cursor::new(frame.clone()), options) else { continue };
        let must_work = !stream.is_immediate();
        let mut chunks = Vec::new();
        let (mut len, mut failure) = (0, None);
        for chunk in &mut stream {
            match chunk {
                Ok(chunk) => {
                    len += chunk.len() as u64;
                    // Not more than memory holds of a frame that has gigabytes of zeros.
                    if content.is_some() || (len <= setup.whole && (chunks.len() as u64) < MOST_CHUNKS) {
                        chunks.push(chunk);
                    } else {
                        failure = Some("too long".to_owned());
                        break;
                    }
                }
                Err(e) => failure = Some(e.to_string()),
            }
        }
        let Some(content) = content else { continue };
        let Some(whole) = &content.whole else {
            // The chunks of a frame that was kept first are those of a reader.
            let sound = content.chunks.iter().take_while(|chunk| chunk.is_some()).count();
            if must_work {
                assert_eq!(chunks.len(), sound, "the stream has not as many chunks as the reader");
                let same = chunks.iter().zip(&content.chunks).all(|(found, expected)| Some(found) == expected.as_ref());
                assert!(same, "the chunks of the stream differ from those of a reader");
            }
            continue;
        };
        match failure {
            None => {
                assert!(stream.frame().is_some(), "the stream has ended well without its end");
                assert!(chunks.concat() == whole[..], "the stream gives other bytes, in good order");
            }
            Some(failure) => assert!(!must_work, "all chunks decode, and the stream fails: {failure}"),
        }
    }
}
