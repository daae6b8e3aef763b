//! The same codecs in C-Blosc2, which loads ours from shared libraries.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use oxiblosc::chunk::EncodeParams;
use tempfile::TempDir;

use crate::Result;

/// Codecs that C-Blosc2 loads.
const LIBRARIES: [&str; 2] = ["brotli", "pco"];

/// What is to be measured: the data, how it is compressed, and the block size.
pub(crate) struct Task<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) params: EncodeParams,
    pub(crate) block_size: usize,
}

/// Compressed bytes, and the seconds that it takes to compress and to decompress.
pub(crate) struct Figures {
    pub(crate) bytes: usize,
    pub(crate) write: f64,
    pub(crate) read: f64,
}

/// Measures all tasks in one process of `python`, which has python-blosc2.
pub(crate) fn measure(python: &Path, tasks: &[Task<'_>]) -> Result<Vec<Figures>> {
    let folder = tempfile::tempdir()?;
    packages(&folder)?;
    let mut lines = String::new();
    for (i, Task { data, params, block_size }) in tasks.iter().enumerate() {
        let file = folder.path().join(i.to_string());
        fs::write(&file, data)?;
        let EncodeParams { typesize, codec, codec_meta, level, filters, .. } = params;
        write!(lines, "{}\t{typesize}\t{}\t{codec_meta}\t{level}\t{block_size}", file.display(), codec.0)?;
        for (_, slot) in filters.active() {
            // Outside a super-chunk C-Blosc2 does not know the type size that 0 stands for.
            let meta = if slot.id == oxiblosc::FilterId::BYTEDELTA { *typesize as u8 } else { slot.meta };
            write!(lines, "\t{}\t{meta}", slot.id.0)?;
        }
        lines.push('\n');
    }
    // C-Blosc2 asks the `python` on the path where the libraries are.
    let mut path: Vec<PathBuf> = python.parent().map(Into::into).into_iter().collect();
    path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let mut child = Command::new(python)
        .args([OsStr::new("-c"), OsStr::new(include_str!("blosc2.py"))])
        .env("PATH", env::join_paths(path)?)
        .env("PYTHONPATH", folder.path())
        .env_remove("BLOSC_NTHREADS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdin.take().ok_or("no standard input")?.write_all(lines.as_bytes())?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("{}: {}", python.display(), output.status).into());
    }
    let figures = |line: &str| -> Option<Figures> {
        let mut numbers = line.split(' ');
        let mut next = || numbers.next();
        Some(Figures { bytes: next()?.parse().ok()?, write: next()?.parse().ok()?, read: next()?.parse().ok()? })
    };
    let found: Option<Vec<_>> = String::from_utf8(output.stdout)?.lines().map(figures).collect();
    found.filter(|found| found.len() == tasks.len()).ok_or_else(|| "other figures than asked for".into())
}

/// Packages that say where the libraries are. Cargo has put these beside what this program was made from.
fn packages(folder: &TempDir) -> Result<()> {
    let deps = env::current_exe()?.with_file_name("deps");
    for name in LIBRARIES {
        let package = folder.path().join(format!("blosc2_{name}"));
        let file = format!("{}blosc2_{name}{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
        let source = format!(
            "import os\n\ndef print_libpath():\n    \
             print(os.path.join(os.path.dirname(__file__), {file:?}), end=\"\")\n"
        );
        fs::create_dir(&package)?;
        fs::write(package.join("__init__.py"), source)?;
        symlink(deps.join(&file), package.join(&file))?;
    }
    Ok(())
}
