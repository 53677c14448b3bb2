//! The files of the source.

use std::path::{Path, PathBuf};

/// The folder that everything is in.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The Rust files below a folder with their texts, by their paths there.
pub fn rust_files(folder: &str) -> Vec<(String, String)> {
    files(folder, &["rs"])
}

/// The files below a folder that end with one of these extensions, with their texts, by their paths there.
pub fn files(folder: &str, extensions: &[&str]) -> Vec<(String, String)> {
    let root = root().join(folder);
    let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extensions.iter().any(|known| extension == *known)) {
                found.push((below(&path, &root), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The source of the program and of all its crates, by path.
pub fn sources() -> impl Iterator<Item = (String, String)> {
    ["src", "api/src", "connectors/src", "domain/src", "migration/src"].into_iter().flat_map(|folder| {
        let found = rust_files(folder).into_iter();
        found.map(move |(name, text)| (format!("{folder}/{name}"), text))
    })
}

fn below(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap().to_str().unwrap().to_owned()
}
