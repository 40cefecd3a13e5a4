//! Numbers with check digits: payment cards and bank accounts.

use super::FoundSecret;

/// Lengths of IBANs by country.
const IBAN_LENGTHS: &str = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22\
    DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26\
    IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23\
    PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22\
    VG24XK20YE30";

pub(super) fn find_numbers(text: &str, found: &mut Vec<FoundSecret>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let apart = at == 0 || !joins_word(bytes[at - 1]);
        if apart && bytes[at].is_ascii_digit() {
            let end = run_end(bytes, at, |byte| byte.is_ascii_digit());
            if let Some(end) = card_end(bytes, at, end) {
                found.push(FoundSecret { start: at, end, kind: "card number" });
                at = end;
                continue;
            }
            at = end;
        } else if apart && bytes[at].is_ascii_uppercase() {
            match iban_end(bytes, at) {
                Some(end) => {
                    found.push(FoundSecret { start: at, end, kind: "iban" });
                    at = end;
                }
                None => at = run_end(bytes, at, |byte| byte.is_ascii_alphanumeric()),
            }
        } else {
            at += 1;
        }
    }
}

/// Before or after these a number is a part of a longer word, a path or a fraction.
fn joins_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'+' | b'#' | b'@')
}

fn run_end(bytes: &[u8], start: usize, inside: impl Fn(u8) -> bool) -> usize {
    bytes[start..].iter().position(|byte| !inside(*byte)).map_or(bytes.len(), |end| start + end)
}

/// The end of the card number that begins at `start`, whose first digits end at `end`: digits
/// without a gap, or in the groups in which cards print them.
fn card_end(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let mut digits = bytes[start..end].to_vec();
    let mut last = end;
    if digits.len() == 4 {
        let separator = *bytes.get(end).filter(|byte| matches!(byte, b' ' | b'-'))?;
        while bytes.get(last) == Some(&separator) && digits.len() < 19 {
            let group = run_end(bytes, last + 1, |byte| byte.is_ascii_digit());
            if group == last + 1 {
                break;
            }
            digits.extend_from_slice(&bytes[last + 1..group]);
            let length = group - last - 1;
            last = group;
            if length != 4 && !(digits.len() == 10 && length == 6) {
                break;
            }
        }
        let grouped = match digits.len() {
            // 4-6-5 of American Express; four groups of four.
            15 => last - start == 17,
            16 => last - start == 19,
            _ => false,
        };
        if !grouped {
            return None;
        }
    }
    let ends = !bytes.get(last).is_some_and(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-' | b'/' | b'@')
            || *byte == b'.' && bytes.get(last + 1).is_some_and(u8::is_ascii_digit)
    });
    (ends && is_issued(&digits) && passes_luhn(&digits) && !is_repeated(&digits)).then_some(last)
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
    let country = std::str::from_utf8(bytes.get(start..start + 2)?).ok()?;
    let check = bytes.get(start + 2..start + 4)?;
    if !check.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let lengths = IBAN_LENGTHS.as_bytes().chunks(4);
    let length = lengths
        .filter(|row| &row[..2] == country.as_bytes())
        .find_map(|row| std::str::from_utf8(&row[2..]).ok()?.parse::<usize>().ok())?;
    let mut letters = Vec::with_capacity(length);
    let mut at = start;
    while letters.len() < length {
        match *bytes.get(at)? {
            byte if byte.is_ascii_digit() || byte.is_ascii_uppercase() => letters.push(byte),
            b' ' | b'-' if letters.len() % 4 == 0 && bytes[at - 1] != b' ' => {}
            _ => return None,
        }
        at += 1;
    }
    let ends = !bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    (ends && iban_remainder(&letters) == 1).then_some(at)
}

/// The number that the letters spell, after the first four are moved to the end, modulo 97.
fn iban_remainder(letters: &[u8]) -> u32 {
    letters[4..].iter().chain(&letters[..4]).fold(0, |sum, letter| match letter {
        b'0'..=b'9' => (sum * 10 + u32::from(letter - b'0')) % 97,
        _ => (sum * 100 + u32::from(letter - b'A') + 10) % 97,
    })
}
