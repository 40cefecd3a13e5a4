//! Headers that programs write above what they put into a message: "## Relevant memories",
//! "[SYSTEM NOTIFICATION - NOT USER INPUT]", "Thread starter (untrusted, for context):".
//!
//! Each program has words of its own. What they share is the form of a header, and signs that no
//! person writes above words about themself. The form decides how many signs are needed.

use super::first_person::speaks_of_self;
use super::pieces::{Line, is_heading};
use crate::text::script::is_alphanumeric;
use crate::text::vocabulary;

/// The signs and the headers; the file explains its lines.
const LISTS: &str = include_str!("programs.txt");
/// Maximum length of a header, in bytes.
const MAX_HEADER: usize = 240;
/// Number of lines after a header in which its end is looked for.
const MAX_LINES: usize = 200;
/// Weights of signs, and what a header of each form needs.
const SIGN: usize = 1;
const SURE_SIGN: usize = 2;
const HEADING: usize = 2;
const SENTENCE: usize = 3;

/// The entries of one list.
pub(super) fn entries(list: &'static str) -> impl Iterator<Item = &'static str> {
    vocabulary::lines(LISTS).filter(move |(name, _)| *name == list).map(|(_, line)| line)
}

/// The length of the listed header at the start of a line, without regard to case and marks.
pub(super) fn starts_with_any(line: &str, list: &'static str) -> Option<usize> {
    let bare = line.trim_start_matches(|c: char| "#*->=_ [(".contains(c));
    let marks = line.len() - bare.len();
    let header = entries(list).find(|header| {
        bare.get(..header.len()).is_some_and(|start| start.eq_ignore_ascii_case(header))
    })?;
    Some(marks + header.len())
}

/// The block under a program's header.
#[derive(Clone, Copy)]
pub(super) struct ProgramBlock {
    end: BlockEnd,
    header: usize,
    has_items: bool,
}

/// Where a block ends.
#[derive(Clone, Copy)]
enum BlockEnd {
    /// With the line of the header, or the list after it.
    Line,
    /// With a line.
    Through(usize),
    /// At the end of its paragraph, or of the list after it.
    Paragraph,
    /// At a person's own words, which have a header too.
    Label,
}

impl ProgramBlock {
    /// The block that begins with line `number`.
    pub fn beginning(text: &str, lines: &[Line], number: usize) -> Option<Self> {
        let bare = &text[lines[number].range.clone()];
        let end = if starts_with_any(bare, "paragraph").is_some() {
            BlockEnd::Paragraph
        } else if starts_with_any(bare, "label").is_some() {
            BlockEnd::Label
        } else if starts_with_any(bare, "line").is_some() {
            BlockEnd::Line
        } else {
            let form = HeaderForm::of(bare)?;
            match (closes_itself(bare), closing_line(text, lines, number), form) {
                (true, ..) => BlockEnd::Line,
                (_, Some(last), _) => BlockEnd::Through(last),
                (_, None, HeaderForm::Heading) => BlockEnd::Paragraph,
                (_, None, HeaderForm::Words) => BlockEnd::Line,
            }
        };
        Some(Self { end, header: number, has_items: false })
    }

    /// True if the block ends before line `number`. `after_words`: a person's words stand before
    /// the header.
    pub fn is_over(
        &mut self,
        text: &str,
        lines: &[Line],
        number: usize,
        after_words: bool,
    ) -> bool {
        let line = &lines[number];
        let bare = &text[line.range.clone()];
        let begins = lines[number - 1].block < line.block;
        match self.end {
            BlockEnd::Label => false,
            BlockEnd::Through(last) => number > last,
            BlockEnd::Line => !(is_bullet(bare) && (!begins || number == self.header + 1)),
            BlockEnd::Paragraph if begins && !is_item(bare) => {
                // A header that stands alone: the next paragraph is the program's, but the last
                // one the person's.
                let is_last = line.block == lines[lines.len() - 1].block;
                number > self.header + 1 || is_last && !after_words
            }
            BlockEnd::Paragraph => {
                let is_flush = text[..line.range.start].ends_with('\n');
                let is_below = self.has_items && is_flush && !is_item(bare);
                self.has_items |= is_bullet(bare);
                is_below && bare.starts_with(is_alphanumeric)
            }
        }
    }
}

/// The form of a header.
#[derive(Clone, Copy)]
enum HeaderForm {
    /// A line of its own.
    Heading,
    /// Words follow in the line, or it is a sentence.
    Words,
}

impl HeaderForm {
    /// The form of a line that is a program's header by its signs.
    fn of(line: &str) -> Option<Self> {
        if line.starts_with('[')
            && let Some((label, rest)) = line[1..].split_once(']')
            && !rest.trim().is_empty()
        {
            let first = rest.split(['.', ':', '。']).next().unwrap_or_default();
            let is_header = signs(label, true) >= HEADING
                || signs(&format!("{label} {first}"), false) >= SENTENCE;
            return is_header.then_some(Self::Words);
        }
        let alone = line.trim_end_matches(['*', '_', ' ']).ends_with([':', '：']);
        if alone || is_heading(line) || line.starts_with("# ") || line.starts_with("##") {
            return (signs(line, false) >= HEADING).then_some(Self::Heading);
        }
        let label = line.split_once(": ").map_or("", |(label, _)| label);
        let is_header = [label, line].into_iter().any(|text| signs(text, false) >= SENTENCE);
        is_header.then_some(Self::Words)
    }
}

/// How many signs of a program a text has; none if it is in the first person.
fn signs(text: &str, is_bracket: bool) -> usize {
    if text.is_empty() || text.len() > MAX_HEADER || speaks_of_self(text) {
        return 0;
    }
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !is_alphanumeric(c)).filter(|word| !word.is_empty()).collect();
    let (open, close) = if is_bracket { ("[", "]") } else { ("", "$") };
    let words = format!(" {open} {} {close} ", words.join(" "));
    let has = |sign: &&str| {
        words.match_indices(*sign).any(|(at, found)| {
            words[..at].ends_with(' ') && words[at + found.len()..].starts_with(' ')
        })
    };
    let count = |list| entries(list).filter(has).count();
    count("sign") * SIGN + count("sure-sign") * SURE_SIGN
}

/// "… End of the note." in the line of the header itself.
fn closes_itself(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    !lower.starts_with("[end") && lower.contains(". end of ")
}

/// The line that ends a block: "[End of note]", or the last of the lines that part its items.
fn closing_line(text: &str, lines: &[Line], number: usize) -> Option<usize> {
    let after = number + 1..lines.len().min(number + MAX_LINES);
    let bare = |at: usize| &text[lines[at].range.clone()];
    let is_end = |at: &usize| {
        let words = bare(*at).trim_start_matches(|c: char| !is_alphanumeric(c));
        is_heading(bare(*at)) && words.get(..4).is_some_and(|s| s.eq_ignore_ascii_case("end "))
    };
    let is_rule = |at: &usize| is_rule(bare(*at));
    after.clone().find(is_end).or_else(|| after.rev().find(is_rule))
}

/// True for a line of dashes.
fn is_rule(line: &str) -> bool {
    line.len() >= 3 && ['-', '=', '*', '_'].iter().any(|mark| line.chars().all(|c| c == *mark))
}

/// True for an item of a list.
fn is_bullet(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with(['-', '*', '•']) || rest.len() < line.len() && rest.starts_with(['.', ')'])
}

/// True for what continues a list after an empty line.
fn is_item(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_dated = rest.len() + 4 <= line.len() && rest.starts_with(['-', '/', '.', ':']);
    let is_heading = line.starts_with('#') && !speaks_of_self(line);
    is_bullet(line) || is_dated || is_heading || line.starts_with('<')
}

#[cfg(test)]
mod tests {
    use super::super::spans;
    use crate::model::SaidBy;

    /// The parts of a text that are its writer's own.
    fn own(text: &str) -> String {
        let own = spans(text, "user", SaidBy::User).into_iter();
        own.filter(|span| span.said_by == SaidBy::User).map(|span| &text[span.range]).collect()
    }

    /// Headers of memories, hooks and agents, with places for what they hold.
    const INJECTED: [&str; 30] = [
        "## Memory store - ACTION REQUIRED\n\nAuto-recall found these memories:\n- {}\n- {}",
        "[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an automated event.\n{}",
        "[SYSTEM REMINDER]\n{}\n{}",
        "[System note: recalled memory, not new user input]\n{}\n{}\n[End of system note]",
        "Supermemories of the user (only for the reference): {} {}",
        "Relevant items from long-term memory; do not mention them.\n\n{}\n\n---\n\n{}\n\n---",
        "[Rollover note] This session continues from an earlier one. Digest: {} End of the note.",
        "# Recent Memory\n## 2025-02-01\n- {}\n- {}",
        "[hint] Recall available\n# Recent Memory\n## 2025-02-01\n- {}\n- {}",
        "Here are your memories:\n- {}\n- {}",
        "[Memory] {}\n[Memory] {}",
        "System: [2025-02-01 10:00 GMT+1] Exec completed (calm-owl, code 0) :: {}\n\
         System: [2025-02-01 10:02] DM from Ou: {}",
        "Reply target of current user message (untrusted, for context):\n{}",
        "Forwarded message (untrusted metadata):\n{} {}",
        "## Active Memory (Oakum)\n\n[t/m] {}\n[t/pr] {}\n\n[oakum] auto-capture=on.",
        "Auto-recalled memories:\n1. {}\n2. {}",
        "### Retrieved memories (top 2)\n- {}\n- {}",
        "=== Retrieved context ===\n{}\n{}\n=== End of context ===",
        "--- memory block ---\n{}\n{}\n--- end memory block ---",
        "**Memories about the user**\n- {}\n- {}",
        "Facts about the user:\n- {}\n- {}",
        "What is known of the user's life:\n* {}\n* {}",
        "## Injected context\n{}",
        "[Relevant memories]\n{}\n{}",
        "## Long-term memory\n- {}\n- {}",
        "The following memories were found by recall:\n- {}\n- {}",
        "[Recalled memory] {}",
        "Relevant memory from previous conversations:\n- {}\n- {}",
        "[AUTO-INJECTED MEMORY]\n{}\n{}",
        "SessionStart:startup hook success: {}",
    ];
    /// The person's headers of the same forms.
    const WRITTEN: [&str; 36] = [
        "## About me\n- {}",
        "## My memories\n- {}",
        "# Memories of a strange year\n{}",
        "## Memory lane\n- {}",
        "Some memories from my childhood:\n- {}",
        "[IMPORTANT] {}",
        "[update] {}",
        "[FYI] {}",
        "[Note to self] {}",
        "[reminder] {}",
        "[edit: typo] {}",
        "Reminder: {}",
        "Good to know: {}",
        "Relevant background: {}",
        "Background: {}",
        "Background task for tonight: {}",
        "Memory: {}",
        "Core memory unlocked: {}",
        "Long-term memory is bad, but: {}",
        "Quick update: {}",
        "Note: {}",
        "Profile:\n- {}",
        "## Notes\n- {}",
        "**Health**\n- {}",
        "Update: {}",
        "Facts about me:\n- {}",
        "=== My week ===\n{}",
        "**Remember**\n- {}",
        "For reference: {}",
        "Notification: {}",
        "Summary of where things stand:\n- {}",
        "# 2025-02-01\n{}",
        "## Recent memories\n- {}",
        "For the record:\n{}",
        "Remember the following facts:\n- {}",
        "To your memory, please: {}",
    ];
    const SAID: [&str; 3] =
        ["I moved to Tromsø in May.", "My sister works as a vet.", "I'm allergic to walnuts."];
    const MINE: &str = "I bought a red canoe on Sunday.";

    #[test]
    fn what_programs_put_into_a_message_is_not_its_writers() {
        let (mut taken, mut lost) = (Vec::new(), Vec::new());
        for header in INJECTED {
            let block = header.replacen("{}", SAID[0], 1).replacen("{}", SAID[1], 1);
            for text in [block.clone(), format!("{block}\n\n{MINE}"), format!("{MINE}\n\n{block}")]
            {
                let own = own(&text);
                if own.contains("Troms") || own.contains("vet") {
                    taken.push(text.clone());
                }
                if text.contains("canoe") && !own.contains("canoe") {
                    lost.push(text);
                }
            }
        }
        assert!(taken.len() <= 3, "{} of 90 taken as own:\n{}", taken.len(), taken.join("\n\n"));
        assert!(lost.len() <= 4, "{} of 60 lost:\n{}", lost.len(), lost.join("\n\n"));
    }

    #[test]
    fn headers_that_a_person_writes_leave_their_words_their_own() {
        let mut lost = Vec::new();
        for header in WRITTEN {
            for said in SAID {
                let text = header.replace("{}", said);
                if !own(&text).contains(said) {
                    lost.push(text);
                }
            }
        }
        assert!(lost.len() <= 8, "{} of 108 lost:\n{}", lost.len(), lost.join("\n\n"));
    }
}
