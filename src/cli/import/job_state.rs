//! The states of jobs, where a row lacks a time.

/// Final states that only a job that has started can have. Cancelled jobs, and those of which a node did not boot or whose
/// deadline passed, may have waited until then.
const STATES_AFTER_START: [&str; 7] =
    ["COMPLETED", "SUCCEEDED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"];

/// True for a final state that only a job that has started can have.
pub(super) fn implies_start(state: &str) -> bool {
    let word = state.split_ascii_whitespace().next().unwrap_or_default();
    let is_whole = |known: &&str| known.eq_ignore_ascii_case(word);
    // sacct cuts a state off at the width of its column.
    let begins_so = |known: &&str| {
        let cut_off = word.strip_suffix('+').filter(|beginning| !beginning.is_empty());
        cut_off.and_then(|beginning| known.get(..beginning.len()).map(|known| known.eq_ignore_ascii_case(beginning)))
            == Some(true)
    };
    STATES_AFTER_START.iter().any(|known| is_whole(known) || begins_so(known))
}
