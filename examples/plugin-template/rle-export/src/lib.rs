//! The codec rle as a shared library.

use rle as _;

oxiblosc_export::export_codec!("rle");
