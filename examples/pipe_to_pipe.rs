//! From a pipe into a pipe: standard input, in gzip, Zstandard or LZ4 or as it is, becomes a frame on standard output,
//! with bounded memory. Neither of them can seek.
//!
//! `gzip -dc data.gz | cargo run --release --example pipe_to_pipe --features compression > data.b2frame`, or without the
//! `gzip -dc`. With `--open` the frame is written as it is made, without a temporary file; it is then open-ended, and
//! has to be sealed once it is in a file. When standard input is a terminal, it generates some data.

use std::error::Error;
use std::io::{self, IsTerminal};

use blocking::Unblock;
use futures::io::{AsyncRead, Cursor};
use oxiblosc::target::{OpenTarget, SpoolTarget, Target};
use oxiblosc::transport::decode;
use oxiblosc::{CodecId, EncodeParams, Summary, WriteOptions, block_on};

fn main() -> Result<(), Box<dyn Error>> {
    let open = std::env::args().any(|argument| argument == "--open");
    // Standard streams block: they are read and written on threads that may.
    let output = Unblock::new(io::stdout());
    let summary = if io::stdin().is_terminal() {
        let made_up: Vec<u8> = (0..1_000_000u32).flat_map(|i| (i / 3).to_le_bytes()).collect();
        block_on(run(Cursor::new(made_up), futures::io::sink(), open))?
    } else {
        block_on(run(Unblock::new(io::stdin()), output, open))?
    };
    eprintln!("{} bytes in {} chunks became {} bytes", summary.nbytes, summary.chunks, summary.frame_len);
    Ok(())
}

async fn run<R, W>(input: R, output: W, open: bool) -> Result<Summary, Box<dyn Error>>
where
    R: AsyncRead + Unpin,
    W: futures::io::AsyncWrite + Unpin,
{
    if open { copy(input, OpenTarget::new(output)).await } else { copy(input, SpoolTarget::new(output)).await }
}

async fn copy<R: AsyncRead + Unpin, T: Target>(input: R, target: T) -> Result<Summary, Box<dyn Error>> {
    let params = EncodeParams { codec: CodecId::ZSTD, level: 3, typesize: 4, ..EncodeParams::default() };
    let mut sink = WriteOptions::new(params).chunk_size(1 << 20).sink(target)?;
    futures::io::copy(decode(input).await?, &mut sink).await?;
    sink.flush().await?;
    Ok(sink.close().await?)
}
