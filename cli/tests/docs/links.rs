//! Links between pages of the repository. Those to other sites are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::pages::{REPOSITORY, book, markdown, name, root, shown};

/// Targets of the links of a page, with the line they are in.
fn links(page: &str) -> Vec<(usize, String)> {
    let (mut found, mut fenced) = (Vec::new(), false);
    for (number, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let text = without_code(line);
        let mut rest = text.as_str();
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            let Some(end) = rest.find(')') else { break };
            found.push((number + 1, rest[..end].to_owned()));
        }
    }
    found
}

/// A line without its code spans, in which brackets mean nothing.
fn without_code(line: &str) -> String {
    let mut parts = line.split('`');
    let mut text = parts.next().unwrap_or_default().to_owned();
    while let (Some(_), Some(after)) = (parts.next(), parts.next()) {
        text.push('x');
        text.push_str(after);
    }
    text
}

/// The anchors of the headings of a page, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let (mut found, mut fenced) = (BTreeSet::new(), false);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let level = line.len() - line.trim_start_matches('#').len();
        if fenced || level == 0 || !line[level..].starts_with(' ') {
            continue;
        }
        let kept = |c: &char| c.is_alphanumeric() || ['_', '-', ' '].contains(c);
        let anchor: String = line[level..].trim().to_lowercase().chars().filter(kept).collect();
        let anchor = anchor.replace(' ', "-");
        let again = seen.entry(anchor.clone()).or_default();
        found.insert(if *again == 0 { anchor } else { format!("{anchor}-{again}") });
        *again += 1;
    }
    found
}

/// A path without `..`, which the folders need not exist for.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// What is wrong with a link of a page, if anything.
fn problem(page: &Path, link: &str) -> Option<String> {
    // Rustdoc's links to items, in comments that `docs/unsafe.md` quotes.
    if link.contains("::") {
        return None;
    }
    let (place, anchor) = link.split_once('#').map_or((link, None), |(place, anchor)| (place, Some(anchor)));
    let in_repository = ["blob/main/", "tree/main/"];
    let path = match place.strip_prefix(REPOSITORY) {
        Some(rest) => root().join(in_repository.iter().find_map(|prefix| rest.strip_prefix(prefix))?),
        None if place.contains("://") || place.starts_with("mailto:") => return None,
        None if place.is_empty() => page.to_owned(),
        None => normal(&page.parent()?.join(place)),
    };
    if !path.exists() {
        return Some("leads nowhere".to_owned());
    }
    // What the book is built from does not contain the rest of the repository.
    if page.starts_with(book()) && !place.contains("://") && !path.starts_with(book()) {
        return Some("leads out of the book: use the address of the repository".to_owned());
    }
    let anchor = anchor?;
    if path.extension().is_some_and(|extension| extension == "md") && !anchors(&shown(&path)).contains(anchor) {
        return Some("has an anchor that its page does not have".to_owned());
    }
    None
}

#[test]
fn lead_somewhere() {
    let (mut count, mut broken) = (0, Vec::new());
    for page in markdown(&root()) {
        // Its links are those of the page that is made from it.
        if page.ends_with("docs/reliability/template.md") {
            continue;
        }
        for (line, link) in links(&shown(&page)) {
            count += 1;
            broken.extend(problem(&page, &link).map(|why| format!("{}:{line}: {link} {why}", name(&page))));
        }
    }
    assert!(count > 200, "only {count} links were found");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn are_found() {
    let page = "# A `b_c` d!\n[x](y.md) and [`z`](#a-b_c-d), `[no](link)`\n```\n[no](link)\n# no\n```\n## A b_c d\n";
    assert_eq!(links(page), [(2, "y.md".to_owned()), (2, "#a-b_c-d".to_owned())]);
    assert_eq!(anchors(page), ["a-b_c-d".to_owned(), "a-b_c-d-1".to_owned()].into());
    let readme = root().join("README.md");
    assert_eq!(problem(&readme, "docs/format.md#commits"), None);
    assert_eq!(problem(&readme, "https://example.org/nowhere"), None);
    assert!(problem(&readme, "docs/nowhere.md").is_some());
    assert!(problem(&readme, "docs/format.md#nowhere").is_some());
    assert!(problem(&readme, &format!("{REPOSITORY}blob/main/nowhere.md")).is_some());
    assert!(problem(&book().join("tour.md"), "../../format.md").is_some());
}
