//! Many writers, one array: each fills the chunks it owns, none knows of the others, and one of them commits. They may be
//! processes on many machines; here they are tasks, and the array lies under a prefix of a store in memory. They agree
//! through a plan that is stored there.
//!
//! `cargo run --release --example many_writers --features object_store`

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::try_join_all;
use oxiblosc::block_on;
use oxiblosc::nd::ArrayOptions;
use oxiblosc::object::ObjectPrefix;
use oxiblosc::object::object_store::memory::InMemory;
use oxiblosc::sparse::{MissingChunks, ShareError, SharedWriter};

const WRITERS: u64 = 4;

/// The plan, written by the writer that creates it and read by the others.
fn options() -> ArrayOptions {
    ArrayOptions::new([1000, 2000], "<f4").chunks([200, 500])
}

/// One of the writers; it could be a separate process.
async fn writer(place: ObjectPrefix, share: u64) -> Result<(), ShareError> {
    let writer = SharedWriter::open(place).await?;
    for i in (0..writer.nchunks()).filter(|i| i % WRITERS == share) {
        let bytes = writer.chunk_bytes(i)? as usize;
        let items: Vec<u8> = (0..bytes / 4).flat_map(|_| (i as f32).to_le_bytes()).collect();
        writer.write(i, Bytes::from(items)).await?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let place = ObjectPrefix::new(Arc::new(InMemory::new()), "measurements/today.b2nd");
    block_on(async {
        let one = SharedWriter::create_array(place.clone(), options()).await?;
        // A writer with different options for the array gets an error.
        let error = SharedWriter::create_array(place.clone(), options().chunks([100, 1000])).await;
        println!("{}", error.expect_err("the plan is another one"));

        // The last writer has not run: its chunks are missing.
        try_join_all((0..WRITERS - 1).map(|share| writer(place.clone(), share))).await?;
        let error = one.commit(MissingChunks::Fail).await.expect_err("chunks are missing");
        println!("{error}");

        writer(place.clone(), WRITERS - 1).await?;
        let other = SharedWriter::open(place.clone()).await?;
        let summary = one.commit(MissingChunks::Fail).await?;
        println!("{} chunks, {} bytes", summary.chunks, summary.frame_len);

        // Only one can commit; the other gets an error.
        let error = other.commit(MissingChunks::Fail).await.expect_err("it is committed already");
        println!("{error}");

        // A job that was started twice, or comes too late, cannot change what is committed.
        let late = Bytes::from(vec![0; other.chunk_bytes(0)? as usize]);
        println!("{}", other.write(0, late).await.expect_err("it is committed already"));
        Ok(())
    })
}
