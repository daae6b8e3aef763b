//! A file straight to one object of an object store: compressed and uploaded part by part while it is read, with bounded
//! memory and no temporary file. The object appears when it is complete.
//!
//! `cargo run --release --example file_to_s3 --features aws -- FILE s3://BUCKET/KEY` with the usual AWS
//! variables (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`; `AWS_ENDPOINT_URL` for other servers). Without
//! arguments it writes generated data to a store in memory.

use std::error::Error;
use std::sync::Arc;

use futures::io::{AsyncRead, Cursor};
use oxiblosc::object::ObjectTarget;
use oxiblosc::object::object_store::ObjectStore;
use oxiblosc::object::object_store::aws::AmazonS3Builder;
use oxiblosc::object::object_store::memory::InMemory;
use oxiblosc::object::object_store::multipart::MultipartStore;
use oxiblosc::{EncodeParams, Summary, WriteOptions, block_on};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let summary = match &arguments[..] {
        [] => {
            let data: Vec<u8> = (0..10_000_000u32).flat_map(|i| (i % 1000).to_le_bytes()).collect();
            block_on(upload(Cursor::new(data), Arc::new(InMemory::new()), "made-up.b2frame"))?
        }
        [file, url] => {
            let (bucket, key) = url
                .strip_prefix("s3://")
                .and_then(|rest| rest.split_once('/'))
                .ok_or("the second argument must look like s3://BUCKET/KEY")?;
            let plain = std::env::var("AWS_ENDPOINT_URL").is_ok_and(|url| url.starts_with("http://"));
            let store = AmazonS3Builder::from_env().with_bucket_name(bucket).with_allow_http(plain).build()?;
            let file = blocking::Unblock::new(std::fs::File::open(file)?);
            block_on(upload(file, Arc::new(store), key))?
        }
        _ => return Err("usage: file_to_s3 [FILE s3://BUCKET/KEY]".into()),
    };
    println!("{} bytes became an object of {} bytes", summary.nbytes, summary.frame_len);
    Ok(())
}

async fn upload(
    input: impl AsyncRead + Unpin,
    store: Arc<impl ObjectStore + MultipartStore>,
    key: &str,
) -> Result<Summary, Box<dyn Error>> {
    let params = EncodeParams { typesize: 4, ..EncodeParams::default() };
    let mut sink = WriteOptions::new(params).sink(ObjectTarget::with_multipart(store, key))?;
    futures::io::copy(input, &mut sink).await?;
    // If the sink were dropped before this, the store would remove the parts.
    Ok(sink.close().await?)
}
