//! The structure of the source, and the names in its pages.

mod comments;
mod files;
mod imports;
mod leftovers;
mod names;
mod registries;
mod shape;
mod source;
mod statements;
mod words;
