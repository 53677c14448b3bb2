//! Splits a JSON array that arrives in pieces into its elements. Only the current element is kept in memory.

use crate::service::input::json::{JsonError, MAX_DEPTH, too_deep};

/// One element of the array.
#[derive(Debug, PartialEq, Eq)]
pub enum ArrayElement<'a> {
    Whole(&'a [u8]),
    /// The element is longer than the limit.
    TooLong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArrayPlace {
    /// Between `[` and the first element, or `]`.
    Start,
    /// After a comma, where an element has to begin.
    Before,
    Inside,
    /// After the array.
    End,
}

/// The position relative to JSON strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StringPlace {
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

/// Reads an array. The opening bracket has been read before.
pub struct ArrayElements {
    place: ArrayPlace,
    depth: usize,
    text: StringPlace,
    /// The beginning of an element that has not ended yet.
    kept: Vec<u8>,
    /// `kept` has been returned, and is cleared by the next call.
    spent: bool,
    too_long: bool,
    most: usize,
}

impl ArrayElements {
    /// Reads elements of at most `most` bytes.
    pub fn new(most: usize) -> Self {
        Self {
            place: ArrayPlace::Start,
            depth: 0,
            text: StringPlace::Outside,
            kept: Vec::new(),
            spent: false,
            too_long: false,
            most,
        }
    }

    /// The next element that ends in `rest`. The bytes that were read are removed from `rest`.
    pub fn next<'a, 'r: 'a>(&'a mut self, rest: &mut &'r [u8]) -> Result<Option<ArrayElement<'a>>, JsonError> {
        if std::mem::take(&mut self.spent) {
            self.kept.clear();
        }
        let piece = *rest;
        let mut begin = 0;
        for (at, byte) in piece.iter().enumerate() {
            match self.place {
                ArrayPlace::Inside => {
                    if !self.ends_with(*byte)? {
                        continue;
                    }
                    self.place = if *byte == b',' { ArrayPlace::Before } else { ArrayPlace::End };
                    *rest = &piece[at + 1..];
                    return Ok(Some(self.hand_out(&piece[begin..at])));
                }
                _ if byte.is_ascii_whitespace() => {}
                ArrayPlace::Start if *byte == b']' => self.place = ArrayPlace::End,
                ArrayPlace::End => return Err(broken_json("something follows the array")),
                ArrayPlace::Start | ArrayPlace::Before => {
                    if matches!(byte, b',' | b']') {
                        return Err(broken_json("an element of the array is missing"));
                    }
                    self.place = ArrayPlace::Inside;
                    begin = at;
                    self.ends_with(*byte)?;
                }
            }
        }
        if self.place == ArrayPlace::Inside {
            self.keep(&piece[begin..]);
        }
        *rest = &[];
        Ok(None)
    }

    /// Fails if the array has not ended.
    pub fn finish(&self) -> Result<(), JsonError> {
        if self.place == ArrayPlace::End { Ok(()) } else { Err(broken_json("the array ends early")) }
    }

    /// Processes a byte of an element. Returns true if it is the first byte after the element.
    fn ends_with(&mut self, byte: u8) -> Result<bool, JsonError> {
        match byte {
            _ if self.text == StringPlace::Escaped => self.text = StringPlace::Inside,
            b'\\' if self.text == StringPlace::Inside => self.text = StringPlace::Escaped,
            b'"' => {
                self.text = if self.text == StringPlace::Inside { StringPlace::Outside } else { StringPlace::Inside }
            }
            _ if self.text == StringPlace::Inside => {}
            b'[' | b'{' => {
                self.depth += 1;
                if self.depth >= MAX_DEPTH {
                    return Err(too_deep());
                }
            }
            b',' | b']' if self.depth == 0 => return Ok(true),
            b']' | b'}' => {
                self.depth =
                    self.depth.checked_sub(1).ok_or_else(|| broken_json("a bracket is closed that was not open"))?;
            }
            _ => {}
        }
        Ok(false)
    }

    fn keep(&mut self, piece: &[u8]) {
        self.too_long |= self.kept.len() + piece.len() > self.most;
        if self.too_long {
            self.kept = Vec::new();
        } else {
            self.kept.extend_from_slice(piece);
        }
    }

    fn hand_out<'a>(&'a mut self, end: &'a [u8]) -> ArrayElement<'a> {
        if self.kept.is_empty() && !self.too_long && end.len() <= self.most {
            return ArrayElement::Whole(end);
        }
        self.keep(end);
        self.spent = true;
        if std::mem::take(&mut self.too_long) { ArrayElement::TooLong } else { ArrayElement::Whole(&self.kept) }
    }
}

fn broken_json(what: &str) -> JsonError {
    JsonError::Malformed { code: "malformed_json", detail: format!("the JSON document is no array: {what}") }
}
