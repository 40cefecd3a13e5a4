//! Passwords in commands: `curl -u user:password`, `mysql -pPASSWORD`, and in the files of `netrc`.

use aho_corasick::AhoCorasick;

use super::FoundSecret;
use super::named::{clip_text, is_example, is_reference};
use crate::fork::ForkLazy;

/// Where the password stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the next word.
    Next,
    /// In the next word after a colon.
    AfterColon,
    /// In the same word as the option.
    Joined,
}

/// How an entry of `.netrc` begins.
const NETRC: &str = "machine ";
/// The other words of an entry.
const NETRC_WORDS: &[&str] = &["login", "account", "password", "port"];

/// Commands with their option.
const COMMANDS: &[(&str, &str, Place)] = &[
    ("curl ", "-u", Place::AfterColon),
    ("curl ", "--user", Place::AfterColon),
    ("curl ", "--proxy-user", Place::AfterColon),
    ("mysql", "-p", Place::Joined),
    ("mariadb", "-p", Place::Joined),
    ("7z ", "-p", Place::Joined),
    ("sshpass ", "-p", Place::Next),
    ("sshpass ", "-p", Place::Joined),
    ("redis-cli", "-a", Place::Next),
    ("docker login", "-p", Place::Next),
    ("podman login", "-p", Place::Next),
    ("mongo", "-p", Place::Next),
    ("ldapsearch", "-w", Place::Next),
    ("unzip ", "-P", Place::Next),
    ("az login", "-p", Place::Next),
    (NETRC, "password", Place::Next),
];

/// Most bytes of a command that are read.
const MAX_COMMAND: usize = 400;

static FINDER: ForkLazy<AhoCorasick> = ForkLazy::new(|| {
    AhoCorasick::new(COMMANDS.iter().map(|(command, ..)| command))
        .expect("invariant: the commands are few and short")
});

pub(super) fn find_in_commands(text: &str, found: &mut Vec<FoundSecret>) {
    // The end of what was read for each command: no part of a text is read twice for one.
    let mut free = [0; COMMANDS.len()];
    for hit in FINDER.find_overlapping_iter(text) {
        let number = hit.pattern().as_usize();
        let (command, option, place) = COMMANDS[number];
        let start = hit.start().max(free[number]);
        let begins = !text[..hit.start()].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if !begins || start > hit.start() {
            continue;
        }
        let line = clip_text(&text[hit.end()..], MAX_COMMAND);
        let length = if command == NETRC { netrc_length(line) } else { line.find(['\n', '|']) };
        let line = &line[..length.unwrap_or(line.len())];
        free[number] = hit.end() + line.len();
        if let Some((from, to)) = option_password(line, option, place) {
            let (start, end) = (hit.end() + from, hit.end() + to);
            found.push(FoundSecret { start, end, kind: "password" });
        }
    }
}

/// The length of an entry of `.netrc` after its first word: a host, then pairs of words in its line
/// and in the lines below. A login comes before the password, unlike in "machine learning".
fn netrc_length(text: &str) -> Option<usize> {
    let mut length = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        // Not the number or mark that a program puts before a line.
        let bare = line.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        let words: Vec<&str> = bare.split_ascii_whitespace().collect();
        let pairs = if number == 0 { words.get(1..).unwrap_or_default() } else { &words };
        let is_named = pairs.first().is_none_or(|word| NETRC_WORDS.contains(word));
        let is_pairs = !pairs.is_empty() && pairs.len().is_multiple_of(2);
        if !is_named || number > 0 && !is_pairs {
            break;
        }
        length += line.len();
    }
    let has_login = text[..length].split_ascii_whitespace().any(|word| word == "login");
    Some(if has_login { length } else { 0 })
}

/// The password of an option in the words of a command.
fn option_password(line: &str, option: &str, place: Place) -> Option<(usize, usize)> {
    let words: Vec<(usize, usize)> = command_words(line).collect();
    words.iter().enumerate().find_map(|(at, (start, end))| {
        let word = &line[*start..*end];
        let (mut from, mut to) = match place {
            Place::Joined => (word.starts_with(option) && word.len() > option.len())
                .then_some((start + option.len(), *end)),
            _ if word == option => words.get(at + 1).copied(),
            _ => word
                .strip_prefix(option)
                .filter(|rest| rest.starts_with('='))
                .map(|_| (start + option.len() + 1, *end)),
        }?;
        let quote = line[from..to].chars().next().filter(|c| matches!(c, '"' | '\''));
        if let Some(quote) = quote {
            from += 1;
            to -= usize::from(line[from..to].ends_with(quote));
        }
        if place == Place::AfterColon {
            from += line[from..to].find(':')? + 1;
        }
        let value = &line[from..to];
        let is_secret = value.len() >= 4
            && !value.starts_with('-')
            && !is_reference(value)
            && !is_example(value)
            && !value.contains("**");
        is_secret.then_some((from, to))
    })
}

/// The words of a command; quotation marks hold spaces together.
fn command_words(line: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &line[at..];
        let start = at + rest.find(|c: char| !c.is_whitespace())?;
        let mut quote = None;
        let mut end = line.len();
        for (place, c) in line[start..].char_indices() {
            match quote {
                Some(open) if c == open => quote = None,
                Some(_) => {}
                None if c == '"' || c == '\'' => quote = Some(c),
                None if c.is_whitespace() => {
                    end = start + place;
                    break;
                }
                None => {}
            }
        }
        at = end;
        Some((start, end))
    })
}
