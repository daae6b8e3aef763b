//! A slice of an array in an object store: only the blocks that it touches are fetched, in a few requests.
//!
//! `cargo run --release --example s3_slice --features aws -- s3://BUCKET/KEY ":10, 5"` with the usual AWS
//! variables (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`; `AWS_ENDPOINT_URL` for other servers). Without
//! arguments it writes an array to a store in memory first.

use std::error::Error;
use std::sync::Arc;

use oxiblosc::block_on;
use oxiblosc::location::Location;
use oxiblosc::nd::{ArrayOptions, NdArray};
use oxiblosc::object::ObjectTarget;
use oxiblosc::object::object_store::memory::InMemory;
use oxiblosc::source::{ObjectSource, RangeSource};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    block_on(async {
        match &arguments[..] {
            [] => {
                let store = Arc::new(InMemory::new());
                let items: Vec<u8> = (0..1000 * 1000u32).flat_map(u32::to_le_bytes).collect();
                let target = ObjectTarget::with_multipart(Arc::clone(&store), "array.b2nd");
                ArrayOptions::new([1000, 1000], "<u4").write(items, target).await?;
                slice(ObjectSource::new(store, "array.b2nd".into()), "500:503, ::250").await
            }
            [url, selection] => slice(Location::parse(url)?.source().await?, selection).await,
            _ => Err("usage: s3_slice [URL SELECTION]".into()),
        }
    })
}

async fn slice<S: RangeSource + 'static>(source: S, selection: &str) -> Result<(), Box<dyn Error>> {
    let array = NdArray::open(source).await?;
    let part = array.read(&selection.parse()?).await?;
    println!("{:?} of {:?}: {} bytes", part.shape(), array.shape(), part.bytes().len());
    Ok(())
}
