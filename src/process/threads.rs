//! The threads that answer.

use tokio::runtime::{Builder, Runtime};

use super::priority::answer_soon;

/// A runtime whose threads come first.
pub fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().on_thread_start(answer_soon).build()
}
