//! Numbers with check digits: payment cards and bank accounts.

use super::FoundSecret;

/// Lengths of IBANs by country.
const IBAN_LENGTHS: &str = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22\
    DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26\
    IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23\
    PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22\
    VG24XK20YE30";

/// The groups in which cards print their digits, and people write them.
const CARD_GROUPS: &[&[usize]] =
    &[&[4, 4, 4, 4, 3], &[6, 13], &[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4]];
/// The most letters of a bank's code in an IBAN written in lower case.
const BANK_CODE: usize = 4;

pub(super) fn find_numbers(text: &str, found: &mut Vec<FoundSecret>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut apart = true;
    while at < bytes.len() {
        let (byte, length) = sign_at(bytes, at);
        let mut next = at + length;
        if apart && byte.is_ascii_alphanumeric() {
            let is_digit = byte.is_ascii_digit();
            let (end, kind) = if is_digit {
                (card_end(bytes, at), "card number")
            } else {
                (iban_end(bytes, at), "iban")
            };
            if let Some(end) = end {
                found.push(FoundSecret { start: at, end, kind });
                at = end;
                // A number does not begin where another ends.
                apart = false;
                continue;
            }
            next = run_end(bytes, at, |byte| {
                if is_digit { byte.is_ascii_digit() } else { byte.is_ascii_alphanumeric() }
            });
        }
        let last = if next > at + length { b'0' } else { byte };
        apart = !joins_word(last);
        at = next;
    }
}

/// The sign that begins at `at`, and its bytes: full-width letters, digits and marks as the narrow
/// ones, spaces and dashes of all widths as one space and one hyphen; 0 for other letters
/// and at the end.
fn sign_at(bytes: &[u8], at: usize) -> (u8, usize) {
    match bytes[at..] {
        [byte @ ..=0x7f, ..] => (byte, 1),
        [0xc2, 0xa0, ..] => (b' ', 2),
        // From U+2000 on: spaces of fixed width, hyphens and dashes, the narrow space.
        [0xe2, 0x80, 0x80..=0x8a | 0xaf, ..] | [0xe3, 0x80, 0x80, ..] => (b' ', 3),
        [0xe2, 0x80, 0x90..=0x93, ..] => (b'-', 3),
        // From U+FF01 on.
        [0xef, 0xbc, last @ 0x81..=0xbf, ..] => (last - 0x81 + b'!', 3),
        [0xef, 0xbd, last @ 0x80..=0x9e, ..] => (last - 0x80 + b'`', 3),
        _ => (0, 1),
    }
}

/// Before or after these a number is a part of a longer word, a path or a fraction.
fn joins_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'+' | b'#' | b'@')
}

fn run_end(bytes: &[u8], start: usize, inside: impl Fn(u8) -> bool) -> usize {
    let mut at = start;
    while at < bytes.len() {
        let (byte, length) = sign_at(bytes, at);
        if !inside(byte) {
            break;
        }
        at += length;
    }
    at
}

/// The end of the card number that begins at `start`: digits without a gap, or in groups between
/// which one mark comes back.
fn card_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut groups = digit_groups(bytes, start).into_iter();
    let (mut digits, mut last) = groups.next()?;
    let is_card = |digits: &[u8], last| {
        ends_number(bytes, last) && is_issued(digits) && passes_luhn(digits) && !is_repeated(digits)
    };
    if digits.len() > 6 {
        return is_card(&digits, last).then_some(last);
    }
    let mut lengths = vec![digits.len()];
    let mut ends = None;
    for (group, end) in groups {
        // A column of numbers, not a card and its code.
        let goes_on = ends == Some(last) && group.len() > 3;
        if goes_on {
            ends = None;
        }
        lengths.push(group.len());
        digits.extend_from_slice(&group);
        last = end;
        if CARD_GROUPS.contains(&lengths.as_slice()) && is_card(&digits, last) {
            ends = Some(last);
        }
    }
    ends
}

/// Up to six groups of digits with the end of each, between which the same mark stands.
fn digit_groups(bytes: &[u8], start: usize) -> Vec<(Vec<u8>, usize)> {
    let mut groups = Vec::new();
    let (mut at, mut mark) = (start, None);
    while groups.len() < 6 {
        let end = run_end(bytes, at, |byte| byte.is_ascii_digit());
        if end == at {
            break;
        }
        let mut digits = Vec::new();
        while at < end {
            let (digit, length) = sign_at(bytes, at);
            digits.push(digit);
            at += length;
        }
        groups.push((digits, end));
        let (next, length) = sign_at(bytes, end);
        if !matches!(next, b' ' | b'-' | b'.') || mark.is_some_and(|mark| mark != next) {
            break;
        }
        mark = Some(next);
        at = end + length;
    }
    groups
}

/// False if what begins at `at` goes on with the number, a word or a path.
fn ends_number(bytes: &[u8], at: usize) -> bool {
    let (byte, length) = sign_at(bytes, at);
    let is_before_digit = || sign_at(bytes, at + length).0.is_ascii_digit();
    !(byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'-' | b'/' | b'@')
        || byte == b'.' && is_before_digit())
}

/// Whether an issuer has cards that begin with these digits and are as long.
fn is_issued(digits: &[u8]) -> bool {
    let front = |count: usize| {
        digits.iter().take(count).fold(0_u32, |sum, digit| sum * 10 + u32::from(digit - b'0'))
    };
    match digits.len() {
        19 => front(2) == 62,
        14 => front(2) == 36 || front(2) == 38 || (300..=305).contains(&front(3)),
        15 => front(2) == 34 || front(2) == 37,
        16 => {
            digits[0] == b'4'
                || (51..=55).contains(&front(2))
                || (2221..=2720).contains(&front(4))
                || front(4) == 6011
                || front(2) == 65
                || (644..=649).contains(&front(3))
                || (3528..=3589).contains(&front(4))
                || front(2) == 62
        }
        _ => false,
    }
}

/// The check of Luhn.
fn passes_luhn(digits: &[u8]) -> bool {
    let weighed = digits.iter().rev().enumerate().map(|(at, digit)| {
        let digit = u32::from(digit - b'0');
        match (at % 2, digit) {
            (0, _) => digit,
            (_, 0..=4) => 2 * digit,
            _ => 2 * digit - 9,
        }
    });
    weighed.sum::<u32>().is_multiple_of(10)
}

/// True for one digit over and over.
fn is_repeated(digits: &[u8]) -> bool {
    digits.iter().all(|digit| *digit == digits[0])
}

/// The end of the IBAN that begins at `start`, in one piece or in groups of four.
fn iban_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut letters = Vec::new();
    let (mut at, mut length) = (start, usize::MAX);
    let (mut is_lower, mut was_mark) = (false, false);
    while letters.len() < length {
        let (byte, width) = sign_at(bytes, at);
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                is_lower |= byte.is_ascii_lowercase();
                letters.push(byte.to_ascii_uppercase());
                was_mark = false;
            }
            b' ' | b'-' | b'.' if letters.len() % 4 == 0 && !was_mark => was_mark = true,
            _ => return None,
        }
        at += width;
        if letters.len() == 4 && length == usize::MAX {
            length = iban_length(&letters)?;
        }
    }
    let ends = !sign_at(bytes, at).0.is_ascii_alphanumeric();
    let is_iban =
        ends && (!is_lower || is_mostly_digits(&letters)) && iban_remainder(&letters) == 1;
    is_iban.then_some(at)
}

/// The length of an IBAN that begins with a country and two check digits.
fn iban_length(begin: &[u8]) -> Option<usize> {
    let (country, check) = begin.split_at_checked(2)?;
    if !check.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut lengths = IBAN_LENGTHS.as_bytes().chunks(4).filter(|row| &row[..2] == country);
    std::str::from_utf8(&lengths.next()?[2..]).ok()?.parse().ok()
}

/// True for an IBAN whose letters are those of a bank's code, or one more: other words of small
/// letters and digits are ids.
fn is_mostly_digits(letters: &[u8]) -> bool {
    let number = |part: &[u8]| part.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    let account = &letters[4..];
    let bank = number(&account[..BANK_CODE]);
    number(account) <= 1 || bank == BANK_CODE && number(account) == BANK_CODE
}

/// The number that the letters spell, after the first four are moved to the end, modulo 97.
fn iban_remainder(letters: &[u8]) -> u32 {
    letters[4..].iter().chain(&letters[..4]).fold(0, |sum, letter| match letter {
        b'0'..=b'9' => (sum * 10 + u32::from(letter - b'0')) % 97,
        _ => (sum * 100 + u32::from(letter - b'A') + 10) % 97,
    })
}
