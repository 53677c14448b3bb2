//! The shape of the source, and the names that its pages tell.

mod comments;
mod files;
mod imports;
mod leftovers;
mod registries;
mod shape;
mod source;
