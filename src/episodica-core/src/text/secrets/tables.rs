//! Columns of passwords in tables: rows between bars, exports with commas.

use super::FoundSecret;
use super::named::{is_example, is_reference};
use super::names::{NAMES, Promise};

/// Marks between the cells of a row.
const MARKS: [char; 4] = ['|', '\t', ',', ';'];
/// Most cells of a row, and most bytes of a name.
const MAX_CELLS: usize = 40;
const MAX_NAME: usize = 32;

/// A table whose rows are being read.
struct Table {
    mark: char,
    cells: usize,
    column: usize,
}

pub(super) fn find_in_tables(text: &str, found: &mut Vec<FoundSecret>) {
    let mut table: Option<Table> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let row = line.trim_end();
        if let Some(open) = &table {
            let cells: Vec<&str> = row.split(open.mark).take(MAX_CELLS + 1).collect();
            if cells.len() == open.cells {
                let value = cells[open.column].trim_matches(|c: char| " \t`\"'*".contains(c));
                if is_value(value) {
                    let from = start + value.as_ptr() as usize - line.as_ptr() as usize;
                    found.push(FoundSecret {
                        start: from,
                        end: from + value.len(),
                        kind: "password",
                    });
                }
                continue;
            }
        }
        table = table_header(row);
    }
}

/// The table under a row with the name of a password in a cell of its own.
fn table_header(row: &str) -> Option<Table> {
    let mark = MARKS.into_iter().find(|mark| row.contains(*mark))?;
    let cells: Vec<&str> = row.split(mark).take(MAX_CELLS + 1).map(bare_cell).collect();
    // No "your name, password, and ID."
    let is_short = |cell: &&str| {
        cell.len() <= MAX_NAME && cell.split(' ').count() <= 2 && !cell.ends_with(['.', '!', '?'])
    };
    if cells.len() < 2 || cells.len() > MAX_CELLS || !cells.iter().all(is_short) {
        return None;
    }
    let is_password = |cell: &str| {
        let is_kind = |promise| matches!(promise, Promise::Password | Promise::Entry);
        NAMES.iter().any(|(name, promise, _)| is_kind(*promise) && cell.to_lowercase() == *name)
    };
    let column = cells.iter().copied().position(is_password)?;
    Some(Table { mark, cells: cells.len(), column })
}

fn bare_cell(cell: &str) -> &str {
    cell.trim_matches(|c: char| " \t`\"'*".contains(c))
}

fn is_value(value: &str) -> bool {
    (4..=128).contains(&value.chars().count())
        && !value.contains(char::is_whitespace)
        && value.contains(char::is_alphanumeric)
        && !is_reference(value)
        && !is_example(value)
        && !value.contains("**")
}
