//! The bytes of a part of an upload, as they come.

use std::mem;

use bytes::{Buf, Bytes, BytesMut};
use object_store::PutPayload;

/// Bytes of a part.
///
/// They are copied: what is handed over may be the small beginning of a large buffer, and a part may consist of a
/// hundred thousand pieces.
#[derive(Debug, Default)]
pub(super) struct Gather {
    bytes: BytesMut,
}

impl Gather {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes bytes from the front of `bytes` as long as there are fewer than `limit` here.
    pub(super) fn take(&mut self, bytes: &mut Bytes, limit: usize) {
        let room = limit.saturating_sub(self.len()).min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..room]);
        bytes.advance(room);
    }

    /// All bytes; nothing is left here.
    pub(super) fn finish(&mut self) -> PutPayload {
        mem::take(&mut self.bytes).freeze().into()
    }

    /// All bytes with the first ones replaced by `head`; nothing is left here.
    pub(super) fn finish_with_head(&mut self, head: &Bytes) -> PutPayload {
        let mut rest = mem::take(&mut self.bytes).freeze();
        rest.advance(head.len().min(rest.len()));
        [head.clone(), rest].into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_keep_their_order() {
        let mut gather = Gather::default();
        let mut expected = Vec::new();
        for (i, len) in [10, 64 << 10, 1, 0, 5].into_iter().enumerate() {
            let piece = vec![i as u8; len];
            expected.extend_from_slice(&piece);
            gather.take(&mut piece.into(), usize::MAX);
        }
        assert_eq!(gather.len(), expected.len());
        let head = Bytes::from(vec![9; 200]);
        let bytes = Bytes::from(gather.finish_with_head(&head));
        assert_eq!(&bytes[..200], head);
        assert_eq!(&bytes[200..], &expected[200..]);
        assert!(gather.is_empty());

        let mut bytes = Bytes::from(vec![1; 100]);
        gather.take(&mut bytes, 30);
        gather.take(&mut bytes, 30);
        assert_eq!((gather.len(), bytes.len()), (30, 70));
    }
}
