//! The virtual environment with the reference implementations, made once under `target/`.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Names and exact versions of the packages.
const REQUIREMENTS: &str = include_str!("../../interop/requirements.txt");

/// The Python interpreter of the environment, or the reason why there is none.
///
/// Under `CI=true` there must be one: a run that proves nothing must not look like one that proves everything.
pub(crate) fn python() -> Result<&'static Path, &'static str> {
    static PYTHON: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let python = PYTHON.get_or_init(|| prepare(&target_dir().join("interop-venv")));
    if let Err(reason) = python {
        assert_ne!(env::var("CI").as_deref(), Ok("true"), "interoperability tests cannot run: {reason}");
    }
    python.as_deref().map_err(String::as_str)
}

/// Cargo's target directory: it promises a `tmp` directory inside it to integration tests.
fn target_dir() -> &'static Path {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap_or(tmp)
}

fn prepare(venv: &Path) -> Result<PathBuf, String> {
    let python = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    // Test programs run at the same time. The first one to take the lock installs; the others find the stamp.
    let lock = venv.with_extension("lock");
    let lock = File::create(&lock).map_err(|e| format!("{}: {e}", lock.display()))?;
    lock.lock().map_err(|e| format!("lock: {e}"))?;

    // Written last, so that an interrupted installation is started again.
    let stamp = venv.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == REQUIREMENTS) && python.exists() {
        return Ok(python);
    }
    if let Err(e) = fs::remove_dir_all(venv)
        && e.kind() != io::ErrorKind::NotFound
    {
        return Err(format!("{}: {e}", venv.display()));
    }
    let system = env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    run(Command::new(system).args(["-m", "venv"]).arg(venv))?;
    let requirements = venv.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS).map_err(|e| format!("{}: {e}", requirements.display()))?;
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "-r"])
        .arg(requirements))?;
    fs::write(&stamp, REQUIREMENTS).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(python)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}
