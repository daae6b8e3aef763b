//! The text of an error.

/// The text of an error, in memory of the side that asks: what one side allocates the other cannot free.
#[repr(C)]
pub(crate) struct Message {
    len: usize,
    text: [u8; Message::ROOM],
}

impl Message {
    /// A longer text is cut off.
    const ROOM: usize = 1024;

    pub(crate) const fn new() -> Self {
        Self { len: 0, text: [0; Self::ROOM] }
    }

    pub(crate) fn set(&mut self, text: &str) {
        let room = text.len().min(Self::ROOM);
        self.len = (0..=room).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        self.text[..self.len].copy_from_slice(&text.as_bytes()[..self.len]);
    }

    pub(crate) fn get(&self) -> String {
        String::from_utf8_lossy(&self.text[..self.len.min(Self::ROOM)]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let mut message = Message::new();
        message.set(&"é".repeat(600));
        assert_eq!(message.get(), "é".repeat(512));
        message.set(&format!("x{}", "é".repeat(600)));
        assert_eq!(message.get(), format!("x{}", "é".repeat(511)));
        message.set("short");
        assert_eq!(message.get(), "short");
    }
}
