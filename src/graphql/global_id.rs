//! Opaque ids that are unique over all types: the type and what identifies the row in it.

use async_graphql::ID;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub fn encode(kind: &str, key: &[&str]) -> ID {
    let json = serde_json::to_vec(&(kind, key)).unwrap_or_default();
    ID(URL_SAFE_NO_PAD.encode(json))
}

/// `None`: not an id that [`encode`] made.
pub fn decode(id: &ID) -> Option<(String, Vec<String>)> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(id.as_bytes()).ok()?).ok()
}
