//! The files of `ui/dist` with their types and entity tags, compressed once.

use std::collections::HashMap;
use std::io::Write;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};

#[derive(RustEmbed)]
#[folder = "ui/dist"]
struct DistFolder;

/// One file of the web pages.
#[derive(Clone, Debug)]
pub struct PageFile {
    pub kind: &'static str,
    /// A strong entity tag, made from the uncompressed bytes.
    pub etag: String,
    pub plain: Bytes,
    pub gzip: Bytes,
}

impl PageFile {
    pub fn new(kind: &'static str, plain: Bytes) -> Self {
        let etag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&Sha256::digest(&plain)[..12]));
        Self { kind, etag, gzip: compress(&plain), plain }
    }
}

static PAGE_FILES: LazyLock<HashMap<String, PageFile>> = LazyLock::new(|| {
    let file = |name: &str| Some(PageFile::new(kind(name)?, DistFolder::get(name)?.data.into_owned().into()));
    DistFolder::iter().filter_map(|name| Some((name.to_string(), file(&name)?))).collect()
});

/// The file at `path` below `ui/dist`.
pub fn find(path: &str) -> Option<&'static PageFile> {
    PAGE_FILES.get(path)
}

/// The media type, by the suffix of the name; `None`: the pages have no such files.
fn kind(name: &str) -> Option<&'static str> {
    let (_, end) = name.rsplit_once('.')?;
    match end {
        "html" => Some("text/html; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}

fn compress(plain: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let written = encoder.write_all(plain).and_then(|()| encoder.finish());
    written.map(Bytes::from).unwrap_or_default()
}
