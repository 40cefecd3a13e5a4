//! Numbers in Chinese text: `12`, `１２`, 十二, 二〇二三.

/// A number. `digits` is the number of its digits, 0 if 十 or 百 is one of its characters;
/// `numerals` is true for Chinese numerals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChineseNumber {
    pub value: i64,
    pub digits: usize,
    pub numerals: bool,
}

/// The number at the beginning of `text` (up to six digits), and the rest.
pub(super) fn number(text: &str) -> Option<(ChineseNumber, &str)> {
    let first = text.chars().next()?;
    if arabic(first).is_some() {
        return positional(text, arabic);
    }
    let length: usize = text
        .chars()
        .take(8)
        .take_while(|c| numeral(*c).is_some() || matches!(c, '十' | '百'))
        .map(char::len_utf8)
        .sum();
    let (digits, after) = text.split_at(length);
    if digits.is_empty() {
        return None;
    }
    if !digits.contains(['十', '百']) {
        return positional(text, numeral);
    }
    let (mut sum, mut pending) = (0, None);
    for c in digits.chars() {
        match (c, numeral(c)) {
            ('十', _) => sum += pending.take().unwrap_or(1) * 10,
            ('百', _) => sum += pending.take().unwrap_or(1) * 100,
            (_, Some(digit)) => pending = Some(digit),
            _ => return None,
        }
    }
    Some((ChineseNumber { value: sum + pending.unwrap_or(0), digits: 0, numerals: true }, after))
}

/// Whether `c` can be part of a number, so that no number begins after it.
pub(super) fn is_digit(c: char) -> bool {
    arabic(c).is_some() || numeral(c).is_some() || matches!(c, '十' | '百')
}

fn positional(text: &str, digit: impl Fn(char) -> Option<i64>) -> Option<(ChineseNumber, &str)> {
    let (mut value, mut digits, mut end) = (0, 0, 0);
    for c in text.chars() {
        let Some(one) = digit(c) else { break };
        if digits == 6 {
            return None;
        }
        value = value * 10 + one;
        digits += 1;
        end += c.len_utf8();
    }
    if digits == 0 {
        return None;
    }
    Some((
        ChineseNumber { value, digits, numerals: arabic(text.chars().next()?).is_none() },
        &text[end..],
    ))
}

fn arabic(c: char) -> Option<i64> {
    match c {
        '0'..='9' => Some(i64::from(c as u32 - '0' as u32)),
        '０'..='９' => Some(i64::from(c as u32 - '０' as u32)),
        _ => None,
    }
}

fn numeral(c: char) -> Option<i64> {
    Some(match c {
        '〇' | '零' => 0,
        '一' => 1,
        '二' | '两' | '兩' => 2,
        '三' => 3,
        '四' => 4,
        '五' => 5,
        '六' => 6,
        '七' => 7,
        '八' => 8,
        '九' => 9,
        _ => return None,
    })
}

/// The day of a month at the beginning of `text`, and the rest.
pub(super) fn day_of_month(text: &str) -> Option<(i8, &str)> {
    let (day, after) = number(text)?;
    let after = after.strip_prefix(['日', '号', '號'])?;
    let day = i8::try_from(day.value).ok().filter(|day| (1..=31).contains(day))?;
    (!after.starts_with(['线', '線', '楼', '樓', '门'])).then_some((day, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, value, digits, after) in [
            ("12月", 12, 2, "月"),
            ("１２月", 12, 2, "月"),
            ("十月", 10, 0, "月"),
            ("十二月", 12, 0, "月"),
            ("三十一日", 31, 0, "日"),
            ("二〇二三年", 2023, 4, "年"),
            ("两百零五天", 205, 0, "天"),
        ] {
            let (found, rest) = number(text).unwrap();
            assert_eq!((found.value, found.digits, rest), (value, digits, after), "{text}");
        }
        assert_eq!(number("月"), None);
        assert_eq!(number("1234567"), None);
    }
}
