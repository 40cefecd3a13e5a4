//! Finds the numbers of a text, in digits or in words, and writes them in one form.

use crate::text::words::runs;

/// Every number of `text` in digits: "1,150" and "eleven hundred and fifty" are `1150`, "十二" is
/// `12`. Leaves out the Chinese and English words for one, which are usually articles.
pub(crate) fn numbers(text: &str) -> Vec<String> {
    let mut found = digits(text);
    english(text, &mut found);
    if !text.is_ascii() {
        chinese(text, &mut found);
    }
    found
}

fn digits(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let joins = matches!(character, '.' | ',')
            && !current.is_empty()
            && characters.peek().is_some_and(char::is_ascii_digit);
        if character.is_ascii_digit() {
            current.push(character);
        } else if joins {
            if character == '.' {
                current.push('.');
            }
        } else if !current.is_empty() {
            found.push(std::mem::take(&mut current));
        }
    }
    if !current.is_empty() {
        found.push(current);
    }
    found
}

/// Words for the numbers from 0, in English and, from 2 to 10, in languages whose composed numbers
/// are not read. No word has another meaning in another of these languages.
const UNITS: [&str; 20] = [
    "zero",
    "one",
    "two zwei dos deux dois duas twee dwa dwie два две",
    "three drei tres trois três drie trzy три",
    "four vier cuatro quatre quattro quatro cztery четыре",
    "five fünf cinco cinq cinque vijf pięć пять",
    "six sechs seis zes sześć шесть",
    "seven sieben siete sette sete zeven siedem семь",
    "eight acht ocho huit otto oito osiem восемь",
    "nine neun nueve neuf nove negen dziewięć девять",
    "ten zehn diez dieci dez dziesięć десять",
    "eleven",
    "twelve dozen",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] =
    ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

fn unit(word: &str) -> Option<u64> {
    let at = UNITS.iter().position(|row| row.split(' ').any(|unit| unit == word))?;
    Some(at as u64)
}

fn ten(word: &str) -> Option<u64> {
    TENS.iter().position(|ten| *ten == word).map(|at| at as u64 * 10 + 20)
}

/// Composed number words: "twenty-eight", "two hundred and five", "eleven thousand".
fn english(text: &str, found: &mut Vec<String>) {
    let mut value: Option<u64> = None;
    let mut total = 0;
    let mut flush = |value: &mut Option<u64>, total: &mut u64| {
        if let Some(last) = value.take() {
            let number = total.saturating_add(last);
            if number != 1 {
                found.push(number.to_string());
            }
        } else if *total > 0 {
            found.push(total.to_string());
        }
        *total = 0;
    };
    for word in runs(text, char::is_alphabetic) {
        let lower = word.to_lowercase();
        if let Some(unit) = unit(&lower) {
            match value {
                Some(open)
                    if open >= 20 && open % 10 == 0 && unit < 10
                        || value.is_some_and(|open| open >= 100 && open % 100 == 0) =>
                {
                    value = Some(open + unit)
                }
                Some(_) => {
                    flush(&mut value, &mut total);
                    value = Some(unit);
                }
                None => value = Some(unit),
            }
        } else if let Some(ten) = ten(&lower) {
            match value {
                Some(open) if open >= 100 && open % 100 == 0 => value = Some(open + ten),
                Some(_) => {
                    flush(&mut value, &mut total);
                    value = Some(ten);
                }
                None => value = Some(ten),
            }
        } else if lower == "hundred" && value.is_some() {
            value = value.map(|open| open.saturating_mul(100));
        } else if lower == "thousand" && value.is_some() {
            total = value.take().unwrap_or(1).saturating_mul(1000);
        } else if lower != "and" || value.is_none() {
            flush(&mut value, &mut total);
        }
    }
    flush(&mut value, &mut total);
}

/// Runs of Chinese numerals; leaves out a lone 一.
fn chinese(text: &str, found: &mut Vec<String>) {
    let mut run = String::new();
    for character in text.chars().chain(['\u{0}']) {
        if "零〇一二三四五六七八九十百千万两".contains(character) {
            run.push(character);
        } else if !run.is_empty() {
            if let Some(value) = chinese_value(&run).filter(|value| *value > 1) {
                found.push(value.to_string());
            }
            run.clear();
        }
    }
}

/// The value of a run of Chinese numerals: positional (二〇二四) or with units (三百二十).
fn chinese_value(run: &str) -> Option<u64> {
    let digit = |character: char| match character {
        '两' => Some(2),
        '〇' => Some(0),
        _ => {
            "零一二三四五六七八九".chars().position(|known| known == character).map(|at| at as u64)
        }
    };
    let positional =
        run.chars().count() > 1 && run.chars().all(|character| digit(character).is_some());
    if positional {
        return run.chars().try_fold(0_u64, |value, character| {
            value.checked_mul(10)?.checked_add(digit(character)?)
        });
    }
    let (mut total, mut section, mut open) = (0_u64, 0_u64, None);
    // The unit of a last digit may be left out: 一千二 is 1200.
    let mut unsaid = 1;
    for character in run.chars() {
        let factor = match character {
            '十' => 10,
            '百' => 100,
            '千' => 1000,
            '万' => {
                total = total.checked_add(
                    section.checked_add(open.take().unwrap_or(0))?.max(1).checked_mul(10_000)?,
                )?;
                section = 0;
                unsaid = 1_000;
                continue;
            }
            _ => {
                open = digit(character);
                unsaid = if open == Some(0) { 1 } else { unsaid };
                continue;
            }
        };
        unsaid = factor / 10;
        section = section.checked_add(open.take().unwrap_or(1) * factor)?;
    }
    total.checked_add(section)?.checked_add(open.unwrap_or(0) * unsaid.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling() {
        for (text, expected) in [
            ("$1,150 and 2.5", vec!["1150", "2.5"]),
            ("twenty-eight kilos", vec!["28"]),
            ("Two hundred and five, eleven thousand", vec!["205", "11000"]),
            ("one dog, three cats and five fish", vec!["3", "5"]),
            ("FG-1042 v2.3.1", vec!["1042", "2.3.1"]),
            ("三百二十块,十二斤,一个,二〇二四", vec!["320", "12", "2024"]),
            ("两万五千", vec!["25000"]),
            ("一千二和三万五,一千零二,十二,四百五十六", vec!["1200", "35000", "1002", "12", "456"]),
            ("zwei Hunde und acht Katzen", vec!["2", "8"]),
            ("a dozen", vec!["12"]),
        ] {
            assert_eq!(numbers(text), expected, "{text}");
        }
    }
}
