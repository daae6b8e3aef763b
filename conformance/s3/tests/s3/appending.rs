//! Appending to one array under a prefix of a bucket, from several processes at once.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

use oxiblosc::edit::{EditError, EditOptions};
use oxiblosc::nd::{ArrayError, ArrayOptions, NdArray, NdEditor, NdSink};
use oxiblosc::object::ObjectPrefix;
use oxiblosc::source::ObjectSource;
use oxiblosc::target::PlaceTarget;
use oxiblosc::{ErrorKind, block_on, blocking};

use crate::program::{command, ended, run, run_with, url};
use crate::server::{Server, uploads};

/// Rows have so many items, of four bytes.
const COLUMNS: u64 = 5;
/// Rows of a chunk: most commits fill up the last chunk of the one before.
const CHUNK_ROWS: u32 = 7;
const KEY: &str = "daily/array.b2nd";

fn prefix(endpoint: &str) -> ObjectPrefix {
    ObjectPrefix::new(uploads(endpoint), KEY)
}

async fn create(endpoint: &str) {
    let options = ArrayOptions::new([1, COLUMNS], "<u4").chunks([CHUNK_ROWS, 3]).blocks([2, 3]);
    let mut sink: NdSink<_> = options.sink(PlaceTarget::new(prefix(endpoint))).expect("a sink");
    sink.write_bytes(&mut row(0, 0, 0).into()).await.expect("a row");
    sink.close().await.expect("an array");
}

async fn editor(endpoint: &str) -> NdEditor {
    NdEditor::new(EditOptions::new().edit_sparse(prefix(endpoint)).await.expect("a frame")).expect("an array")
}

/// How many rows a commit of a process appends.
fn count(process: u32, commit: u32) -> u32 {
    1 + (commit * 7 + process * 3) % 9
}

/// A row: who appends it, with which commit, and where it is among the rows of that.
fn row(process: u32, commit: u32, i: u32) -> Vec<u8> {
    let items = [process, commit, i, process ^ commit, 7 * i];
    items.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn rows(process: u32, commit: u32) -> Vec<u8> {
    (0..count(process, commit)).flat_map(|i| row(process, commit, i)).collect()
}

/// Appends and commits, as often as others commit at the same time. Returns how often that was.
async fn append(editor: &mut NdEditor, rows: Vec<u8>) -> u32 {
    editor.append(0, rows).await.expect("rows");
    let mut conflicts = 0;
    loop {
        match editor.commit().await {
            Ok(()) => return conflicts,
            Err(ArrayError::Edit(error @ EditError::Conflict)) => {
                assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Precondition, false));
                conflicts += 1;
                editor.rebase().await.expect("appended rows can be moved");
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Not a test of its own: one of the processes of [`two_processes_append`].
#[test]
fn appender() {
    let Ok(endpoint) = std::env::var("OXIBLOSC_TEST_ENDPOINT") else { return };
    let number = |name: &str| std::env::var(name).expect("it is set").parse::<u32>().expect("a number");
    let process = number("OXIBLOSC_TEST_NUMBER");
    let conflicts = block_on(async {
        let mut conflicts = 0;
        let mut editor = editor(&endpoint).await;
        for commit in 1..=number("OXIBLOSC_TEST_COMMITS") {
            // One process keeps its editor, the other opens a new one, as a daily job does.
            if process == 2 {
                editor = self::editor(&endpoint).await;
            }
            conflicts += append(&mut editor, rows(process, commit)).await;
        }
        conflicts
    });
    println!("process {process}: {conflicts} conflicts");
}

fn start(endpoint: &str, process: u32, commits: u32) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["appending::appender", "--exact", "--nocapture"])
        .env("OXIBLOSC_TEST_ENDPOINT", endpoint)
        .env("OXIBLOSC_TEST_NUMBER", process.to_string())
        .env("OXIBLOSC_TEST_COMMITS", commits.to_string())
        .stdin(Stdio::null())
        .spawn()
        .expect("it starts")
}

/// Checks that an array consists of whole commits, each once, those of a process in order; returns how many there are.
fn check(array: &[u8]) -> usize {
    let columns = COLUMNS as usize * 4;
    assert_eq!(array.len() % columns, 0);
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    let mut rest = array.strip_prefix(&row(0, 0, 0)[..]).expect("the row that was there first");
    let mut commits = 0;
    while let Some((head, _)) = rest.split_at_checked(columns) {
        let (words, _) = head.as_chunks::<4>();
        let (process, commit) = (u32::from_le_bytes(words[0]), u32::from_le_bytes(words[1]));
        let before = seen.insert(process, commit);
        assert_eq!(commit, before.unwrap_or(0) + 1, "process {process} after {before:?}");
        rest = rest.strip_prefix(&rows(process, commit)[..]).expect("all rows of a commit");
        commits += 1;
    }
    assert!(rest.is_empty());
    commits
}

async fn read(server: &Server) -> Result<Vec<u8>, ArrayError> {
    let source = ObjectSource::sparse(server.store(), KEY.into());
    let array = NdArray::open(source).await?;
    Ok(array.read(&"".parse().expect("a selection")).await?.bytes().to_vec())
}

const HEX: &str = r"
assert array.dtype == 'u4' and array.shape[1] == 5, (array.dtype, array.shape)
print(array[:].tobytes().hex())
";

fn two_processes_append(server: &Server, commits: u32) {
    let endpoint = server.endpoint();
    block_on(create(&endpoint));
    let mut processes = [1, 2].map(|process| start(&endpoint, process, commits));
    // Readers see the array after one commit or another.
    let (mut last, mut reads) = (0, 0);
    while processes.iter_mut().any(|process| process.try_wait().expect("it can be asked").is_none()) {
        let commits = check(&block_on(read(server)).expect("an array at any time"));
        assert!(commits >= last, "{commits} commits after {last}");
        (last, reads) = (commits, reads + 1);
    }
    for mut process in processes {
        assert!(process.wait().expect("it has ended").success());
    }
    assert!(reads > 2, "{reads} reads");
    let array = block_on(read(server)).expect("the array");
    assert_eq!(check(&array), 2 * commits as usize, "commits have been lost");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    if let Some(found) = server.python_on(KEY, HEX) {
        assert!(found.trim() == hex(&array), "python-blosc2 reads something else");
    }

    // What the commits have replaced is still there, and can be removed.
    let named = array.len() as u64 / (COLUMNS * 4);
    let named = named.div_ceil(u64::from(CHUNK_ROWS)) * COLUMNS.div_ceil(3);
    let before = server.list(KEY).len() as u64;
    assert!(before > named + 1, "{before} objects");
    run(&endpoint, &["compact", &(url(KEY) + "/"), "--quiet"]).ok();
    assert_eq!(server.list(KEY).len() as u64, named + 1, "chunks, and the index");
    assert!(block_on(read(server)).expect("the array") == array);
    assert_eq!(blocking::compact_place(prefix(&endpoint)).expect("nothing to remove"), 0);
}

#[test]
fn two_processes_append_in_s3s() {
    two_processes_append(&Server::atomic(), 50);
}

#[test]
fn two_processes_append_in_moto() {
    if let Some(server) = Server::moto() {
        // It takes ten times as long for a request.
        two_processes_append(&server, 10);
    }
}

/// Changes that do not append, and editors that a compaction has overtaken, have to be made again.
#[test]
fn of_two_changes_the_later_is_refused() {
    let server = Server::atomic();
    let endpoint = server.endpoint();
    block_on(async {
        create(&endpoint).await;
        let (mut first, mut second) = (editor(&endpoint).await, editor(&endpoint).await);
        first.append(0, rows(1, 1)).await.expect("rows");
        second.append(0, rows(2, 1)).await.expect("rows");
        second.write(&"0".parse().expect("a selection"), row(9, 9, 9)).await.expect("a row");
        first.commit().await.expect("it is the first");
        let conflict = |result: Result<(), ArrayError>| matches!(result, Err(ArrayError::Edit(EditError::Conflict)));
        assert!(conflict(second.commit().await) && conflict(second.rebase().await));
        // It stays refused, and what is there stays as it is.
        assert!(conflict(second.commit().await));
        assert_eq!(check(&read(&server).await.expect("the array")), 1);

        // The chunks that an editor has written may be gone once somebody has compacted the place.
        let mut late = editor(&endpoint).await;
        late.append(0, rows(2, 1)).await.expect("rows");
        oxiblosc::edit::compact_place(prefix(&endpoint)).await.expect("unused chunks");
        assert!(conflict(late.commit().await));
        assert_eq!(check(&read(&server).await.expect("the array")), 1);
        let mut again = editor(&endpoint).await;
        append(&mut again, rows(2, 1)).await;
        assert_eq!(check(&read(&server).await.expect("the array")), 2);
    });
}

/// The command appends to arrays and to plain sparse frames, several at once.
#[test]
fn commands_append_at_the_same_time() {
    let server = Server::atomic();
    let endpoint = server.endpoint();
    let array = url("daily/rows") + "/";
    let shape = ["--dtype", "u4", "--shape", "-1,5", "--chunks", "7,3", "--layout", "sparse"];
    run_with(&endpoint, &[&["compress", "-", &array], &shape[..]].concat(), &row(0, 0, 0)).ok();
    let frame = url("daily/bytes") + "/";
    run_with(&endpoint, &["compress", "-", &frame, "--layout", "sparse", "--chunk-size", "64"], &[7; 100]).ok();
    let start = |place: &str, input: &[u8]| {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), input).expect("room on the disk");
        let mut append = command(&endpoint, &["append", place, file.path().to_str().expect("a plain name")]);
        (append.spawn().expect("the program was built"), file)
    };
    for commit in 1..=4 {
        let mut running = Vec::new();
        for process in 1..=2 {
            running.push(start(&array, &rows(process, commit)));
            running.push(start(&frame, &[process as u8; 90]));
        }
        for (child, _file) in running {
            ended(child).ok();
        }
    }
    assert_eq!(check(&run(&endpoint, &["cat", &array]).ok()), 8);
    let bytes = run(&endpoint, &["cat", &frame]).ok();
    assert_eq!(bytes.len(), 100 + 8 * 90);
    assert!(bytes[..100].iter().all(|&byte| byte == 7));
    assert!(bytes[100..].chunks(90).all(|part| part.iter().all(|byte| *byte == part[0])), "appends are mixed");
    run(&endpoint, &["verify", &array]).ok();
    run(&endpoint, &["verify", &frame]).ok();
    // A single object has no place for more.
    let object = url("daily/object");
    run_with(&endpoint, &["compress", "-", &object], &[1; 100]).ok();
    let said = run_with(&endpoint, &["append", &object, "-"], &[2; 10]).failed(2);
    assert!(said.contains("cannot append to") && said.contains("--layout sparse"), "{said}");
}
