//! Writes an array with the codec `oxiblosc` to a directory, and reads a part of it.
//!
//! cargo run --example array [DIRECTORY]

use std::error::Error;
use std::sync::Arc;

use oxiblosc_zarrs::{Blosc2Codec, Blosc2Configuration};
use zarrs::array::{Array, ArrayBuilder, data_type};
use zarrs::filesystem::FilesystemStore;

fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let directory = std::env::args_os().nth(1).map_or_else(|| temporary.path().join("numbers.zarr"), Into::into);

    // Once, before arrays are opened: see the README.
    oxiblosc_zarrs::register();
    let codec = Blosc2Codec::new(Blosc2Configuration {
        codec: "zstd".into(),
        filters: vec!["shuffle".into(), "bytedelta".into()],
        typesize: Some(4),
        ..Blosc2Configuration::default()
    })?;
    let store = Arc::new(FilesystemStore::new(&directory)?);
    let array = ArrayBuilder::new(vec![1000, 2000], vec![250, 500], data_type::int32(), 0)
        .bytes_to_bytes_codecs(vec![Arc::new(codec)])
        .build(Arc::clone(&store), "/")?;
    array.store_metadata()?;
    array.store_array_subset(&array.subset_all(), (0..2_000_000).collect::<Vec<i32>>())?;

    let array = Array::open(store, "/")?;
    let part: Vec<i32> = array.retrieve_array_subset(&[999..1000, 1998..2000])?;
    assert_eq!(part, [1_999_998, 1_999_999]);
    println!("{part:?}");
    Ok(())
}
