//! Texts of a terminal without its colours, whose codes stand between a name and its value.

const BEGIN: &str = "\u{1b}[";

/// A text without the codes of a terminal, and where these stood.
pub(super) struct PlainText {
    pub text: String,
    /// The place of each code in the text without codes, and the bytes of all codes up to it.
    cuts: Vec<(usize, usize)>,
}

impl PlainText {
    /// The place in the whole text of what begins at `at`.
    pub fn start_of(&self, at: usize) -> usize {
        at + self.bytes_cut(self.cuts.partition_point(|(place, _)| *place <= at))
    }

    /// The place in the whole text of what ends at `at`.
    pub fn end_of(&self, at: usize) -> usize {
        at + self.bytes_cut(self.cuts.partition_point(|(place, _)| *place < at))
    }

    fn bytes_cut(&self, number: usize) -> usize {
        number.checked_sub(1).map_or(0, |last| self.cuts[last].1)
    }
}

/// The text without codes such as `ESC [ 3 2 m`; `None` if it has none.
pub(super) fn without_colours(text: &str) -> Option<PlainText> {
    if !text.contains(BEGIN) {
        return None;
    }
    let mut parts = text.split(BEGIN);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    let (mut cuts, mut cut) = (Vec::new(), 0);
    for part in parts {
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, ';' | ':' | '?');
        let numbers = part.find(|c| !is_number(c)).unwrap_or(part.len());
        let is_code = part[numbers..].starts_with(|c: char| c.is_ascii_alphabetic());
        let length = if is_code { numbers + 1 } else { 0 };
        cut += BEGIN.len() + length;
        cuts.push((plain.len(), cut));
        plain.push_str(&part[length..]);
    }
    Some(PlainText { text: plain, cuts })
}
