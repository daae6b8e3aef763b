//! Many clients, and clients that misbehave.

use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::tempdir;

use super::server::{Answer, Server};
use crate::args;
use crate::program::{array_bytes, array_path, run, run_with};

#[test]
fn many_at_a_time() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("a.b2nd");
    run(args!["compress", array_path("fmri.npy"), &path, "--chunks", "1,7,33,50", "--quiet"]).ok();
    let all = run(args!["cat", &path]).ok();
    let server = Server::start(args![&path, "--max-requests", "4"]);
    let plane = 96 * 128 * 2;
    thread::scope(|scope| {
        for client in 0..32 {
            let (server, all) = (&server, &all);
            scope.spawn(move || {
                for turn in 0..8 {
                    let (volume, slice) = ((client + turn) % 2, (client * 7 + turn * 5) % 24);
                    let found = server.get(&format!("/a.b2nd?slice={volume},{slice}")).ok();
                    let start = (volume * 24 + slice) * plane;
                    assert!(found == all[start..start + plane], "volume {volume}, slice {slice}");
                }
            });
        }
    });
}

#[test]
fn one_connection_for_many_requests() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("f");
    run_with(args!["compress", "-", &path, "--quiet"], &[7; 1000]).ok();
    let server = Server::start([&path]);
    let mut stream = server.connect();
    let request = |slice: &str| format!("GET /f?slice={slice} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    // All of them before the first answer; the last one closes the connection.
    let last = "GET /f?slice=9 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let text = request(":5") + &request("0:0") + &request("99999") + &request(":7") + last;
    stream.write_all(text.as_bytes()).expect("it listens");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("answers");
    let text = String::from_utf8(bytes).expect("text");
    let statuses: Vec<&str> = text.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["200", "200", "400", "200", "200"], "{text}");
    assert!(text.ends_with("\u{7}"));
}

#[test]
fn clients_that_go_away() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("big.b2frame");
    let data = array_bytes("fmri.npy", 1_000_000).repeat(60);
    run_with(args!["compress", "-", &path, "--codec", "lz4", "--chunk-size", "1M", "--quiet"], &data).ok();
    let server = Server::start(args![&path, "--max-requests", "4", "--memory", "16M"]);
    let ask = |query: &str| {
        let mut stream = server.connect();
        let request = format!("GET /big.b2frame{query} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it listens");
        stream
    };
    for turn in 0..24 {
        let mut stream = ask(if turn % 2 == 0 { "?slice=" } else { "" });
        // Some of it, or nothing.
        if turn % 3 == 0 {
            let _ = stream.read_exact(&mut [0; 1000]);
        }
    }
    // Some send only half a request, and stay.
    let idle: Vec<_> = (0..20)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET /big.b2frame?sl").expect("it listens");
            stream
        })
        .collect();
    // The turns have come back.
    let begun = Instant::now();
    for _ in 0..8 {
        assert!(server.get("/big.b2frame?slice=:1000").ok() == data[..1000]);
    }
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    drop(idle);
}

#[test]
fn turns_are_limited() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("big.b2frame");
    let data = array_bytes("fmri.npy", 1_000_000).repeat(60);
    run_with(args!["compress", "-", &path, "--codec", "lz4", "--level", "0", "--quiet"], &data).ok();
    let server = Server::start(args![&path, "--max-requests", "1"]);
    let mut slow = server.connect();
    slow.write_all(b"GET /big.b2frame HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("it listens");
    slow.read_exact(&mut [0; 1]).expect("it has begun");
    // More than the buffers of the connection hold is still to be taken.
    let begun = Instant::now();
    let refused = server.get("/big.b2frame?info");
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused.failed(503);
    assert!(begun.elapsed() > Duration::from_secs(5));
    let mut bytes = vec![b'H'];
    slow.read_to_end(&mut bytes).expect("the rest");
    assert!(Answer::parse(&bytes).body.len() > data.len());
    assert_eq!(server.get("/big.b2frame?info").status, 200);
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_bounded() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("big.b2frame");
    let data = array_bytes("fmri.npy", 1_000_000).repeat(200);
    run_with(args!["compress", "-", &path, "--dtype", "i2", "--shape", "-1,1000", "--codec", "lz4", "--quiet"], &data)
        .ok();
    let server = Server::start(args![&path, "--memory", "32M", "--max-slice", "1G"]);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut stream = server.connect();
                let request = b"GET /big.b2frame?slice= HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
                stream.write_all(request).expect("it listens");
                let (mut buffer, mut len) = (vec![0; 64 << 10], 0);
                loop {
                    match stream.read(&mut buffer).expect("an answer") {
                        0 => break,
                        n => len += n,
                    }
                }
                assert!(len > data.len());
            });
        }
    });
    // Eight times 200 MB have been sent. Each request may have a group of chunks beyond the budget.
    let peak = server.peak_memory();
    assert!(peak < 320 << 20, "{} MiB", peak >> 20);
}

#[test]
#[cfg(unix)]
fn signals_end_it_when_answers_are_complete() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("big.b2frame");
    let data = array_bytes("fmri.npy", 1_000_000).repeat(60);
    run_with(args!["compress", "-", &path, "--codec", "lz4", "--level", "0", "--quiet"], &data).ok();
    for signal in ["INT", "TERM"] {
        let server = Server::start(args![&path, "--verbose"]);
        let _idle = server.connect();
        let mut stream = server.connect();
        stream.write_all(b"GET /big.b2frame?slice= HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it listens");
        let mut bytes = vec![0; 1];
        stream.read_exact(&mut bytes).expect("it has begun");
        server.signal(signal);
        // No more of them, but this one to its end.
        let refused = (0..200).any(|_| {
            thread::sleep(Duration::from_millis(50));
            std::net::TcpStream::connect(("127.0.0.1", server.port)).is_err()
        });
        assert!(refused, "it still listens after 10 seconds");
        stream.read_to_end(&mut bytes).expect("the rest");
        assert!(Answer::parse(&bytes).body == data);
        let (status, log) = server.wait();
        assert_eq!(status, Some(0), "{log}");
        let line = log.lines().find(|line| line.contains("/big.b2frame?slice=")).expect("a line of the log");
        assert!(line.starts_with("127.0.0.1:") && line.contains(" 200, 60000000 bytes in "), "{line}");
    }
    // Without -v there is none.
    let server = Server::start([&path]);
    server.get("/nothing").failed(404);
    server.signal("TERM");
    assert_eq!(server.wait(), (Some(0), String::new()));
}
