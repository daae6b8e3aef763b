//! What is not served.

use std::fs;

use tempfile::tempdir;

use super::server::Server;
use crate::args;
use crate::program::{array_path, run, run_with};

#[test]
fn nothing_outside_of_a_directory() {
    let dir = tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    for name in ["root", "root/sub", "root/.hidden", "root/sub/.git", "outside"] {
        fs::create_dir(path(name)).expect("a directory");
    }
    for name in ["outside/secret.b2frame", "root/a.b2frame", "root/sub/b c.b2frame", "root/.hidden/h.b2frame"] {
        run_with(args!["compress", "-", path(name), "--quiet"], &[7; 1000]).ok();
    }
    fs::copy(path("root/a.b2frame"), path("root/.dot.b2frame")).expect("a file");
    fs::write(path("root/notes.txt"), "not a frame, and nobody's business").expect("a file");
    fs::write(path("root/00000000.chunk"), "neither").expect("a file");
    fs::write(path("root/empty"), "").expect("a file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(path("outside/secret.b2frame"), path("root/link.b2frame")).expect("a link");
        symlink(path("outside"), path("root/out")).expect("a link");
        symlink("../outside", path("root/up")).expect("a link");
        symlink(path("root/.hidden"), path("root/shown")).expect("a link");
        symlink("b c.b2frame", path("root/sub/inside.b2frame")).expect("a link");
        symlink("loop", path("root/loop")).expect("a link");
        // A sparse frame whose index is elsewhere.
        fs::create_dir(path("root/fake")).expect("a directory");
        symlink(path("outside/secret.b2frame"), path("root/fake/chunks.b2frame")).expect("a link");
        // Nobody will ever write to it.
        let made = std::process::Command::new("mkfifo").arg(path("root/pipe")).status();
        assert!(made.is_ok_and(|status| status.success()));
    }
    let server = Server::start([path("root")]);
    assert_eq!(server.get("/a.b2frame?slice=").ok(), [7; 1000]);
    assert_eq!(server.get("/sub/b%20c.b2frame?slice=:3").ok(), [7; 3]);
    let long = format!("/{}", "x".repeat(5000));
    for missing in [
        "/../outside/secret.b2frame",
        "/%2e%2e/outside/secret.b2frame",
        "/sub/../a.b2frame",
        "/..%2foutside/secret.b2frame",
        "/sub/..%5c..%5ca.b2frame",
        "/./a.b2frame",
        "//a.b2frame",
        "/link.b2frame",
        "/out/secret.b2frame",
        "/out",
        "/up/",
        "/up/secret.b2frame",
        "/shown/h.b2frame",
        "/.hidden/h.b2frame",
        "/.dot.b2frame",
        "/notes.txt",
        "/00000000.chunk",
        "/empty",
        "/pipe",
        "/loop",
        "/fake/chunks.b2frame",
        "/fake/",
        "/a.b2frame/b",
        "/nothing",
        "/%00",
        "/a.b2frame%00",
        "/%ff",
        "/sub/b c.b2frame%20",
        &long,
    ] {
        let text =
            format!("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", missing.replace(' ', "%20"));
        let answer = server.send(&text);
        if missing == "/fake/" {
            // A directory like any other, with nothing in it.
            assert_eq!(answer.json()["entries"], serde_json::json!([]));
            continue;
        }
        assert_eq!(answer.status, 404, "{missing}: {}", String::from_utf8_lossy(&answer.body));
        let message = answer.failed(404);
        assert!(!message.contains(dir.path().to_str().expect("text")), "{message}");
        for query in ["?slice=", "?info", "?view", "?chunks", "?download"] {
            assert_eq!(server.get(&format!("{}{query}", missing.replace(' ', "%20"))).status, 404, "{missing}{query}");
        }
    }
    let names = |path: &str| {
        let list = server.get(path).json();
        let entries = list["entries"].as_array().expect("a list").clone();
        entries.iter().map(|entry| entry["name"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    #[cfg(unix)]
    assert_eq!(names("/"), ["fake", "sub", "a.b2frame"]);
    #[cfg(unix)]
    assert_eq!(names("/sub/"), ["b c.b2frame", "inside.b2frame"]);
    let page = server.ask("GET", "/sub", &[("Accept", "text/html")]);
    let page = String::from_utf8(page.ok()).expect("text");
    assert!(page.contains("href=\"/sub/b%20c.b2frame?view\"") && page.contains("href=\"/\""), "{page}");
}

#[test]
fn other_names_and_other_methods() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("f");
    run_with(args!["compress", "-", &path, "--quiet"], &[7; 1000]).ok();
    let server = Server::start([&path]);
    let host = |host: &str| server.ask("GET", "/f", &[("Host", host)]);
    for name in ["localhost", "127.0.0.1:1", "[::1]:8000", "LOCALHOST:8000"] {
        assert_eq!(host(name).status, 200, "{name}");
    }
    for name in ["example.com", "localhost.example.com", "127.0.0.1.nip.io", "192.168.0.1", "evil"] {
        assert!(host(name).failed(421).contains("localhost"), "{name}");
        let absolute = format!("GET http://{name}/f HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        assert_eq!(server.send(&absolute).status, 421, "{name}");
    }
    assert_eq!(server.send("GET /f HTTP/1.1\r\nConnection: close\r\n\r\n").status, 400);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let answer = server.ask(method, "/f", &[("Content-Length", "0")]);
        assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method}");
        answer.failed(405);
    }
    assert_eq!(server.send("nonsense\r\n\r\n").status, 400);
    // Bound to all networks, it has any name.
    let open = Server::start(args![&path, "--bind", "0.0.0.0"]);
    assert_eq!(open.ask("GET", "/f", &[("Host", "example.com")]).status, 200);
    for (query, status) in
        [("?x=1", 400), ("?slice=1&slice=2", 400), ("?format=npy", 400), ("?slice=0&format=png", 400)]
    {
        server.get(&format!("/f{query}")).failed(status);
    }
}

#[test]
fn what_cannot_be_served_is_said_at_the_start() {
    let dir = tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    fs::write(path("text"), "no frame at all").expect("a file");
    fs::create_dir(path("sub")).expect("a directory");
    for name in ["f", "sub/f"] {
        run_with(args!["compress", "-", path(name), "--quiet"], &[7; 1000]).ok();
    }
    assert!(run(args!["serve", "--port", "0", path("text")]).bad_data().contains("not a frame"));
    run(args!["serve", "--port", "0", path("missing")]).bad_data();
    run(args!["serve", "--port", "0"]).bad_usage();
    run(args!["serve", "--port", "0", "-"]).bad_usage();
    assert!(run(args!["serve", "--port", "0", path("f"), path("sub/f")]).bad_usage().contains("called f"));
    run(args!["serve", "--port", "70000", path("f")]).bad_usage();
    run(args!["serve", "--bind", "somewhere", path("f")]).bad_usage();
    // A port that is taken.
    let server = Server::start([path("f")]);
    let taken = run(args!["serve", "--port", server.port.to_string(), path("f")]);
    assert!(taken.bad_data().contains(&server.port.to_string()));
    // A chunk alone.
    run(args!["compress", array_path("fmri.npy"), path("chunk"), "--raw", "--format", "chunk", "--quiet"]).ok();
    run(args!["serve", "--port", "0", path("chunk")]).bad_data();
    // Several inputs have a name each.
    let server = Server::start([path("f"), path("sub")]);
    assert_eq!(server.get("/").json()["entries"].as_array().map(Vec::len), Some(2));
    assert_eq!(server.get("/sub/f?slice=:1").ok(), [7]);
    server.get("/text").failed(404);
}
