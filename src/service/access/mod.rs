//! Identities, their rights, and what they share of the server.
//!
//! A way to prove an identity (an API key, a session of the web pages) makes a [`Principal`] of it. Use cases know nothing of
//! these ways: they ask the [`Caller`] what it may do, and count its work for its [`ClientId`].

mod caller;
pub mod client_semaphores;
mod principal;
mod role;

pub use caller::{Caller, CallerAccess, KeyReach};
pub use principal::{ClientId, Principal};
pub use role::Role;
