//! Gigabytes from standard input straight to one object.
//!
//! `OXIBLOSC_S3_MIB` sets how many MiB there are, for machines that cannot spare the minute.

use std::fs;
use std::io::Write;
use std::time::Instant;

use crate::command::noise;
use crate::program::{command, ended, url};
use crate::server::{BUCKET, Server, alone};

/// Numbers in a row.
const ROW: u64 = 1024;

/// Downloads the array, compares all of it, then reads parts of it from afar.
const SCRIPT: &str = r"
import sys, tempfile, blosc2, numpy as np, s3fs
bucket, key, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
def expected(a, b):
    mixed = np.arange(a * 1024 + 1, b * 1024 + 1, dtype='u8') * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
    return (mixed >> np.uint64(52)).astype('u4').reshape(b - a, 1024)
with tempfile.TemporaryDirectory() as d:
    s3fs.S3FileSystem().get(f'{bucket}/{key}', f'{d}/array.b2nd')
    array = blosc2.open(f'{d}/array.b2nd')
    assert array.shape == (rows, 1024) and array.dtype == np.dtype('u4'), array.info
    for a in range(0, rows, 8192):
        b = min(rows, a + 8192)
        assert np.array_equal(array[a:b], expected(a, b)), a
array = blosc2.open(f's3://{bucket}/{key}', mode='r', lazy=True)
for a, b in ((0, 1), (rows // 2 - 3, rows // 2 + 3), (rows - 1000, rows)):
    assert np.array_equal(array[a:b, 5:1000:7], expected(a, b)[:, 5:1000:7]), a
";

/// What the program has needed of memory at most so far, in MiB, where the system tells.
fn peak(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? >> 10)
}

fn streamed(server: &Server, mib: u64) {
    let _alone = alone();
    let endpoint = server.endpoint();
    let url = url("streamed.b2nd");
    let args = ["compress", "-", &url, "--dtype", "u4", "--shape", "-1,1024", "--codec", "lz4", "--level", "1"];
    let begin = Instant::now();
    let mut child = command(&endpoint, &args).spawn().expect("the program was built");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let rows = mib * 256;
    let (mut most, mut piece) = (0, Vec::new());
    for row in (0..rows).step_by(256) {
        piece.clear();
        let numbers = (row * ROW..(row + 256) * ROW).map(|i| (noise(i) >> 52) as u32);
        piece.extend(numbers.flat_map(u32::to_le_bytes));
        stdin.write_all(&piece).expect("it reads");
        most = most.max(peak(child.id()).unwrap_or(0));
    }
    let id = child.id();
    drop(stdin);
    let last = std::thread::spawn(move || {
        let mut last = 0;
        while let Some(found) = peak(id) {
            last = found;
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        last
    });
    ended(child).ok();
    let took = begin.elapsed();
    let most = most.max(last.join().expect("it only reads"));
    let len = server.len("streamed.b2nd").expect("it is there");
    println!("{mib} MiB became an object of {} MiB in {took:?}, with at most {most} MiB of memory", len >> 20);
    assert!(most < 200, "{most} MiB");
    server.python(SCRIPT, &endpoint, &[BUCKET, "streamed.b2nd", &rows.to_string()]);
}

#[test]
fn from_standard_input_with_s3s() {
    let mib = std::env::var("OXIBLOSC_S3_MIB").ok().and_then(|mib| mib.parse().ok()).unwrap_or(1024);
    streamed(&Server::s3s(), mib);
}

#[test]
fn from_standard_input_with_moto() {
    if let Some(server) = Server::moto() {
        streamed(&server, 96);
    }
}
