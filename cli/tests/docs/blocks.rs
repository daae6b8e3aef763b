//! Fenced code blocks of Markdown.

/// A fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// The words after the opening fence: the language and then marks of ours.
    pub(crate) info: Vec<String>,
    pub(crate) text: String,
    /// Line of the opening fence, from 1.
    pub(crate) line: usize,
    /// The last line before the fence that is not empty.
    pub(crate) before: String,
}

impl Block {
    pub(crate) fn is(&self, language: &str) -> bool {
        self.info.first().is_some_and(|first| first == language)
    }

    pub(crate) fn has(&self, mark: &str) -> bool {
        self.info.iter().skip(1).any(|word| word == mark)
    }

    /// Why the block is not run, as the comment above it says.
    pub(crate) fn reason(&self) -> Option<&str> {
        Some(self.before.strip_prefix("<!-- not run: ")?.strip_suffix(" -->")?.trim())
            .filter(|reason| !reason.is_empty())
    }
}

/// The code blocks of a page, in order. Fences that are indented, as in lists, are found too.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let (mut blocks, mut open, mut before) = (Vec::new(), None::<(Block, &str)>, "");
    for (number, line) in page.lines().enumerate() {
        let trimmed = line.trim_start();
        match &mut open {
            None if trimmed.starts_with("```") => {
                let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
                let (fence, info) = trimmed.split_at(ticks);
                let info = info.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
                open = Some((Block { info, text: String::new(), line: number + 1, before: before.to_owned() }, fence));
            }
            Some((_, fence)) if trimmed.trim_end() == *fence => blocks.extend(open.take().map(|(block, _)| block)),
            Some((block, _)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
        if !trimmed.is_empty() {
            before = line;
        }
    }
    assert!(open.is_none(), "a code block is not closed: {open:?}");
    blocks
}

/// The page with the text of the block that begins in `line` replaced.
pub(crate) fn replace(page: &str, line: usize, text: &str) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let fence = lines[line - 1].trim_start_matches(|c: char| c.is_whitespace());
    let fence = &fence[..fence.len() - fence.trim_start_matches('`').len()];
    let end = (line..lines.len()).find(|&i| lines[i].trim() == fence).expect("the block is closed");
    let mut page = lines[..line].join("\n") + "\n" + text;
    page.push_str(&lines[end..].join("\n"));
    page + "\n"
}

#[test]
fn fences() {
    let page = "a\n```sh s3\nx\n\ny\n```\n<!-- not run: why -->\n```rust,ignore\n```\n````text\n```\n````\n";
    let found = blocks(page);
    let of = |i: usize| (found[i].info.join(" "), found[i].text.as_str(), found[i].line);
    assert_eq!(found.len(), 3);
    assert_eq!(of(0), ("sh s3".into(), "x\n\ny\n", 2));
    assert_eq!(of(1), ("rust ignore".into(), "", 8));
    assert_eq!(of(2), ("text".into(), "```\n", 10));
    assert_eq!((found[0].reason(), found[1].reason()), (None, Some("why")));
    assert!(found[0].is("sh") && found[0].has("s3") && !found[0].has("sh"));
    assert_eq!(replace(page, 2, "z\n"), page.replace("x\n\ny\n", "z\n"));
    assert_eq!(replace(page, 8, "z\n"), page.replace("ignore\n", "ignore\nz\n"));
}
