//! Objects that URLs name.
//!
//! Without the feature `remote` there are none: parsing a URL fails before one can be made, so what would be done with
//! it needs no code, and neither the crate `object_store` nor Tokio is built.

#[cfg(not(feature = "remote"))]
mod none;
#[cfg(feature = "remote")]
mod object;

#[cfg(not(feature = "remote"))]
pub(crate) use none::Remote;
#[cfg(feature = "remote")]
pub(crate) use object::Remote;
