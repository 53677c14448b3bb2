//! Opaque ids that are unique across all types. They contain the type and the key of the row.

use async_graphql::ID;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub fn encode(kind: &str, key: &[&str]) -> ID {
    let json = serde_json::to_vec(&(kind, key)).unwrap_or_default();
    ID(URL_SAFE_NO_PAD.encode(json))
}

/// The inverse of [`encode`]; `None` if `encode` did not make the id.
pub fn decode(id: &ID) -> Option<(String, Vec<String>)> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(id.as_bytes()).ok()?).ok()
}
