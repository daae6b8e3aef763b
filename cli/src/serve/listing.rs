//! What is in a directory.

use serde_json::json;

use super::failure::Failure;
use super::reply::Reply;
use super::shares::{Entry, Folder};
use super::target::{Target, View, encoded};
use crate::units::show_bytes;

/// The page around a table.
const PAGE: &str = include_str!("listing.html");

/// A directory as a page, or for programs.
pub(super) async fn reply(folder: &Folder, target: &Target) -> Result<Reply, Failure> {
    let vary = (hyper::header::VARY, hyper::header::HeaderValue::from_static("accept"));
    let reply = match target.view {
        View::Page => Reply::html(page(folder, target)),
        _ => {
            let entry = |entry: &Entry| {
                let modified = entry.modified.map(httpdate::fmt_http_date);
                let kind = if entry.is_folder { "directory" } else { "frame" };
                json!({ "name": entry.name, "kind": kind, "bytes": entry.bytes, "modified": modified })
            };
            let entries: Vec<_> = folder.entries.iter().map(entry).collect();
            Reply::json(&json!({ "path": path(target), "entries": entries, "more": folder.has_more }))
        }
    };
    Ok(reply.header(vary.0, vary.1))
}

fn path(target: &Target) -> String {
    target.path.iter().fold("/".into(), |path, name| path + name + "/")
}

fn page(folder: &Folder, target: &Target) -> String {
    // Absolute, so that it does not matter whether the URL ends in a slash.
    let here = target.path.iter().fold("/".to_owned(), |path, name| path + &encoded(name) + "/");
    let mut rows = String::new();
    if let Some((_, above)) = target.path.split_last() {
        let above = above.iter().fold("/".to_owned(), |path, name| path + &encoded(name) + "/");
        rows += &format!("<tr><td><a href=\"{above}\">..</a></td><td></td><td></td></tr>\n");
    }
    for entry in &folder.entries {
        let slash = if entry.is_folder { "/" } else { "" };
        let view = if entry.is_folder { "" } else { "?view" };
        let (href, name) = (encoded(&entry.name), escaped(&entry.name));
        let bytes = entry.bytes.map_or_else(String::new, show_bytes);
        let modified = entry.modified.map_or_else(String::new, httpdate::fmt_http_date);
        rows += &format!(
            "<tr><td><a href=\"{here}{href}{slash}{view}\">{name}{slash}</a></td><td>{bytes}</td><td>{modified}</td></tr>\n"
        );
    }
    let note = match () {
        () if folder.has_more => "<p>There are more, which are not listed.</p>",
        () if folder.entries.is_empty() => "<p>There are no frames here.</p>",
        () => "",
    };
    PAGE.replace("{path}", &escaped(&path(target))).replace("{note}", note).replace("{rows}", &rows)
}

/// Text without a meaning in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
