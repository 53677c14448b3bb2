//! `GET /keys`: all keys by time of creation, without their texts.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::KeyView;
use crate::rest::extract::QueryParams;
use crate::rest::list::{List, ListCursor, PageQuery};
use crate::rest::problem::Result;
use crate::service::input::page::{CursorKey, cut_window};
use crate::service::keys::StoredKey;
use crate::service::{Caller, Service};

const LIST: &str = "keys";

/// All keys by creation, without their texts.
#[utoipa::path(
    get, path = "/keys", operation_id = "list_keys", tag = "Access",
    params(PageQuery), responses((status = 200, body = List<KeyView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<List<KeyView>>> {
    let cursor = ListCursor::new(LIST, "");
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let mut keys = service.keys(&caller).await?;
    keys.sort_by_key(|k| (k.created_at, k.id));
    let people = service.people();
    Ok(Json(cursor.answer(cut_window(LIST, &keys, sort_key, &window).map(|key| KeyView::new(key, &people)))))
}

fn sort_key(key: &StoredKey) -> Vec<CursorKey> {
    vec![CursorKey::Number(key.created_at.micros().unsigned_abs()), CursorKey::Text(key.id.to_string())]
}
