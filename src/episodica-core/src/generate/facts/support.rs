//! Checks that the cited messages support a fact: looks up its names, numbers and dates, and does
//! not judge meaning.
//!
//! The check works for facts from any source: rules, a model, a caller. It is strict about names
//! (it does not find a translated name) and lenient about common words.

use std::collections::HashSet;

use jiff::civil::Date;

use super::candidate::RejectReason;
use super::dates;
use super::numbers::numbers;
use crate::generate::episode::is_common_word;
use crate::model::Message;
use crate::text::is_han;
use crate::text::time::{TimeMention, mentions};
use crate::text::vocabulary::is_function_word;
use crate::text::words::{for_each_bigram, for_each_word, runs};

/// Common Han characters of facts, which never form a name by themselves.
const COMMON_HAN: &str = "的了在是有和与及同跟不没无未很也都就还又再已曾正将会能可要想打算计划希望\
    决定喜欢爱讨厌最更比较常经偶尔每天年月日周星期上下前后中里外内他她它我你您们咱自己这那哪谁什\
    么怎样为因所以但而且或者如果从到去来回往对于向把被让给用以之其此等个名位只条家间次种些第几多\
    少大小新旧老好高低长短工作居住生活学习上班职业公司岗位任职就读毕业专业学校生日年龄岁来自家乡\
    搬过买卖做吃喝看读写听说话叫姓用户助手表示提到认为觉得知道目标问题解决方法决定选择朋友家人父\
    母亲妈爸哥姐弟妹妻丈夫孩子儿女婚离订宠物狗猫养了着地得因由养患敏感健康运动完成参加举行访问旅\
    行开始结束计划准备正在目前现担任从事拥偏热衷擅长感兴趣\
     一二两三四五六七八九十百千万起共约概左右建议推荐告诉提醒回答询问介绍分享出生";

/// Checks that every name, number and date of `statement` occurs in the cited messages or resolves
/// from them.
///
/// `participants` are the names of all participants of the talk: a fact may name them although the
/// cited message only says "you". Dates resolve against each message's own timestamp, and the day
/// of the message counts as mentioned; a fact may be vaguer than its message ("in March" for "on 8
/// March"), but not more precise. Names are capitalised words, except common words at the start of
/// a sentence; in Chinese, runs of uncommon characters that no message contains.
///
/// # Errors
/// The first reason found, in the order date, number, name.
pub fn supported(
    statement: &str,
    sources: &[&Message],
    participants: &[&str],
) -> Result<(), RejectReason> {
    if !statement.chars().any(char::is_alphanumeric) {
        return Err(RejectReason::Empty);
    }
    let Some(first) = sources.first() else { return Err(RejectReason::NoSource) };
    let found = mentions(statement, first.timestamp);
    if !found.is_empty() && !dates_supported(statement, &found, sources) {
        return Err(RejectReason::UnsupportedDate);
    }
    let rest = without(statement, &found);
    let stated = numbers(&rest);
    if !stated.is_empty() {
        let known: HashSet<String> = texts(sources, participants).flat_map(numbers).collect();
        if stated.iter().any(|number| number != "1" && !known.contains(number)) {
            return Err(RejectReason::UnsupportedNumber);
        }
    }
    if names_supported(&rest, sources, participants) {
        Ok(())
    } else {
        Err(RejectReason::UnsupportedName)
    }
}

/// Minimum share of a fact's words that its messages contain.
const SHARED_WORDS: f64 = 0.25;
/// Number of leading letters that two forms of a word share.
const KEY_LETTERS: usize = 4;

/// True if the messages contain at least one content word of the fact, and at least a quarter of
/// them, not counting the names of participants.
///
/// A model's fact without a name, number or date passes [`supported`] whatever it says; this check
/// rejects it unless it shares words with its messages.
pub fn shares_words(statement: &str, sources: &[&Message], participants: &[&str]) -> bool {
    let speakers: HashSet<String> = participants.iter().flat_map(|name| keys(name)).collect();
    let stated: HashSet<String> =
        keys(statement).into_iter().filter(|key| !speakers.contains(key)).collect();
    if stated.is_empty() {
        return true;
    }
    let known: HashSet<String> =
        sources.iter().flat_map(|message| keys(&message.content)).collect();
    let shared = stated.iter().filter(|key| known.contains(*key)).count();
    shared > 0 && shared as f64 >= SHARED_WORDS * stated.len() as f64
}

/// Keys of content words: the first letters; pairs of characters in unspaced scripts.
pub(super) fn keys(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    for_each_word(text, |word, unspaced| {
        if unspaced {
            for_each_bigram(word, |pair| keys.push(pair.to_owned()));
        } else if word.chars().count() > 2 && !is_function_word(word) {
            keys.push(word.chars().take(KEY_LETTERS).collect());
        }
    });
    keys
}

fn texts<'a>(sources: &'a [&Message], participants: &'a [&str]) -> impl Iterator<Item = &'a str> {
    sources
        .iter()
        .flat_map(|message| [message.content.as_str(), message.speaker()])
        .chain(participants.iter().copied())
}

fn dates_supported(statement: &str, found: &[TimeMention], sources: &[&Message]) -> bool {
    dates_supported_with(statement, found, sources, &[])
}

/// [`dates_supported`] if these years also follow from the messages; a month of such a year is
/// supported if the messages name that month.
pub(super) fn dates_supported_with(
    statement: &str,
    found: &[TimeMention],
    sources: &[&Message],
    years: &[(Date, Date)],
) -> bool {
    let mut known: Vec<(Date, Date)> = years.to_vec();
    for message in sources {
        let day = message.timestamp.local().date();
        known.push((day, day));
        for mention in mentions(&message.content, message.timestamp) {
            known.push((mention.from, mention.to));
            let later = dates::next(&mention, &message.content[mention.start..mention.end]);
            known.extend(later.map(|later| (later.from, later.to)));
        }
    }
    let verbatim = |mention: &TimeMention| {
        let words = statement[mention.start..mention.end].to_lowercase();
        sources.iter().any(|message| message.content.to_lowercase().contains(&words))
    };
    found.iter().all(|mention| {
        let (first, last) = dates::stated(statement, mention);
        let month = (first.month(), last.month());
        let is_named_month = month.0 == month.1
            && known.iter().any(|(from, to)| (from.month(), to.month()) == month);
        known.iter().any(|(from, to)| first <= *from && *to <= last)
            || is_named_month && years.iter().any(|(from, to)| *from <= first && last <= *to)
            || verbatim(mention)
    })
}

/// True if an ISO date (year, month or day) occurs in these messages or follows from them.
pub(super) fn date_supported(date: &str, sources: &[&Message]) -> bool {
    let Some(first) = sources.first() else { return false };
    let found = mentions(date, first.timestamp);
    !found.is_empty() && dates_supported(date, &found, sources)
}

pub(super) fn without(statement: &str, dates: &[TimeMention]) -> String {
    let mut rest = String::with_capacity(statement.len());
    let mut done = 0;
    for mention in dates {
        rest.push_str(&statement[done..mention.start]);
        rest.push(' ');
        done = mention.end;
    }
    rest.push_str(&statement[done..]);
    rest
}

fn names_supported(statement: &str, sources: &[&Message], participants: &[&str]) -> bool {
    let needed: Vec<&str> = capitalised(statement);
    if !needed.is_empty() {
        let lower: Vec<String> = texts(sources, participants).map(str::to_lowercase).collect();
        let known = known_words(&lower);
        if !needed.iter().all(|name| is_known(&name.to_lowercase(), &known)) {
            return false;
        }
    }
    if statement.is_ascii() || !statement.contains(is_han) {
        return true;
    }
    if has_unknown_han(statement, sources, participants) {
        return false;
    }
    titled(statement).all(|name| texts(sources, participants).any(|text| text.contains(&name)))
}

/// The words of lower-case texts, and the parts of compound words.
pub(super) fn known_words(lower: &[String]) -> HashSet<&str> {
    lower.iter().flat_map(|text| words(text)).flat_map(|(_, word)| parts(word)).collect()
}

/// True if the fact holds two consecutive uncommon Han characters that no message contains.
pub(super) fn has_unknown_han(
    statement: &str,
    sources: &[&Message],
    participants: &[&str],
) -> bool {
    let known: HashSet<char> =
        texts(sources, participants).flat_map(str::chars).chain(COMMON_HAN.chars()).collect();
    let mut run = 0;
    statement.chars().any(|character| {
        run = if is_han(character) && !known.contains(&character) { run + 1 } else { 0 };
        run == 2
    })
}

/// Familiar Chinese names (小, 老 or 阿 with a family name) at the start of the fact.
pub(super) fn titled(statement: &str) -> impl Iterator<Item = String> {
    const FAMILY: &str = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗郑梁谢宋唐许韩冯邓曹彭曾萧田董袁潘\
        蒋蔡余杜叶程苏魏吕丁沈姚卢姜崔钟谭陆汪范石廖贾夏韦付方邹熊孟秦江尹薛闫段雷侯龙史陶黎贺顾\
        毛郝龚邵万钱严武戴莫孔向汤";
    let characters: Vec<char> = statement.chars().take(2).collect();
    let familiar =
        matches!(characters.as_slice(), ['小' | '老' | '阿', family] if FAMILY.contains(*family));
    familiar.then(|| characters.iter().collect()).into_iter()
}

/// Capitalised words, except common words at the start of a sentence.
pub(super) fn capitalised(statement: &str) -> Vec<&str> {
    let mut opens = true;
    let mut found = Vec::new();
    let mut done = 0;
    for (start, word) in words(statement) {
        let between = &statement[done..start];
        opens |= between.contains(['.', '!', '?', ':', '"', '“', '\n', '「', '。', '：']);
        done = start + word.len();
        if word.chars().any(char::is_uppercase)
            && !matches!(word, "I" | "I'm" | "I've" | "I'd" | "I'll")
        {
            let lower = word.to_lowercase();
            let common = is_common_word(&lower) || lower.ends_with("ing") && lower.len() > 5;
            if !(opens && common) {
                found.push(word);
            }
        }
        opens = false;
    }
    found
}

/// The words of a text with their offsets: letters and digits, joined by `'`, `-`, `&` and inner
/// dots.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let joins = |character: char| matches!(character, '\'' | '’' | '-' | '&' | '+');
    runs(text, move |character| {
        (character.is_alphanumeric() || joins(character)) && !is_han(character)
    })
    .filter_map(move |word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        let trimmed = word.trim_start_matches(joins);
        let start = start + word.len() - trimmed.len();
        let trimmed = trimmed.trim_end_matches(joins);
        (!trimmed.is_empty()).then_some((start, trimmed))
    })
}

/// The lookup forms of a word: the word, the word without its possessive ending, and its parts.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    let bare = bare(word);
    [word, bare].into_iter().chain(bare.split(['-', '\'', '’', '&']))
}

fn bare(word: &str) -> &str {
    ["'s", "’s", "'", "’"].iter().find_map(|tail| word.strip_suffix(tail)).unwrap_or(word)
}

pub(super) fn is_known(name: &str, known: &HashSet<&str>) -> bool {
    let bare = bare(name);
    let found = |word: &str| {
        known.contains(word)
            || word.strip_suffix('s').is_some_and(|stem| stem.len() > 2 && known.contains(stem))
    };
    found(bare)
        || bare.contains(['-', '&'])
            && bare.split(['-', '&']).all(|part| part.is_empty() || found(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::said;
    use proptest::prelude::*;

    const DAY: &str = "2024-03-11T09:30:00+01:00";

    fn check(statement: &str, source: &str) -> Result<(), RejectReason> {
        let message = said(0, "user", Some("Alice"), DAY, source);
        supported(statement, &[&message], &["Alice", "Bob"])
    }

    #[test]
    fn what_the_messages_say_is_supported() {
        for (statement, source) in [
            ("Alice moved to Lyon on 8 March 2024.", "I moved to Lyon last Friday."),
            ("Alice moved to Lyon in March 2024.", "I moved to Lyon last Friday."),
            ("Enjoys long walks in Kew.", "I like long walks in Kew"),
            ("Alice has three cats and 12 hens.", "We have 3 cats, twelve hens"),
            ("Bob gave Alice a book.", "you gave me a book"),
            ("The user's dog Rex is five.", "rex, my dog, is 5"),
            ("Alice was in Bath in the week of 4 March 2024.", "I was in Bath last week"),
            ("As of 11 March 2024, Alice runs daily.", "I run every day"),
            ("Alice's exam is on 15 March 2024.", "My exam is on Friday."),
            ("小李2024年3月8日搬到上海。", "小李:我上周五搬到上海"),
            ("用户养了三只猫。", "我有3只猫"),
            ("用户居住在杭州。", "我住杭州"),
        ] {
            assert_eq!(check(statement, source), Ok(()), "{statement}");
        }
    }

    #[test]
    fn inventions_are_refused() {
        use RejectReason::{Empty, UnsupportedDate, UnsupportedName, UnsupportedNumber};
        for (statement, source, reason) in [
            ("Alice moved to Paris.", "I moved to Lyon.", UnsupportedName),
            ("Carol moved to Lyon.", "I moved to Lyon.", UnsupportedName),
            ("Alice works with Bob Smith.", "I work with Bob.", UnsupportedName),
            ("Alice works at Meta.", "I work at a big company.", UnsupportedName),
            ("Alice has four cats.", "I have 3 cats.", UnsupportedNumber),
            ("Alice paid 1,250 euros.", "I paid 1,150 euros.", UnsupportedNumber),
            ("Alice moved on 9 March 2024.", "I moved last Friday.", UnsupportedDate),
            ("Alice moved on 8 March 2024.", "I moved last month.", UnsupportedDate),
            ("Alice moved in 2019.", "I moved.", UnsupportedDate),
            ("用户叫欧阳锋。", "我叫小李", UnsupportedName),
            ("小张搬到上海。", "我搬到上海", UnsupportedName),
            ("用户有五只猫。", "我有三只猫", UnsupportedNumber),
            (" ... ", "I moved.", Empty),
        ] {
            assert_eq!(check(statement, source), Err(reason), "{statement}");
        }
        assert_eq!(supported("Alice sings.", &[], &["Alice"]), Err(RejectReason::NoSource));
    }

    proptest! {
        #[test]
        fn any_text_supports_itself_without_capitals_and_nothing_panics(
            text in "[a-z]{1,6}( [a-z]{1,6}){0,6}", other in "\\PC{0,60}",
        ) {
            prop_assert_eq!(check(&text, &text), Ok(()));
            let _ = check(&other, &text);
            let _ = check(&text, &other);
        }
    }
}
