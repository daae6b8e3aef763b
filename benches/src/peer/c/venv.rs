//! Where the shared library comes from: the virtual environment that the interoperability tests use too.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Error, Result};

/// Names and exact versions of the packages.
const REQUIREMENTS: &str = include_str!("../../../../conformance/interop/requirements.txt");

/// The path of libblosc2 in the environment, which is made when it is missing.
///
/// # Errors
/// When there is no Python, or the packages cannot be installed.
pub(super) fn library() -> Result<PathBuf> {
    let python = python()?;
    // Finding the module without importing it leaves NumPy out of the matter.
    let script = "import importlib.util as u, os; print(os.path.dirname(u.find_spec('blosc2').origin))";
    let package = PathBuf::from(run(Command::new(&python).args(["-c", script]))?.trim());
    let names = ["lib/libblosc2.so", "lib/libblosc2.dylib", "lib/libblosc2.dll", "libblosc2.dll"];
    let found = names.iter().map(|name| package.join(name)).find(|path| path.exists());
    found.ok_or_else(|| Error::new(format!("no libblosc2 in {}", package.display())))
}

/// The interpreter of the environment, which is made when it is missing.
///
/// # Errors
/// When there is no Python, or the packages cannot be installed.
pub(crate) fn python() -> Result<PathBuf> {
    environment(&target_dir()?.join("interop-venv"))
}

/// Cargo marks its target directory with a file of this name.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let exe = env::current_exe().map_err(Error::new)?;
    let target = exe.ancestors().find(|dir| dir.join("CACHEDIR.TAG").exists());
    target.map(Path::to_path_buf).ok_or_else(|| Error::new(format!("{} is not in a target directory", exe.display())))
}

/// The interpreter of the environment. Lock and stamp are those of the interoperability tests, which do the same.
fn environment(venv: &Path) -> Result<PathBuf> {
    let io = |e: io::Error| Error::new(format!("{}: {e}", venv.display()));
    let python = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let lock = File::create(venv.with_extension("lock")).map_err(io)?;
    lock.lock().map_err(io)?;

    let stamp = venv.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == REQUIREMENTS) && python.exists() {
        return Ok(python);
    }
    eprintln!("installing python-blosc2 into {}", venv.display());
    if let Err(e) = fs::remove_dir_all(venv)
        && e.kind() != io::ErrorKind::NotFound
    {
        return Err(io(e));
    }
    let system = env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    run(Command::new(system).args(["-m", "venv"]).arg(venv))?;
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/interop/requirements.txt");
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "-r"])
        .arg(requirements))?;
    fs::write(&stamp, REQUIREMENTS).map_err(io)?;
    Ok(python)
}

fn run(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| Error::new(format!("{command:?}: {e}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::new(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr))))
}
