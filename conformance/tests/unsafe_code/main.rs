//! Every `unsafe` of the repository: it stands where it may, it has its proof, and `docs/unsafe.md` lists it.
//!
//! What the compiler cannot check a person has to, so a change to it must show in a review. After one,
//! `OXIBLOSC_UPDATE=1 cargo test -p oxiblosc-conformance --test unsafe_code` updates the list.

mod listing;
mod scan;

use std::fs;
use std::path::{Path, PathBuf};

use scan::{Kind, Site};

/// Where there may be `unsafe`, and what for. A path that ends in `/` stands for all that is in the folder.
const PLACES: &[(&str, &str)] = &[
    ("plugins/src/simd/", "vector kernels"),
    ("plugins/src/codecs/blosclz/", "codec kernels"),
    ("plugins/src/codecs/lz4/", "codec kernels"),
    ("plugins/src/codecs/zlib/", "codec kernels"),
    ("plugins/src/codecs/greedy.rs", "codec kernels"),
    ("plugins/src/codecs/input.rs", "codec kernels"),
    ("plugins/src/codecs/match_tables.rs", "codec kernels"),
    ("plugins/src/codecs/overcopy.rs", "codec kernels"),
    ("plugins/src/guard_pages.rs", "mapping of pages around the buffers of kernels under test"),
    ("streaming/src/source/mmap.rs", "mapping a file"),
    ("export/src/", "shared libraries: what C calls, and the interface between library and program"),
    ("streaming/tests/mmap.rs", "mapping a file"),
    ("streaming/tests/shared_reader.rs", "mapping a file"),
    ("benches/src/peer/c/", "measurements: calls of C-Blosc2"),
    ("benches/src/group/filter.rs", "measurements: calls of C-Blosc2"),
];

/// The list, from the root of the repository.
const LISTING: &str = "docs/unsafe.md";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// What the place of `file` is for, if there may be `unsafe` in it.
fn place(file: &str) -> Option<&'static str> {
    let inside =
        |&&(place, _): &&(&str, &str)| if place.ends_with('/') { file.starts_with(place) } else { file == place };
    PLACES.iter().find(inside).map(|(_, purpose)| *purpose)
}

/// All Rust sources, with their paths from the root, in order.
fn sources() -> Vec<(String, String)> {
    let mut sources = Vec::new();
    let mut folders = vec![root().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let entry = entry.expect("an entry of a folder");
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if entry.file_type().expect("its type").is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") {
                sources.push((relative(&path), fs::read_to_string(&path).expect("a source in UTF-8")));
            }
        }
    }
    sources.sort();
    sources
}

fn relative(path: &Path) -> String {
    let parts: PathBuf = path.strip_prefix(root()).expect("it is below the root").components().collect();
    parts.to_string_lossy().replace('\\', "/")
}

/// Every `unsafe` of every source.
fn sites() -> Vec<(String, Vec<Site>)> {
    let scanned = sources().into_iter().map(|(file, text)| {
        let sites = scan::scan(&text).unwrap_or_else(|e| panic!("{file}: {e}"));
        (file, sites)
    });
    scanned.filter(|(_, sites)| !sites.is_empty()).collect()
}

#[test]
fn unsafe_stands_only_where_it_may() {
    let outside: Vec<_> = sites().into_iter().map(|(file, _)| file).filter(|file| place(file).is_none()).collect();
    assert!(outside.is_empty(), "`unsafe` outside of the places for it: {outside:?}");
}

#[test]
fn every_unsafe_has_its_proof() {
    let bare: Vec<String> = sites()
        .iter()
        .flat_map(|(file, sites)| sites.iter().map(move |site| (file, site)))
        .filter(|(_, site)| site.proof.is_empty())
        .map(|(file, site)| format!("{file}:{}: {} in {}", site.line, site.kind, site.item))
        .collect();
    assert!(
        bare.is_empty(),
        "without a `// SAFETY:` directly above, or without `# Safety` in the documentation:\n{}",
        bare.join("\n")
    );
}

#[test]
fn the_list_is_complete() {
    let sites = sites();
    let listing = listing::listing(&sites, place);
    println!("{}", listing::totals(&sites));
    let path = root().join(LISTING);
    if std::env::var_os("OXIBLOSC_UPDATE").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder of the list");
        fs::write(&path, &listing).expect("the list can be written");
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    let changed = listing.lines().zip(recorded.lines().chain(std::iter::repeat(""))).find(|(now, then)| now != then);
    assert!(
        listing == recorded,
        "{LISTING} does not list what is there; first difference: {changed:#?}\n\
         after reading the new proofs, write it anew with OXIBLOSC_UPDATE=1 and this test"
    );
}

#[test]
fn crates_without_unsafe_forbid_it() {
    for file in [
        "core/src/lib.rs",
        "conformance/src/lib.rs",
        "src/lib.rs",
        "cli/src/lib.rs",
        "python/src/lib.rs",
        "export/example-codec/src/lib.rs",
        "export/example-filter/src/lib.rs",
    ] {
        let text = fs::read_to_string(root().join(file)).expect("a crate root");
        assert!(text.contains("#![forbid(unsafe_code)]"), "{file} does not forbid `unsafe`");
    }
}

/// The scanner sees what it is to see.
#[test]
fn the_scanner_sees_every_kind() {
    let text = r##"
        /// Reads.
        ///
        /// # Safety
        /// It is there.
        #[inline]
        pub unsafe fn read(p: *const u8) -> u8 {
            // SAFETY: by the contract.
            unsafe { *p }
        }
        /// # Safety
        /// Nothing is promised.
        unsafe trait T {
            unsafe fn f();
        }
        // SAFETY: nothing is promised,
        // and so it is kept.
        #[cfg(test)]
        unsafe impl<'a> T for Vec<&'a str> { unsafe fn f() {} }
        macro_rules! m { ($x:expr) => { unsafe { $x } } }
        const TEXT: &str = "unsafe { no }"; // unsafe { no }
        type F = unsafe fn(*const u8);
        #[unsafe(no_mangle)]
        fn exported() { let x = 1;
            // Not a proof.
            unsafe { read(&x) };
            // SAFETY: it is there.
            let byte =
                unsafe { read(&x) };
        }
    "##;
    let sites = scan::scan(text).expect("it is Rust");
    let found: Vec<_> = sites.iter().map(|s| (s.kind, s.item.as_str(), s.proof.as_str())).collect();
    assert_eq!(
        found,
        [
            (Kind::Function, "read", "It is there."),
            (Kind::Block, "read", "by the contract."),
            (Kind::Trait, "T", "Nothing is promised."),
            (Kind::Function, "T::f", ""),
            (Kind::Impl, "Vec", "nothing is promised, and so it is kept."),
            (Kind::Function, "Vec::f", "the contract of the trait"),
            (Kind::Block, "m!", ""),
            (Kind::Attribute, "", ""),
            (Kind::Block, "exported", ""),
            (Kind::Block, "exported", "it is there."),
        ]
    );
}
