//! Files that one editor has at a time.
#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use oxiblosc::blocking::FrameEditor;
use oxiblosc::edit::{EditError, EditOptions};
use oxiblosc::target::{FileTarget, SparseTarget, Target};
use oxiblosc::{WriteOptions, blocking};

/// A process that is being started has the open files of its parent for a moment, and with them the locks that the parent
/// thinks it has given back.
#[test]
fn processes_being_started_shut_no_editor_out() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let (file, sparse) = (directory.path().join("file.b2frame"), directory.path().join("sparse.b2frame"));
    let targets: [Box<dyn Target>; 2] =
        [Box::new(FileTarget::create(&file)?.inline()), Box::new(SparseTarget::create(&sparse)?.inline())];
    for target in targets {
        let mut writer = blocking::FrameWriter::with_target(target, WriteOptions::default())?;
        writer.write_all(&[7; 1000])?;
        writer.finish()?;
    }
    let (begun, begun_sparse) = (directory.path().join("begun"), directory.path().join("begun.sparse"));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let child = Command::new("true").stdin(Stdio::null()).stdout(Stdio::null()).spawn();
                    let _ = child.and_then(|mut child| child.wait());
                }
            });
        }
        let open = || -> Result<(), Box<dyn std::error::Error>> {
            for _ in 0..1000 {
                FrameEditor::with_options(&file, EditOptions::new().durable(false))?;
                FrameEditor::with_options(&sparse, EditOptions::new().durable(false))?;
                // Targets release their locks too.
                drop(FileTarget::in_place(&begun)?);
                FileTarget::in_place(&begun)?;
                drop(SparseTarget::in_place(&begun_sparse)?);
                SparseTarget::in_place(&begun_sparse)?;
            }
            Ok(())
        };
        let result = open();
        over.store(true, Ordering::Relaxed);
        result
    })?;
    // Two at a time are still one too many.
    for path in [&file, &sparse] {
        let _editor = FrameEditor::open(path)?;
        let second = FrameEditor::open(path).map(drop);
        assert!(matches!(second, Err(EditError::Store(e)) if e.kind() == std::io::ErrorKind::WouldBlock));
    }
    let (_file, _sparse) = (FileTarget::in_place(&begun)?, SparseTarget::in_place(&begun_sparse)?);
    let seconds = [FileTarget::in_place(&begun).map(drop), SparseTarget::in_place(&begun_sparse).map(drop)];
    assert!(seconds.iter().all(|second| second.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock)));
    Ok(())
}
