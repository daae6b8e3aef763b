//! `oxiblosc info` as a drawing.

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, command, run, run_with, vector_path};
use crate::progress::on_a_terminal;

/// Bytes that do not compress: a linear congruential generator of 64 bits, whose high bytes are noise.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// A frame whose chunk `i` has `len` bytes of zeros, of another value, of noise or of text, by `i % 4`; and its letters.
fn mixed(path: &Path, chunks: usize, len: usize) -> String {
    let mut data = Vec::new();
    for i in 0..chunks {
        match i % 4 {
            0 => data.resize(data.len() + len, 0),
            1 => data.resize(data.len() + len, i as u8 | 1),
            2 => data.extend(noise(len, i as u64)),
            _ => data.extend((0..len).map(|at| b"abcdefgh"[(at + i) % 8])),
        }
    }
    run_with(args!["compress", "-", path, "--chunk-size", len.to_string(), "--quiet"], &data).ok();
    (0..chunks).map(|i| ['0', '#', 'S', '#'][i % 4]).collect()
}

fn drawn(path: &Path, more: &[&str]) -> String {
    let plain = run(args!["info", path]).ok();
    let output = run(args!["info", path].into_iter().chain(more.iter().map(Into::into))).ok();
    // What programs read stays as it is, and the drawing follows.
    assert!(output.starts_with(&plain));
    String::from_utf8(output[plain.len()..].to_vec()).expect("text")
}

/// The lines below the one that has `title`, up to an empty one.
fn panel<'a>(drawing: &'a str, title: &str) -> Vec<&'a str> {
    let mut lines = drawing.lines().skip_while(|line| !line.contains(title));
    assert!(lines.next().is_some(), "no {title:?} in\n{drawing}");
    lines.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn each_chunk_has_the_letter_of_what_it_is() {
    let dir = tempdir().expect("a directory");
    for chunks in [1, 2, 3, 79, 80, 81, 200, 639, 640] {
        let path = dir.path().join(format!("{chunks}.b2frame"));
        let letters = mixed(&path, chunks, 4096);
        let drawing = drawn(&path, &["--width", "80"]);
        let rows = panel(&drawing, "chunks in order, one to a cell");
        let found: String = rows.iter().step_by(2).take(chunks.div_ceil(80)).copied().collect();
        assert_eq!(found, letters, "{chunks} chunks");
        let ratios: String = rows.iter().skip(1).step_by(2).take(chunks.div_ceil(80)).copied().collect();
        for (letter, ratio) in letters.chars().zip(ratios.chars()) {
            assert_eq!(ratio, if letter == 'S' { '\u{2588}' } else { '.' }, "{letter}");
        }
    }
    // More than there is room for: each cell is two chunks.
    let path = dir.path().join("more.b2frame");
    mixed(&path, 641, 4096);
    assert!(drawn(&path, &["--width", "80"]).contains("641 chunks in order, 2 to a cell"));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let dir = tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    let (empty, one, many, array, sparse) = (path("empty"), path("one"), path("many"), path("array"), path("sparse"));
    run(args!["compress", "/dev/null", &empty, "--quiet"]).ok();
    run_with(args!["compress", "-", &one, "--quiet"], b"x").ok();
    mixed(&many, 100_000, 32);
    run(args!["compress", array_path("fmri.npy"), &array, "--chunks", "1,5,20,20", "--blocks", "1,2,7,9"]).ok();
    let to_sparse = args!["compress", array_path("faces.npy"), &sparse, "--layout", "sparse", "--chunk-size", "64K"];
    run(to_sparse).ok();
    for width in [20, 21, 33, 79, 80, 132, 399, 400] {
        for path in [&empty, &one, &many, &array, &sparse] {
            let drawing = drawn(path, &["--ratio-map", "--width", &width.to_string()]);
            for line in drawing.lines() {
                assert!(line.chars().count() <= width, "{width} columns: {line:?}");
                assert!(!line.contains('\u{1b}') && !line.contains('\u{a0}'), "{line:?}");
            }
            // To scale means over the full width, but for what is empty; there a frame is a header and a trailer.
            let bar = drawing.lines().find(|line| line.starts_with('H') && line.ends_with('T')).expect("a bar");
            assert_eq!(bar.chars().count(), width);
            assert_eq!(path == &empty, !bar.contains('I'), "{bar}");
        }
    }
    assert!(drawn(&many, &["--draw"]).lines().all(|line| line.chars().count() <= 80));
    for wrong in ["19", "401", "-1", "x"] {
        run(args!["info", &one, "--width", wrong]).bad_usage();
    }
    let mut wide = command(args!["info", &many, "--draw"]);
    let output = wide.env("COLUMNS", "50").output().expect("it runs").stdout;
    assert!(String::from_utf8(output).expect("text").lines().any(|line| line.chars().count() == 50));
}

#[test]
fn holes_are_seen_until_they_are_removed() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("frame");
    let data = array_bytes("fmri.npy", 300_000);
    run_with(args!["compress", "-", &path, "--chunk-size", "64K", "--quiet"], &data).ok();
    assert!(!drawn(&path, &["--draw"]).contains("hole"));
    for _ in 0..3 {
        run_with(args!["append", &path, "-", "--quiet"], &data[..1000]).ok();
    }
    let drawing = drawn(&path, &["--width", "400"]);
    let holes = panel(&drawing, "frame of").into_iter().find(|line| line.starts_with("holes"));
    assert!(holes.is_some_and(|line| line.contains("the largest of")), "{drawing}");
    run(args!["compact", &path, "--quiet"]).ok();
    assert!(!drawn(&path, &["--draw"]).contains("hole"));
}

#[test]
fn arrays_have_their_grid_and_where_they_compress_badly() {
    let dir = tempdir().expect("a directory");
    let (npy, path) = (dir.path().join("a.npy"), dir.path().join("a.b2nd"));
    // 600 x 700 bytes in chunks of 100 x 100: 6 x 7 of them; the one at row 3, column 5 is noise.
    let mut header = b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (600, 700), }".to_vec();
    header.resize(127, b' ');
    header.push(b'\n');
    let random = noise(600 * 700, 1);
    let item = |at: usize| match (at / 700 / 100, at % 700 / 100) {
        (3, 5) => random[at],
        (_, 0) => 0,
        (row, column) => (row + column + at % 2) as u8,
    };
    fs::write(&npy, [header, (0..600 * 700).map(item).collect()].concat()).expect("a file");
    run(args!["compress", &npy, &path, "--chunks", "100,100", "--blocks", "50,100", "--quiet"]).ok();
    let drawing = drawn(&path, &["--width", "76", "--ratio-map"]);
    let axes = panel(&drawing, "array of [600, 700]");
    // Twelve halves of chunks in 74 cells; seven chunks in as many.
    assert_eq!(axes[0].matches('|').count() + axes[0].matches('+').count(), 12, "{}", axes[0]);
    assert_eq!((axes[0].matches('|').count(), axes[1].matches('|').count()), (6, 7));
    let grid = panel(&drawing, "chunks in the array: axis 0 down, axis 1 across");
    assert_eq!(grid[..6], ["0######", "0######", "0######", "0####S#", "0######", "0######"]);
    let ratios = panel(&drawing, "ratios in the array: axis 0 down, axis 1 across");
    assert_eq!(ratios[3].chars().nth(5), Some('\u{2588}'));
    assert_eq!(ratios[..6].concat().matches('\u{2588}').count(), 1);
    let worst = ratios.iter().find(|line| line.starts_with("chunk ")).expect("the worst one");
    assert!(worst.starts_with("chunk 26 at [300, 500]: 1.00x, 9.8 KiB to 9.8 KiB, stored"), "{worst}");
}

#[test]
fn what_cannot_be_read_is_shown_as_such() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("sparse");
    let data = array_bytes("fmri.npy", 300_000);
    run_with(args!["compress", "-", &path, "--layout", "sparse", "--chunk-size", "64K", "--quiet"], &data).ok();
    fs::remove_file(path.join("00000002.chunk")).expect("it is there");
    let drawing = drawn(&path, &["--draw"]);
    assert_eq!(panel(&drawing, "5 chunks in order")[0], "##!##");
    assert!(drawing.contains("unreadable"));
}

#[test]
fn a_chunk_alone() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("chunk");
    let compress = |data: &[u8], more: &[&str]| {
        let args = args!["compress", "-", &path, "--format", "chunk", "--quiet"];
        run_with(args.into_iter().chain(more.iter().map(Into::into)), data).ok();
    };
    // Eleven blocks and a bit: the fifth is noise.
    let mut data: Vec<u8> = (0..11 * 8192 + 100).map(|i| b"abcdefgh"[i / 16 % 8]).collect();
    data[4 * 8192..5 * 8192].copy_from_slice(&noise(8192, 1));
    compress(&data, &["--block-size", "8192"]);
    let drawing = drawn(&path, &["--width", "80", "--ratio-map"]);
    let layout = panel(&drawing, "to scale");
    assert!(layout[0].starts_with('H') && layout[0].chars().count() == 80, "{drawing}");
    // The block of noise takes nearly all of it.
    assert!(layout[0].matches('\u{2588}').count() > 70, "{drawing}");
    assert!(layout.iter().any(|line| line.contains("block starts") && line.ends_with("48 bytes  at 32")), "{drawing}");
    let blocks = panel(&drawing, "ratios of 12 blocks in order, one to a cell");
    assert_eq!(blocks[0].chars().position(|c| c == '\u{2588}'), Some(4), "{drawing}");
    assert_eq!(blocks[0].chars().count(), 12);
    let worst = blocks.iter().find(|line| line.starts_with("block ")).expect("the worst one");
    assert!(worst.starts_with("block 4: 1.00x, 8.0 KiB to 8.0 KiB") || worst.starts_with("block 4: 0.9"), "{worst}");
    // With a dictionary, stored, and of one value.
    let text = array_bytes("fmri.npy", 600_001);
    compress(&text, &["--codec", "zstd", "--dict", "--block-size", "8192"]);
    assert!(drawn(&path, &["--draw"]).contains("dictionary"));
    for (data, word) in
        [(noise(100_000, 2), "stored"), (vec![0; 100_000], "zeros"), (noise(1, 3), "stored"), (vec![], "zeros")]
    {
        compress(&data, &[]);
        let drawing = drawn(&path, &["--width", "20", "--ratio-map"]);
        assert!(drawing.contains("chunk of ") && (data.len() < 2 || drawing.contains(word)), "{word}: {drawing}");
        assert!(drawing.lines().all(|line| line.chars().count() <= 20), "{drawing}");
    }
    run_with(args!["compress", "-", &path, "--format", "blosc1", "--quiet"], &text).ok();
    assert!(drawn(&path, &["--draw"]).contains("blocks in order"));
    let picture = dir.path().join("chunk.svg");
    run(args!["info", &path, "--svg", &picture]).ok();
    assert!(fs::read_to_string(&picture).expect("a file").contains("blocks in order"));
    // Cut off, it is told about and not drawn.
    let bytes = fs::read(&path).expect("a file");
    fs::write(&path, &bytes[..20]).expect("a file");
    run(args!["info", &path, "--draw"]).bad_data();
    for option in ["--draw", "--ratio-map", "--width=80"] {
        run(args!["info", "--json", option, vector_path("samples/b2nd.b2frame")]).bad_usage();
    }
}

#[test]
fn open_ended_frames_as_far_as_they_go() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("log.b2frame");
    let data = array_bytes("fmri.npy", 300_000);
    let open = args!["compress", "-", "-", "--layout", "open", "--chunk-size", "64K", "--quiet"];
    let whole = run_with(open, &data).ok();
    fs::write(&path, &whole).expect("a file");
    let drawing = drawn(&path, &["--draw"]);
    assert!(drawing.contains("open-ended frame of ") && drawing.contains("5 chunks in order"), "{drawing}");
    assert!(
        drawing.contains("I index") && drawing.contains("T trailer") && !drawing.contains("left over"),
        "{drawing}"
    );
    // The writer was killed in the middle of a chunk.
    let cut = whole.len() * 6 / 10;
    fs::write(&path, &whole[..cut]).expect("a file");
    let drawing = drawn(&path, &["--draw"]);
    let layout = panel(&drawing, "open-ended frame of ");
    assert!(layout[0].starts_with('H') && layout[0].ends_with('X') && !layout[0].contains('.'), "{drawing}");
    assert!(layout.iter().any(|line| line.starts_with("left over")), "{drawing}");
    assert!(drawing.contains(" chunks in order"), "{drawing}");
    // Nothing but a header.
    let header = whole.len() - whole.len() * 99 / 100;
    fs::write(&path, &whole[..header.max(200)]).expect("a file");
    assert!(drawn(&path, &["--draw"]).contains("open-ended frame of "));
}

#[test]
fn a_picture() {
    let dir = tempdir().expect("a directory");
    let (frame, picture, layer) = (dir.path().join("frame"), dir.path().join("frame.svg"), dir.path().join("layer"));
    fs::write(&layer, b"\xa8a<b>&\"c\"").expect("a file");
    let meta = format!("unit={}", layer.display());
    let args = args!["compress", array_path("fmri.npy"), &frame, "--chunks", "2,16,16,8", "--meta", meta, "--quiet"];
    run(args).ok();
    let plain = run(args!["info", &frame, "--json"]).ok();
    assert!(run(args!["info", &frame, "--json", "--svg", &picture]).ok() == plain);
    let svg = fs::read_to_string(&picture).expect("a file");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("a&lt;b&gt;&amp;"), "the content of the metalayer");
    assert!(svg.contains("chunks in the array") && !svg.contains("ratios in the array"));
    // Every element is closed, and nothing else is in angle brackets.
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1).map(|rest| rest.split('>').next().expect("the tag")) {
        let name = tag.trim_start_matches('/').split([' ', '/']).next().expect("a name");
        match tag.starts_with('/') {
            true => assert_eq!(open.pop(), Some(name)),
            false if tag.ends_with('/') => {}
            false => open.push(name),
        }
    }
    assert!(open.is_empty());
    // The frame is not overwritten, by whatever name, nor is a picture that cannot be replaced.
    let content = fs::read(&frame).expect("a file");
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&frame, &link).expect("a link");
    for name in [&frame, &link] {
        let refused = run(args!["info", &frame, "--svg", name]);
        assert_eq!(refused.status, 2);
        let refused = run(args!["tune", &frame, "--plot", name, "--budget", "0.1", "--quiet"]);
        assert_eq!(refused.status, 2);
    }
    assert_eq!(run(args!["info", &frame, "--svg", "-"]).status, 2);
    assert_eq!(fs::read(&frame).expect("a file"), content);
    run(args!["info", &frame, "--ratio-map", "--svg", &picture]).ok();
    assert!(fs::read_to_string(&picture).expect("a file").contains("ratios in the array"));
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let dir = tempdir().expect("a directory");
    mixed(&dir.path().join("frame"), 10, 4096);
    let Some(shown) = on_a_terminal("TERM=xterm-256color oxiblosc info frame", dir.path()) else { return };
    assert!(shown.contains("10 chunks in order") && shown.contains("\u{1b}[38;5;"), "{shown:?}");
    for line in ["TERM=xterm NO_COLOR=1 oxiblosc info frame", "TERM=dumb oxiblosc info frame"] {
        let shown = on_a_terminal(line, dir.path()).expect("there was a terminal before");
        assert!(shown.contains("0#S#0#S#0#") && !shown.contains("\u{1b}[38"), "{shown:?}");
    }
    let shown = on_a_terminal("TERM=xterm oxiblosc info frame --json", dir.path()).expect("as before");
    assert!(!shown.contains("in order"));
}
