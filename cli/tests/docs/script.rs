//! Running the shell blocks of a page, one after the other in one directory.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::blocks::{self, Block};
use crate::pages;

/// Set to write what was printed into the pages instead of comparing it.
const UPDATE: &str = "OXIBLOSC_UPDATE";

/// Where the blocks of a page run.
pub(crate) struct Shell {
    pub(crate) directory: PathBuf,
    /// The folder with the program, before all others on the path.
    pub(crate) programs: Vec<PathBuf>,
    pub(crate) variables: Vec<(String, String)>,
    /// Text in commands, and what is run in its place.
    pub(crate) replaced: Vec<(String, String)>,
}

impl Shell {
    /// Runs those blocks of a page that `wanted` takes, and compares what they print with the text blocks right behind
    /// them. A block marked `fails` must fail, and text marked `example` is not compared.
    pub(crate) fn run_page(&self, path: &Path, wanted: impl Fn(&Block) -> bool) {
        let update = std::env::var_os(UPDATE).is_some();
        let page = pages::name(path);
        let mut text = fs::read_to_string(path).expect("the page is there");
        let (mut ran, mut different) = (0, Vec::new());
        // Blocks keep their order and number when a text is replaced, but not their lines.
        for i in 0..blocks::blocks(&text).len() {
            let all = blocks::blocks(&text);
            if !(all[i].is("sh") && wanted(&all[i])) {
                continue;
            }
            let printed = self.run_block(&page, &all[i]);
            ran += 1;
            let Some(shown) = all.get(i + 1).filter(|next| next.is("text") && follows(&text, &all[i], next)) else {
                continue;
            };
            let compared = !shown.has("example");
            if update && (compared || shown.text.is_empty()) {
                text = blocks::replace(&text, shown.line, &printed);
            } else if compared && shown.text != printed {
                different.push(format!("{page}:{}: shown\n{}printed\n{printed}", shown.line, shown.text));
            }
        }
        assert!(ran > 0, "{page}: no block was run");
        assert!(different.is_empty(), "run with {UPDATE}=1 to take what is printed\n{}", different.join("\n"));
        if update {
            fs::write(path, text).expect("the page can be written");
        }
    }

    /// What a block prints to standard output.
    fn run_block(&self, page: &str, block: &Block) -> String {
        let mut script = block.text.clone();
        for (from, to) in &self.replaced {
            script = script.replace(from, to);
        }
        let mut path: Vec<PathBuf> = self.programs.clone();
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let path: OsString = std::env::join_paths(path).expect("no colon in a folder");
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &script])
            .current_dir(&self.directory)
            .env("PATH", path)
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null())
            .output()
            .expect("bash is there");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let as_marked = output.status.success() != block.has("fails");
        assert!(as_marked, "{page}:{}: {}\n{script}\n{stderr}", block.line, output.status);
        assert!(!stderr.contains("panicked"), "{page}:{}: {stderr}", block.line);
        // Items, where nothing is shown.
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Whether there is nothing but an empty line between two blocks.
fn follows(page: &str, block: &Block, next: &Block) -> bool {
    let end = block.line + block.text.lines().count() + 1;
    page.lines().take(next.line - 1).skip(end).all(str::is_empty)
}
