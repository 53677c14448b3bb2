//! Rust source as words and punctuation, without comments, literals and code for tests only.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A keyword, or the name of something.
    Word(String),
    /// `::`
    Path,
    Mark(char),
}

impl Token {
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }

    pub fn is(&self, mark: char) -> bool {
        *self == Self::Mark(mark)
    }
}

/// The tokens of a file that the program itself compiles.
pub fn tokens(text: &str) -> Vec<Token> {
    without_tests(&Reader { rest: text }.read())
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn read(mut self) -> Vec<Token> {
        let mut found = Vec::new();
        while let Some(next) = self.rest.chars().next() {
            match next {
                _ if self.rest.starts_with("//") => self.skip_past("\n"),
                _ if self.rest.starts_with("/*") => self.skip_comment(),
                _ if self.rest.starts_with("::") => {
                    self.skip(2);
                    found.push(Token::Path);
                }
                '"' => self.skip_text(),
                '\'' => self.skip_character_or_lifetime(),
                '0'..='9' => drop(self.take_word()),
                _ if is_part_of_word(next) => {
                    let word = self.take_word();
                    found.extend(self.unless_prefix(word).map(Token::Word));
                }
                _ => {
                    self.skip(next.len_utf8());
                    found.extend((!next.is_whitespace()).then_some(Token::Mark(next)));
                }
            }
        }
        found
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn skip_past(&mut self, end: &str) {
        self.rest = self.rest.split_once(end).map_or("", |(_, rest)| rest);
    }

    fn skip_comment(&mut self) {
        let mut depth = 0;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.skip(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.skip(2);
            } else {
                self.skip(self.rest.chars().next().map_or(0, char::len_utf8));
            }
            if depth == 0 || self.rest.is_empty() {
                return;
            }
        }
    }

    /// A text, from its first quotation mark on.
    fn skip_text(&mut self) {
        self.skip(1);
        while let Some(at) = self.rest.find(['"', '\\']) {
            let ends = self.rest[at..].starts_with('"');
            self.skip(at + 1);
            if ends {
                return;
            }
            self.skip(self.rest.chars().next().map_or(0, char::len_utf8));
        }
        self.rest = "";
    }

    /// A text without escapes, from the marks between its prefix and its first quotation mark on.
    fn skip_raw_text(&mut self) {
        let marks = self.rest.len() - self.rest.trim_start_matches('#').len();
        self.skip(marks + 1);
        self.skip_past(&format!("\"{}", "#".repeat(marks)));
    }

    fn skip_character_or_lifetime(&mut self) {
        self.skip(1);
        let mut inside = self.rest.chars();
        let first = inside.next();
        if first == Some('\\') {
            self.skip(2);
            self.skip_past("'");
        } else if inside.next() == Some('\'') {
            self.skip(first.map_or(0, char::len_utf8) + 1);
        } else {
            self.take_word();
        }
    }

    fn take_word(&mut self) -> String {
        let end = self.rest.find(|c| !is_part_of_word(c)).unwrap_or(self.rest.len());
        let word = self.rest[..end].to_owned();
        self.skip(end);
        word
    }

    /// The word, unless it is the prefix of a literal, which is skipped.
    fn unless_prefix(&mut self, word: String) -> Option<String> {
        let raw_text = self.rest.trim_start_matches('#').starts_with('"');
        match word.as_str() {
            "r" | "br" | "cr" if raw_text => self.skip_raw_text(),
            "r" if self.rest.starts_with('#') => {
                self.skip(1);
                return Some(self.take_word());
            }
            "b" | "c" if self.rest.starts_with('"') => self.skip_text(),
            "b" if self.rest.starts_with('\'') => self.skip_character_or_lifetime(),
            _ => return Some(word),
        }
        None
    }
}

fn is_part_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Leaves out each item after `#[cfg(test)]`.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mark = Reader { rest: "#[cfg(test)]" }.read();
    let mut kept = Vec::new();
    let mut rest = tokens;
    while let Some(next) = rest.first() {
        rest = if rest.starts_with(&mark) {
            &rest[end_of_item(rest)..]
        } else {
            kept.push(next.clone());
            &rest[1..]
        };
    }
    kept
}

/// The end of the item that begins here, attributes included: after its body, or after its semicolon.
fn end_of_item(tokens: &[Token]) -> usize {
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark(mark @ ('(' | '[' | '{')) => open.push(*mark),
            Token::Mark(')' | ']' | '}') => {
                let opened = open.pop();
                if opened == Some('{') && open.is_empty() {
                    return at + 1;
                }
            }
            Token::Mark(';') if open.is_empty() => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[test]
fn comments_literals_and_tests_are_left_out() {
    let text = r##"
        //! crate::a
        /* crate::b /* crate::c */ crate::d */
        fn f<'a>(x: &'a str) -> char { r"crate::e"; r#"crate::"f"#; b"crate::g\"crate::h"; '"'; '\''; b'x' }
        #[cfg(test)]
        #[allow(unused)]
        mod tests { use crate::i::{j}; fn k() { crate::l() } }
        #[cfg(test)]
        use crate::m;
        const N: u8 = 1u8; r#type
    "##;
    let words: Vec<_> = tokens(text).iter().filter_map(|token| token.word().map(str::to_owned)).collect();
    assert_eq!(words, ["fn", "f", "x", "str", "char", "const", "N", "u8", "type"]);
}
