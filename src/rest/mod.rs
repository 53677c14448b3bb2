//! REST: one endpoint a file, `<resource>/<verb>.rs`.
