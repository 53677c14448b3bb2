//! The references between modules: by `use`, by a path in the text, and through names that other modules re-export.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Token, tokens};

/// A module by its path; that of its file.
pub type Module = Vec<String>;

/// The most re-exports that are followed. A name with more of them stands for itself.
const DEEPEST: usize = 8;

/// The layers that are crates of their own: in their files `crate` means the layer.
pub const CRATES: [&str; 3] = ["api", "connectors", "domain"];

/// The modules of the program, those of [`CRATES`] among them.
#[derive(Default)]
pub struct House {
    modules: BTreeMap<Module, References>,
}

/// The references in the text of one module, as spelt there.
#[derive(Default)]
struct References {
    /// The path of each name that `use` brings in.
    names: BTreeMap<String, Vec<String>>,
    /// Every path, those of `use` included.
    paths: BTreeSet<Vec<String>>,
}

impl House {
    /// The modules of files, each with its path below `src` and its text. The path of a crate's file begins with the crate's name.
    pub fn of(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let modules = files.into_iter().map(|(path, text)| (module_of(&path), References::read(&tokens(&text))));
        Self { modules: modules.collect() }
    }

    pub fn modules(&self) -> impl Iterator<Item = &Module> {
        self.modules.keys()
    }

    /// Every module with the other ones that its text names.
    pub fn named(&self) -> BTreeSet<(Module, Module)> {
        self.edges(|module, path| Some(self.place(module, path, 0)?.0))
    }

    /// Every module with the other ones that define what its text refers to, directly or through re-exports.
    pub fn needed(&self) -> BTreeSet<(Module, Module)> {
        self.edges(|module, path| self.origin(module, path, 0))
    }

    fn edges(&self, target: impl Fn(&Module, &[String]) -> Option<Module>) -> BTreeSet<(Module, Module)> {
        let mut edges = BTreeSet::new();
        for (module, references) in &self.modules {
            let others = references.paths.iter().filter_map(|path| target(module, path));
            edges.extend(others.filter(|other| other != module).map(|other| (module.clone(), other)));
        }
        edges
    }

    /// The module that `path` names in `module`, and the rest of the path in that module; `None`: a path of another library.
    fn place(&self, module: &Module, path: &[String], depth: usize) -> Option<(Module, Vec<String>)> {
        let absolute = self.absolute(module, path, depth)?;
        let end = (0..=absolute.len()).rev().find(|end| self.modules.contains_key(&absolute[..*end]))?;
        Some((absolute[..end].to_vec(), absolute[end..].to_vec()))
    }

    /// The module that defines the target of `path` in `module`, with re-exports followed.
    fn origin(&self, module: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (found, rest) = self.place(module, path, depth)?;
        let passed_on = rest.split_first().and_then(|(name, rest)| {
            let path = [self.modules[&found].names.get(name)?, rest].concat();
            (depth < DEEPEST).then(|| self.origin(&found, &path, depth + 1))?
        });
        Some(passed_on.unwrap_or(found))
    }

    /// The path of `path` from the root of the program. A crate is named by its name or as a part of the library.
    fn absolute(&self, module: &Module, path: &[String], depth: usize) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => {
                let own = module.first().filter(|layer| CRATES.contains(&layer.as_str()));
                Some(own.into_iter().chain(rest).cloned().collect())
            }
            "self" => Some([module, rest].concat()),
            "super" => {
                let ups = 1 + rest.iter().take_while(|word| *word == "super").count();
                Some([&module[..module.len().checked_sub(ups)?], &rest[ups - 1..]].concat())
            }
            _ => {
                let child = [module.as_slice(), path].concat();
                if self.modules.contains_key(&child[..=module.len()]) {
                    return Some(child);
                }
                let Some(origin) = self.modules.get(module)?.names.get(first).filter(|origin| *origin != path) else {
                    return CRATES.contains(&first.as_str()).then(|| path.to_vec());
                };
                let origin = (depth < DEEPEST).then(|| self.absolute(module, origin, depth + 1))??;
                Some([&origin, rest].concat())
            }
        }
    }
}

/// `service/people/mod.rs` and `service/people.rs` are both `service::people`.
fn module_of(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path == "lib" { Module::new() } else { path.split('/').map(str::to_owned).collect() }
}

impl References {
    fn read(tokens: &[Token]) -> Self {
        let mut found = Self::default();
        let mut at = 0;
        while at < tokens.len() {
            match tokens[at].word() {
                Some("use") if !tokens.get(at + 1).is_some_and(|next| next.is('<')) => {
                    at = found.read_tree(tokens, at + 1, &[]);
                }
                Some(_) => at = found.read_path(tokens, at),
                None => at += 1,
            }
        }
        found
    }

    /// Reads a tree of `use` below `prefix`. Returns where it ends.
    fn read_tree(&mut self, tokens: &[Token], mut at: usize, prefix: &[String]) -> usize {
        let mut path = prefix.to_vec();
        loop {
            match tokens.get(at) {
                Some(Token::Path) => at += 1,
                Some(Token::Mark('{')) => return self.read_branches(tokens, at + 1, &path),
                Some(Token::Mark('*')) => {
                    self.paths.insert(path);
                    return at + 1;
                }
                Some(Token::Word(word)) => {
                    if word != "self" || path.is_empty() {
                        path.push(word.clone());
                    }
                    at += 1;
                    if tokens.get(at) != Some(&Token::Path) {
                        return self.read_leaf(tokens, at, path);
                    }
                }
                _ => return at,
            }
        }
    }

    /// Reads the trees between braces.
    fn read_branches(&mut self, tokens: &[Token], mut at: usize, prefix: &[String]) -> usize {
        loop {
            match tokens.get(at) {
                None => return at,
                Some(Token::Mark('}')) => return at + 1,
                Some(Token::Mark(_)) => at += 1,
                Some(_) => at = self.read_tree(tokens, at, prefix),
            }
        }
    }

    /// Notes a whole path and the name that it has from here on.
    fn read_leaf(&mut self, tokens: &[Token], at: usize, path: Vec<String>) -> usize {
        let renamed = tokens.get(at).and_then(Token::word) == Some("as");
        let name = if renamed { tokens.get(at + 1).and_then(Token::word) } else { path.last().map(String::as_str) };
        self.names.extend(name.map(|name| (name.to_owned(), path.clone())));
        self.paths.insert(path);
        if renamed { at + 2 } else { at }
    }

    /// Reads a path in the text, such as `crate::domain::time::Day`. Returns where it ends.
    fn read_path(&mut self, tokens: &[Token], mut at: usize) -> usize {
        let continues = at > 0 && (tokens[at - 1] == Token::Path || tokens[at - 1].is('$'));
        let mut path = Vec::new();
        while let Some(word) = tokens.get(at).and_then(Token::word) {
            path.push(word.to_owned());
            at += 1;
            if tokens.get(at) != Some(&Token::Path) {
                break;
            }
            at += 1;
        }
        if path.len() > 1 && !continues {
            self.paths.insert(path);
        }
        at
    }
}
