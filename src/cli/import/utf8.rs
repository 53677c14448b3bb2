//! Text with invalid UTF-8. An invalid byte spoils only its field, not the row.

use std::io::{self, BufRead, Read};

/// The character in place of invalid bytes. Unicode reserves it as a noncharacter, so no text contains it.
pub const NOT_UTF8: char = '\u{ffff}';

/// `bytes` with [`NOT_UTF8`] in place of everything that is not UTF-8.
pub(super) fn replace_invalid_utf8(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(NOT_UTF8);
        }
    }
    text
}

/// Reads UTF-8 from any input, with [`NOT_UTF8`] in place of invalid bytes.
pub(super) struct MendedText<R> {
    inner: R,
    /// Text that is not returned yet, from `at` on.
    text: Vec<u8>,
    at: usize,
    /// The first bytes of a character whose last ones have not been read yet.
    begun: Vec<u8>,
}

impl<R: BufRead> MendedText<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, text: Vec::new(), at: 0, begun: Vec::new() }
    }

    /// Reads more input. The text is empty only at the end.
    fn fill(&mut self) -> io::Result<()> {
        (self.at, self.text) = (0, std::mem::take(&mut self.begun));
        let more = self.inner.fill_buf()?;
        let count = more.len();
        self.text.extend_from_slice(more);
        self.inner.consume(count);
        let Err(error) = std::str::from_utf8(&self.text) else { return Ok(()) };
        if count > 0 && error.error_len().is_none() {
            self.begun = self.text.split_off(error.valid_up_to());
            // The bytes are the beginning of one character, which the next bytes complete.
            return if self.text.is_empty() { self.fill() } else { Ok(()) };
        }
        self.begun = if count > 0 { split_begun(&mut self.text) } else { Vec::new() };
        self.text = replace_invalid_utf8(&self.text).into_bytes();
        Ok(())
    }
}

/// Removes an incomplete character from the end of the text.
fn split_begun(text: &mut Vec<u8>) -> Vec<u8> {
    let last = text.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
    let tail = text.len() - last;
    let is_begun = last > 0 && std::str::from_utf8(&text[tail..]).is_err_and(|error| error.error_len().is_none());
    if is_begun { text.split_off(tail) } else { Vec::new() }
}

impl<R: BufRead> Read for MendedText<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.fill()?;
        }
        let count = (&self.text[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}
