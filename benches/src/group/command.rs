//! Group `commands`: whole processes by wall clock, as users run them. The command of this project stands beside ours
//! in the target directory; when it has not been built the group is left out.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Schedule, Session, Subject};
use crate::peer::c::venv;
use crate::peer::name;
use crate::race::{Clock, Lane};
use crate::workload::{self, Role, Source};
use crate::{Error, Result};

const RACE: Duration = Duration::from_secs(6);
/// Threads of those who take a number.
const THREADS: usize = 2;

const COMPRESS: &str = "\
import blosc2, sys
data = open(sys.argv[1], 'rb').read()
c = {'codec': blosc2.Codec[sys.argv[4]], 'clevel': int(sys.argv[5]), 'typesize': int(sys.argv[3]), 'nthreads': 2}
blosc2.SChunk(chunksize=4 << 20, data=data, urlpath=sys.argv[2], mode='w', contiguous=True, cparams=c)
";
const DECOMPRESS: &str = "\
import blosc2, sys
frame = blosc2.open(sys.argv[1], dparams={'nthreads': 2})
open(sys.argv[2], 'wb').write(frame[:])
";
const INFO: &str = "import blosc2, sys; print(blosc2.open(sys.argv[1]).info)";

/// Measures the commands.
///
/// # Errors
/// When the data cannot be loaded or no file be written; a case that fails is noted and passed over.
pub fn run(session: &mut Session, time: Duration) -> Result<()> {
    let exe = std::env::current_exe().map_err(Error::new)?;
    let ours = exe.with_file_name(if cfg!(windows) { "oxiblosc.exe" } else { "oxiblosc" });
    if !ours.exists() {
        eprintln!("{} is missing: the commands are left out", ours.display());
        return Ok(());
    }
    eprintln!("commands, of {} bytes", fs::metadata(&ours).map_err(Error::new)?.len());
    let python = venv::python()?;
    let clock = std::mem::replace(&mut session.clock, Clock::Wall);
    let mut schedule = Schedule::start(time, 5);
    let directory = tempfile::tempdir().map_err(Error::new)?;
    let result = files(session, &ours, &python, directory.path(), &mut schedule);
    session.note(&subject("files".into(), "-", 0), result);
    let result = start(session, &ours, &python, directory.path(), &mut schedule);
    session.note(&subject("start".into(), "-", 0), result);
    session.clock = clock;
    Ok(())
}

fn subject(workload: String, codec: &'static str, level: u8) -> Subject {
    Subject { group: "commands", workload, role: Role::Tuned, codec, filter: "shuffle", level, threads: THREADS }
}

fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn run_one(mut command: Command) -> Result<()> {
    let status = command.status().map_err(|e| Error::new(format!("{command:?}: {e}")))?;
    if status.success() { Ok(()) } else { Err(Error::new(format!("{command:?}: {status}"))) }
}

fn is_installed(program: &str) -> bool {
    command(Path::new(program), &["--version"]).status().is_ok_and(|status| status.success())
}

/// A file of [`workload::BYTES`] compressed and decompressed: Zstandard beside `zstd`, LZ4 beside `lz4`, and both
/// beside python-blosc2.
fn files(session: &mut Session, ours: &Path, python: &Path, directory: &Path, schedule: &mut Schedule) -> Result<()> {
    let source = Source::named("disparity-f32").ok_or_else(|| Error::new("no such data set"))?;
    let workload = source.load(workload::BYTES)?;
    let name_of = |name: &str| directory.join(name).to_string_lossy().into_owned();
    let plain = name_of("plain");
    fs::write(&plain, &workload.bytes).map_err(Error::new)?;
    let typesize = workload.typesize.to_string();
    for (codec, level, rival, threads) in [("zstd", "1", name::ZSTD, "-T2"), ("lz4", "1", name::LZ4, "-1")] {
        let [our_file, c_file, rival_file] = ["ours.b2frame", "c.b2frame", "rival"].map(name_of);
        let rival_there = is_installed(rival);
        let mut lanes = vec![
            Lane::new(name::OURS, |_| {
                let _ = fs::remove_file(&our_file);
                let how = ["--codec", codec, "--level", level, "--typesize", &typesize];
                run_one(command(ours, &[&["compress", &plain, &our_file][..], &how].concat()))
            }),
            Lane::new(name::C, |_| {
                let _ = fs::remove_file(&c_file);
                let name = codec.to_uppercase();
                run_one(command(python, &["-c", COMPRESS, &plain, &c_file, &typesize, &name, level]))
            }),
        ];
        if rival_there {
            lanes.push(Lane::new(rival, |_| {
                run_one(command(Path::new(rival), &["-q", "-f", threads, "-1", &plain, "-o", &rival_file][..]))
                    .or_else(|_| run_one(command(Path::new(rival), &["-q", "-f", "-1", &plain, &rival_file])))
            }));
        }
        let level = level.parse().unwrap_or(1);
        let first = session.report.rows.len();
        let of = |what: &str| subject(format!("disparity-f32, {what} a file"), codec, level);
        session.measure(&of("compress"), workload.bytes.len(), schedule.next(RACE), &mut lanes, |_| 1.0)?;
        drop(lanes);
        let size = |path: &str| Ok::<_, Error>(fs::metadata(path).map_err(Error::new)?.len() as f64);
        for row in &mut session.report.rows[first..] {
            row.size_ratio = size(&our_file)? / size(if row.peer == name::C { &c_file } else { &rival_file })?;
        }

        let [our_plain, c_plain, rival_plain] = ["ours.plain", "c.plain", "rival.plain"].map(name_of);
        let mut lanes = vec![
            Lane::new(name::OURS, |_| {
                let out = fs::File::create(&our_plain).map_err(Error::new)?;
                let mut cat = command(ours, &["cat", &our_file]);
                cat.stdout(out);
                run_one(cat)
            }),
            Lane::new(name::C, |_| run_one(command(python, &["-c", DECOMPRESS, &c_file, &c_plain]))),
        ];
        if rival_there {
            lanes.push(Lane::new(rival, |_| {
                let out = fs::File::create(&rival_plain).map_err(Error::new)?;
                let mut cat = command(Path::new(rival), &["-q", "-d", "-c", &rival_file]);
                cat.stdout(out);
                run_one(cat)
            }));
        }
        session.measure(&of("decompress"), workload.bytes.len(), schedule.next(RACE), &mut lanes, |_| 1.0)?;
        drop(lanes);
        if fs::read(&our_plain).map_err(Error::new)? != workload.bytes {
            return Err(Error::new("a file differs"));
        }
    }
    Ok(())
}

/// `info` of a small file. The speeds are runs in a second: a round counts as a million bytes.
fn start(session: &mut Session, ours: &Path, python: &Path, directory: &Path, schedule: &mut Schedule) -> Result<()> {
    let [plain, frame] = ["small", "small.b2frame"].map(|name| directory.join(name).to_string_lossy().into_owned());
    fs::write(&plain, [7; 1000]).map_err(Error::new)?;
    run_one(command(ours, &["compress", &plain, &frame]))?;
    let mut lanes = vec![
        Lane::new(name::OURS, |_| run_one(command(ours, &["info", &frame]))),
        Lane::new(name::C, |_| run_one(command(python, &["-c", INFO, &frame]))).optional(),
    ];
    if is_installed(name::NOTHING) {
        lanes.push(Lane::new(name::NOTHING, |_| run_one(command(Path::new(name::NOTHING), &[]))));
    }
    let subject = Subject { filter: "-", threads: 1, ..subject("info of a small file, runs a second".into(), "-", 0) };
    session.measure(&subject, 1_000_000, schedule.next(RACE), &mut lanes, |_| 1.0)
}
