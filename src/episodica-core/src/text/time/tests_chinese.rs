//! The Chinese grammar, as a table like the English one; and properties of both on arbitrary text.

use proptest::prelude::*;

use super::tests_english::found;
use super::{mentions, query_range, resolve_text};
use crate::clock::Moment;
use crate::text::Language;

/// A Monday.
const MAY: &str = "2023-05-08T21:56:00+08:00";

fn check(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(text, expected)| {
            let got = found(MAY, text);
            (got != *expected).then(|| format!("{text}\n  got      {got}\n  expected {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn a_month_behind_a_short_year_is_judged_in_its_own_place() {
    // Lengths of its parts, counted from the start of the year, would end inside a character.
    for text in ["01年五月八日,前天晚上", "10000-01-01年五月八日", "9年十二月三十一日的春天"]
    {
        let _ = found(MAY, text);
    }
}

#[test]
fn relative() {
    check(&[
        ("我昨天去跑步了", "昨天=2023-05-07"),
        ("今天天气不错", "今天=2023-05-08"),
        ("明天见", "明天=2023-05-09"),
        ("前天下雨", "前天=2023-05-06"),
        ("后天出发", "后天=2023-05-10"),
        ("大前天的事", "大前天=2023-05-05"),
        ("大后天考试", "大后天=2023-05-11"),
        ("今晚吃什么", "今晚=2023-05-08"),
        ("昨晚没睡好", "昨晚=2023-05-07"),
        ("一昨日、猫を拾った", ""),
        ("昨晚上没睡好", "昨晚上=2023-05-07"),
        ("上周五我们见面", "上周五=2023-05-05"),
        ("下周三开会", "下周三=2023-05-17"),
        ("这周六去爬山", "这周六=2023-05-13"),
        ("上上周很忙", "上上周=2023-04-24/2023-04-30"),
        ("上个星期天", "上个星期天=2023-05-07"),
        ("下星期一", "下星期一=2023-05-15"),
        ("这周末休息", "这周末=2023-05-13/2023-05-14"),
        ("上周末去玩", "上周末=2023-05-06/2023-05-07"),
        ("上个月换了工作", "上个月=2023-04"),
        ("下个月搬家", "下个月=2023-06"),
        ("本月3号", "本月3号=2023-05-03"),
        ("上个月十五号", "上个月十五号=2023-04-15"),
        ("去年开始", "去年=2022"),
        ("今年计划", "今年=2023"),
        ("明年结婚", "明年=2024"),
        ("前年毕业", "前年=2021"),
        ("三天前", "三天前=2023-05-05"),
        ("两周前", "两周前=2023-04-24/2023-04-30"),
        ("两个月后", "两个月后=2023-07"),
        ("半年前", "半年前=2022-11"),
        ("10年前", "10年前=2013"),
        ("几天前", "几天前=2023-05-04/2023-05-06"),
        ("两年多前", "两年多前=~2021"),
        ("去年夏天", "去年夏天=2022-06-01/2022-08-31"),
        ("去年5月", "去年5月=2022-05"),
        ("去年国庆节", "去年国庆节=2022-10-01"),
        ("週五去了聖誕市集", "週五=2023-05-05; 聖誕=2022-12-25"),
        ("周二开会了", "周二=2023-05-02"),
        ("周一开会了", "周一=~2023-05-01"),
        ("礼拜三要去体检", "礼拜三=2023-05-10"),
        ("最近三天没睡好", "最近三天=~2023-05-05/2023-05-08"),
        ("两三年前的事", "两三年前=2020-01-01/2021-12-31"),
        ("我周三周五有课", "周三=~2023-05-10; 周五=~2023-05-12"),
        ("前几天去了医院", "前几天=~2023-05-02/2023-05-07"),
        ("兩個月後", "兩個月後=2023-07"),
    ]);
}

#[test]
fn absolute() {
    check(&[
        ("2023年5月3日", "2023年5月3日=!2023-05-03"),
        ("2022年5月", "2022年5月=!2022-05"),
        ("我2021年毕业", "2021年=!2021"),
        ("二〇二二年五月三号", "二〇二二年五月三号=!2022-05-03"),
        ("5月3日我们去了", "5月3日=2023-05-03"),
        ("五月三号", "五月三号=~2023-05-03"),
        ("六月打算去旅行", "六月=2023-06"),
        ("我生日是3月5日", "3月5日=~2023-03-05"),
        ("90年代的歌", "90年代=!1990-01-01/1999-12-31"),
        ("2019年夏天", "2019年夏天=!2019-06-01/2019-08-31"),
        ("2019年到2021年", "2019年到2021年=!2019-01-01/2021-12-31"),
        ("2022年5月3日至6日", "2022年5月3日至6日=!2022-05-03/2022-05-06"),
        ("2022年5月到7月", "2022年5月到7月=!2022-05-01/2022-07-31"),
        ("元旦", "元旦=~2023-01-01"),
        ("圣诞节见", "圣诞节=~2022-12-25"),
        ("会议在2023-05-10上午", "2023-05-10=!2023-05-10"),
        ("２０２２年", "２０２２年=!2022"),
    ]);
}

#[test]
fn what_is_no_date() {
    check(&[
        ("这说明天气会变", ""),
        ("然后天黑了", ""),
        ("她过去年轻", ""),
        ("学了三年", ""),
        ("两周的假期", ""),
        ("每周一开会", ""),
        ("上周期很长", ""),
        ("圣诞树很漂亮", ""),
        ("5个月大", ""),
        ("十三月", ""),
        ("2月30日", ""),
        ("今日头条", ""),
        ("第三天", ""),
    ]);
}

#[test]
fn runs_of_one_word_are_linear() {
    let anchor = Moment::parse(MAY).expect("valid");
    for piece in [
        "about ",
        "last ",
        "the ",
        "two ",
        "5 ",
        "5-",
        "in ",
        "May ",
        "to ",
        "of ",
        "this past ",
        "a few ",
        "'",
        "New Year ",
        "上",
        "下个",
        "一",
        "5月到",
        "1年",
        "周",
        "最近",
    ] {
        // The last word is necessary to make the grammar run.
        let text = piece.repeat(400_000 / piece.len()) + " weeks ago";
        let began = std::time::Instant::now();
        mentions(&text, anchor);
        assert!(began.elapsed().as_secs() < 10, "{piece}");
    }
}

proptest! {
    #[test]
    fn nothing_panics_and_ranges_are_on_boundaries(
        text in "\\PC{0,60}", micros in -62_135_596_800_000_000i64..253_402_300_799_000_000,
        offset in -86_399i32..86_400,
    ) {
        check_text(&text, Moment::new(micros, offset).expect("valid"))?;
    }

    #[test]
    fn nothing_panics_on_pieces_of_dates(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..12),
        joiner in prop::sample::select(&[" ", "", "\n", ", ", "-"][..]),
        anchor in prop::sample::select(
            &[
                "0001-01-01T00:00:00Z", "9999-12-31T00:00:00Z", "2024-02-29T00:00:00Z",
                "2023-12-31T00:00:00Z",
            ][..]
        ),
    ) {
        check_text(&pieces.join(joiner), Moment::parse(anchor).expect("valid"))?;
    }
}

const PIECES: &[&str] = &[
    "last",
    "next",
    "this",
    "the",
    "past",
    "Friday",
    "May",
    "June",
    "5",
    "31",
    "5th",
    "2023",
    "9999",
    "0",
    "99999999",
    "in",
    "of",
    "week",
    "weeks",
    "years",
    "ago",
    "a",
    "few",
    "and",
    "between",
    "from",
    "to",
    "before",
    "after",
    "yesterday",
    "Christmas",
    "Eve",
    "New",
    "Year",
    "'s",
    "summer",
    "winter",
    "1990s",
    "3-5",
    "2019-2021",
    "2023-05-08",
    "2/29/2023",
    "half",
    "couple",
    ".",
    "é",
    "😊",
    "上",
    "下",
    "个",
    "周",
    "五",
    "末",
    "年",
    "月",
    "日",
    "号",
    "去年",
    "前",
    "后",
    "天",
    "十",
    "百",
    "半",
    "几",
    "2023年",
    "至",
    "到",
    "最近",
    "过去",
    "0000年",
    "国庆",
    "的",
    "春天",
    "代",
    "decade",
    "decades",
];

fn check_text(text: &str, anchor: Moment) -> Result<(), TestCaseError> {
    let mut last = 0;
    for mention in mentions(text, anchor) {
        prop_assert!(
            mention.start >= last && mention.start < mention.end && mention.end <= text.len()
        );
        prop_assert!(text.is_char_boundary(mention.start) && text.is_char_boundary(mention.end));
        prop_assert!(mention.from <= mention.to);
        prop_assert!(
            (1..=9999).contains(&mention.from.year()) && (1..=9999).contains(&mention.to.year())
        );
        prop_assert!(!mention.iso().is_empty());
        for language in [
            Language::English,
            Language::Chinese,
            Language::German,
            Language::Spanish,
            Language::French,
            Language::Other,
        ] {
            prop_assert!(!mention.describe(language).is_empty());
        }
        last = mention.end;
    }
    resolve_text(text, anchor, Language::English);
    query_range(text, anchor);
    Ok(())
}
