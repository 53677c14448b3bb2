//! The share of one user as bytes, in the format of [`postcard`]. A page says in which form its shares are.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Result, StoreError, decode, run_times};
use crate::domain::hierarchy::Share;
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::weight::Weight;

#[derive(Serialize, Deserialize)]
struct Packed<'a> {
    user: [u8; 16],
    project: [u8; 16],
    /// In ten-thousandths.
    weight: Option<i64>,
    /// A slot map as text.
    total_decayed_usage: &'a str,
    normalized_usage: f64,
    fair_share_factor: f64,
    /// `None`: no kernel has ended in the look-back window.
    run_times: Option<&'a str>,
}

/// Appends a share to a page.
pub fn push(page: Vec<u8>, member: Member, share: &Share) -> Vec<u8> {
    let times = share.run_times();
    let times = (!times.is_zero()).then(|| times.to_string());
    let packed = Packed {
        user: member.user.0.into_bytes(),
        project: member.project.0.into_bytes(),
        weight: share.weight.map(Weight::ten_thousandths),
        total_decayed_usage: &share.history.total_decayed_usage.to_json(),
        normalized_usage: share.history.normalized_usage,
        fair_share_factor: share.fair_share_factor,
        run_times: times.as_deref(),
    };
    postcard::to_extend(&packed, page).unwrap_or_else(|_| unreachable!("all parts of a share have a known length"))
}

/// Takes the first share off a page; returns it with the rest of the page.
pub fn take(page: &[u8]) -> Result<(Member, Share, &[u8])> {
    let packed = postcard::take_from_bytes::<Packed>(page);
    let (packed, rest) = packed.map_err(|error| StoreError::Damaged(error.to_string()))?;
    let member =
        Member { user: UserId(Uuid::from_bytes(packed.user)), project: ProjectId(Uuid::from_bytes(packed.project)) };
    let times = packed.run_times.map(run_times::decode).transpose()?.unwrap_or_default();
    let Packed { weight, total_decayed_usage, normalized_usage, fair_share_factor, .. } = packed;
    let share = decode::share(weight, total_decayed_usage, normalized_usage, fair_share_factor)?;
    Ok((member, share.with_run_times(times), rest))
}
