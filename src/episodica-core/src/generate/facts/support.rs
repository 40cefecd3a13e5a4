//! Looks up names, numbers and dates of a sentence in messages.
//!
//! Strict about names (it does not find a translated name) and lenient about common words.

use std::collections::HashSet;

use jiff::ToSpan;
use jiff::civil::Date;

use super::dates;
use super::numbers::numbers;
use crate::model::Message;
use crate::text::is_han;
use crate::text::time::{DateGrain, TimeMention, mentions};
use crate::text::vocabulary::is_function_word;
use crate::text::words::{for_each_bigram, for_each_word};

/// Common Han characters of facts, which by themselves never form a name.
const COMMON_HAN: &str = "的了在是有和与及同跟不没无未很也都就还又再已曾正将会能可要想打算计划希望\
    决定喜欢爱讨厌最更比较常经偶尔每天年月日周星期上下前后中里外内他她它我你您们咱自己这那哪谁什\
    么怎样为因所以但而且或者如果从到去来回往对于向把被让给用以之其此等个名位只条家间次种些第几多\
    少大小新旧老好高低长短工作居住生活学习上班职业公司岗位任职就读毕业专业学校生日年龄岁来自家乡\
    搬过买卖做吃喝看读写听说话叫姓用户助手表示提到认为觉得知道目标问题解决方法决定选择朋友家人父\
    母亲妈爸哥姐弟妹妻丈夫孩子儿女婚离订宠物狗猫养了着地得因由养患敏感健康运动完成参加举行访问旅\
    行开始结束计划准备正在目前现担任从事拥偏热衷擅长感兴趣\
     一二两三四五六七八九十百千万起共约概左右建议推荐告诉提醒回答询问介绍分享出生";

/// Minimum share of a fact's words that its messages contain.
const SHARED_WORDS: f64 = 0.25;
/// Number of leading letters that two forms of a word share.
const KEY_LETTERS: usize = 4;

/// True if the messages contain at least one content word of the fact, and at least a quarter of
/// all its content words. Names of participants do not count.
///
/// [`grounded`](super::grounded) does not require it.
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

/// Keys of content words: their first letters, or pairs of characters in scripts without spaces.
pub(crate) fn keys(text: &str) -> Vec<String> {
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

pub(super) fn texts<'a>(
    messages: &'a [&Message],
    participants: &'a [&str],
) -> impl Iterator<Item = &'a str> {
    messages
        .iter()
        .flat_map(|message| [message.content.as_str(), message.speaker()])
        .chain(participants.iter().copied())
}

/// Words next to a number that make it a number of years or an age.
const YEARS: &str = "year jahr año anno ans 年 岁 歲 i'm turned cumpl geworden aged 满";

/// True if the messages state these dates or imply them. Dates are resolved against each message's
/// own timestamp, and the day of the message counts as stated. A date may be vaguer than in its
/// message ("in March" for "on 8 March"), but more precise only if the messages have the number of
/// its day ("on 8 March" for "in March" and "the 8th") or an age leads back to its year.
pub(super) fn dates_follow(statement: &str, found: &[TimeMention], sources: &[&Message]) -> bool {
    if found.is_empty() {
        return true;
    }
    let mut known: Vec<(Date, Date)> = Vec::new();
    let (mut months, mut days, mut years) = (HashSet::new(), HashSet::new(), HashSet::new());
    let month = |day: &Date| (day.year(), day.month());
    for message in sources {
        let day = message.timestamp.local().date();
        let lower = message.content.to_lowercase();
        let is_about_years = YEARS.split(' ').any(|word| lower.contains(word));
        known.push((day, day));
        // "The 8th" is a day of this month or the next.
        months.insert(month(&day.saturating_add(1.month())));
        for mention in mentions(&message.content, message.timestamp) {
            known.push((mention.from, mention.to));
            known.extend(dates::others(&mention, &message.content[mention.start..mention.end]));
        }
        for number in numbers(&message.content).iter().filter_map(|text| text.parse::<i16>().ok()) {
            days.insert(number);
            if is_about_years && (1..=110).contains(&number) {
                years.extend([day.year() - number, day.year() - number - 1]);
            }
        }
    }
    let verbatim = |mention: &TimeMention| {
        let words = statement[mention.start..mention.end].to_lowercase();
        sources.iter().any(|message| message.content.to_lowercase().contains(&words))
    };
    months.extend(known.iter().flat_map(|(from, to)| [month(from), month(to)]));
    found.iter().all(|mention| {
        let (first, last) = dates::stated(statement, mention);
        let is_month = months.iter().any(|(_, month)| *month == first.month());
        let is_day = |day: &Date| days.contains(&day.day().into()) && months.contains(&month(day));
        known.iter().any(|(from, to)| first <= *from && *to <= last)
            || mention.grain == DateGrain::Day && is_day(&first) && is_day(&last)
            || first.year() == last.year()
                && years.contains(&first.year())
                && (is_month || first.month() != last.month())
            || verbatim(mention)
    })
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

/// True if the fact contains two consecutive uncommon Han characters that occur in no message.
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
