//! The lines of a file or of standard input, gzip or plain, in memory that does not grow with the file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::ImportError;
use super::reason::{DropReason, EndedEarly};
use super::utf8::{MendedText, replace_invalid_utf8};

/// The longest line that is read, in bytes. A longer one is dropped, and reading continues with the next line.
pub const MAX_LINE: usize = 1 << 20;
const BUFFER_BYTES: usize = 1 << 16;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The number of bytes by which gzip and JSON are recognised, after a byte order mark too.
const MAGIC_BYTES: usize = 4;
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The amount of input that has been read, before decompression. It can be read from another thread.
#[derive(Clone, Debug)]
pub struct ReadProgress {
    read: Arc<AtomicU64>,
    total: Option<u64>,
}

impl ReadProgress {
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The size of the file; `None` for a pipe.
    pub fn total(&self) -> Option<u64> {
        self.total
    }
}

struct CountedReader<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// One line, without its line ending.
#[derive(Debug, PartialEq, Eq)]
pub enum SourceLine<'a> {
    Text(&'a str),
    /// The line cannot be used; `first` is its first byte.
    Unreadable {
        reason: DropReason,
        first: u8,
    },
}

/// A stream of lines with their numbers.
pub struct LineSource {
    reader: Box<dyn BufRead + Send>,
    progress: ReadProgress,
    buffer: Vec<u8>,
    line: u64,
    done: bool,
    whole_lines: bool,
    any_encoding: bool,
    ended_early: Option<EndedEarly>,
}

impl LineSource {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        if path == Path::new("-") {
            return Ok(Self::new(io::stdin(), None));
        }
        let failed = |error| ImportError::Open { path: path.to_owned(), error };
        let file = File::open(path).map_err(failed)?;
        let facts = file.metadata().map_err(failed)?;
        if facts.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        Ok(Self::new(file, facts.is_file().then_some(facts.len())))
    }

    /// Reads any input. Gzip is recognised by its first bytes, never by a name.
    pub fn new(input: impl Read + Send + 'static, total: Option<u64>) -> Self {
        let progress = ReadProgress { read: Arc::default(), total };
        let mut input = CountedReader { inner: input, read: Arc::clone(&progress.read) };
        let mut head = Vec::with_capacity(MAGIC_BYTES);
        let peeked = input.by_ref().take(MAGIC_BYTES as u64).read_to_end(&mut head);
        let zipped = head.starts_with(&GZIP_MAGIC);
        let raw = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(input));
        let reader: Box<dyn BufRead + Send> = if zipped {
            Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(raw)))
        } else {
            Box::new(raw)
        };
        let mut source = Self {
            reader,
            progress,
            buffer: Vec::new(),
            line: 0,
            done: false,
            whole_lines: false,
            any_encoding: false,
            ended_early: None,
        };
        if let Err(error) = peeked {
            source.line = 1;
            source.stop(&error);
        }
        source
    }

    /// Requires an end of line on the last line too. A program writes one on every line, so a last line without it
    /// broke off and may lack digits. People omit it.
    #[must_use]
    pub fn of_whole_lines(mut self) -> Self {
        self.whole_lines = true;
        self
    }

    /// Lines with invalid UTF-8 get [`super::utf8::NOT_UTF8`] in place of the invalid bytes.
    #[must_use]
    pub fn of_any_encoding(mut self) -> Self {
        self.any_encoding = true;
        self
    }

    /// True if the input begins, after blanks, with a JSON object. Nothing is consumed.
    pub fn is_json(&mut self) -> bool {
        let start = self.reader.fill_buf().unwrap_or_default();
        let start = start.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(start);
        start.trim_ascii_start().first() == Some(&b'{')
    }

    /// The rest as text, for input without lines.
    pub fn into_reader(mut self) -> impl Read + Send {
        if self.reader.fill_buf().is_ok_and(|start| start.starts_with(BYTE_ORDER_MARK.as_bytes())) {
            self.reader.consume(BYTE_ORDER_MARK.len());
        }
        MendedText::new(self.reader)
    }

    pub fn progress(&self) -> ReadProgress {
        self.progress.clone()
    }

    /// The number of the line that was read last, from 1 on.
    pub fn line_number(&self) -> u64 {
        self.line
    }

    /// Set if the stream broke off instead of ending.
    pub fn ended_early(&self) -> Option<&EndedEarly> {
        self.ended_early.as_ref()
    }

    /// The next line; `None` at the real end or an early one.
    pub fn next_line(&mut self) -> Option<SourceLine<'_>> {
        if self.done {
            return None;
        }
        self.line += 1;
        self.buffer.clear();
        let mut limited = self.reader.by_ref().take(MAX_LINE as u64 + 1);
        // A line that breaks off with an error is no row, because it may lack its last digits.
        let read = match limited.read_until(b'\n', &mut self.buffer) {
            Ok(read) => read,
            Err(error) => return self.stop(&error),
        };
        if read == 0 {
            self.line -= 1;
            self.done = true;
            return None;
        }
        let first = self.buffer[0];
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        } else if read > MAX_LINE {
            if let Err(error) = self.reader.skip_until(b'\n') {
                return self.stop(&error);
            }
            return Some(SourceLine::Unreadable { reason: DropReason::LineTooLong, first });
        } else if self.whole_lines {
            return self.broken_off("its last line has no end".to_owned());
        }
        if self.buffer.last() == Some(&b'\r') {
            self.buffer.pop();
        }
        if self.any_encoding && std::str::from_utf8(&self.buffer).is_err() {
            self.buffer = replace_invalid_utf8(&self.buffer).into_bytes();
        }
        Some(match std::str::from_utf8(&self.buffer) {
            Ok(text) if self.line == 1 => SourceLine::Text(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)),
            Ok(text) => SourceLine::Text(text),
            Err(_) => SourceLine::Unreadable { reason: DropReason::InvalidUtf8, first },
        })
    }

    fn stop(&mut self, error: &io::Error) -> Option<SourceLine<'static>> {
        self.broken_off(Self::cause(error))
    }

    /// The reason why reading broke off, in words.
    pub(super) fn cause(error: &io::Error) -> String {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => "the compressed data is cut off".to_owned(),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                format!("the compressed data is damaged ({error})")
            }
            _ => error.to_string(),
        }
    }

    fn broken_off(&mut self, cause: String) -> Option<SourceLine<'static>> {
        self.done = true;
        self.ended_early = Some(EndedEarly { line: self.line, cause });
        None
    }
}
