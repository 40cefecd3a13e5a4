//! Statements by table: what a sentence gives, and which sentences give nothing.

use crate::generate::facts::tests::statements;

/// Said on Monday, 11 March 2024, by 小李 to 小王.
fn check(rows: &[(&str, &[(&str, &str)])]) {
    for (sentence, expected) in rows {
        let got = statements("小李", "小王", "2024-03-11T09:30:00+01:00", sentence);
        let got: Vec<(&str, &str)> =
            got.iter().map(|(kind, content)| (*kind, content.as_str())).collect();
        assert_eq!(got, *expected, "{sentence}");
    }
}

#[test]
fn who_somebody_is() {
    check(&[
        ("我住在杭州。", &[("personal_info", "小李住在杭州。")]),
        ("我上周五搬到上海了。", &[("personal_info", "小李2024年3月8日搬到上海了。")]),
        ("上周五我搬到了上海。", &[("personal_info", "小李2024年3月8日搬到了上海。")]),
        ("我老家在绍兴。", &[("personal_info", "小李老家在绍兴。")]),
        ("我是成都人。", &[("personal_info", "小李是成都人。")]),
        ("我来自台湾。", &[("personal_info", "小李来自台湾。")]),
        ("我今年三十二岁。", &[("personal_info", "小李三十二岁。")]),
        ("我34岁了。", &[("personal_info", "小李34岁了。")]),
        ("我生日是三月十八号。", &[("personal_info", "小李的生日是3月18日。")]),
        ("我生日快到了，三月十八号。", &[("personal_info", "小李的生日是3月18日。")]),
        ("我叫王小明。", &[("personal_info", "小李叫王小明。")]),
        ("我的电话是138 0000 1234。", &[("personal_info", "小李的电话是138 0000 1234。")]),
        ("我的邮箱是li@example.org。", &[("personal_info", "小李的邮箱是li@example.org。")]),
        ("我对芒果过敏。", &[("personal_info", "小李对芒果过敏。")]),
        ("我是AB型。", &[("personal_info", "小李是AB型。")]),
        ("我们租在玉林东路18号3栋602。", &[("personal_info", "小李租在玉林东路18号3栋602。")]),
        ("其实我已经搬到成都了。", &[("personal_info", "小李已经搬到成都了。")]),
        ("我换号了，新的是182 0555 7316。", &[("personal_info", "小李的新号码是182 0555 7316。")]),
    ]);
}

#[test]
fn work_and_study() {
    check(&[
        ("我在上海工作。", &[("work_history", "小李在上海工作。")]),
        ("我在谷歌工作。", &[("work_history", "小李在谷歌工作。")]),
        ("我在一家银行上班。", &[("work_history", "小李在一家银行上班。")]),
        ("我在北京大学读书。", &[("work_history", "小李在北京大学读书。")]),
        ("我是一名护士。", &[("work_history", "小李是一名护士。")]),
        ("我是小学老师。", &[("work_history", "小李是小学老师。")]),
        ("我毕业于复旦大学。", &[("work_history", "小李毕业于复旦大学。")]),
        ("我考上了研究生。", &[("work_history", "小李考上了研究生。")]),
        ("我下个月入职腾讯。", &[("work_history", "小李2024年4月入职腾讯。")]),
        ("我辞职了。", &[("work_history", "小李辞职了。")]),
        ("我上个月升职了。", &[("work_history", "小李2024年2月升职了。")]),
    ]);
}

#[test]
fn likes_and_habits() {
    check(&[
        ("我喜欢喝绿茶。", &[("preference", "小李喜欢喝绿茶。")]),
        ("我最喜欢的颜色是蓝色。", &[("preference", "小李最喜欢的颜色是蓝色。")]),
        ("我讨厌下雨。", &[("preference", "小李讨厌下雨。")]),
        ("我不喜欢香菜。", &[("preference", "小李不喜欢香菜。")]),
        ("我不吃辣。", &[("preference", "小李不吃辣。")]),
        ("我吃素。", &[("preference", "小李吃素。")]),
        (
            "我戒烟了，奶茶也戒了。",
            &[("preference", "小李戒烟了。"), ("preference", "小李奶茶也戒了。")],
        ),
        ("我受不了噪音。", &[("preference", "小李受不了噪音。")]),
    ]);
}

#[test]
fn kin_friends_and_pets() {
    check(&[
        ("我爸去年退休了。", &[("relationship", "小李的爸爸2023年退休了。")]),
        ("我姐姐叫林岚。", &[("relationship", "林岚是小李的姐姐。")]),
        ("我姐姐在广州工作。", &[("relationship", "小李的姐姐在广州工作。")]),
        ("我女朋友是小学老师。", &[("relationship", "小李的女朋友是小学老师。")]),
        ("我有两个孩子。", &[("relationship", "小李有两个孩子。")]),
        (
            "我养了一只猫，叫汤圆。",
            &[("relationship", "小李养了一只猫。"), ("relationship", "汤圆是小李的猫。")],
        ),
        ("汤圆是我去年捡的橘猫。", &[("relationship", "汤圆是小李2023年捡的橘猫。")]),
        ("我妈妈住院了。", &[("relationship", "小李的妈妈住院了。")]),
        ("我奶奶去世了。", &[("relationship", "小李的奶奶去世了。")]),
        ("我们结婚了。", &[("relationship", "小李结婚了。")]),
        ("我离婚了。", &[("relationship", "小李离婚了。")]),
        ("我上周订婚了。", &[("relationship", "小李2024年3月4日那一周订婚了。")]),
        ("我单身。", &[("relationship", "小李单身。")]),
    ]);
}

#[test]
fn what_is_wanted() {
    check(&[
        ("我打算明年去日本。", &[("goal", "小李打算2025年去日本。")]),
        ("我计划学游泳。", &[("goal", "小李计划学游泳。")]),
        ("我的目标是考研。", &[("goal", "小李的目标是考研。")]),
        ("我准备买车。", &[("goal", "小李准备买车。")]),
        ("我在学法语。", &[("goal", "小李在学法语。")]),
        ("打算下个月去大理。", &[("goal", "小李打算2024年4月去大理。")]),
    ]);
}

#[test]
fn what_took_place() {
    check(&[
        ("我昨天去了西湖。", &[("event", "小李2024年3月10日去了西湖。")]),
        ("我上周末参加了马拉松。", &[("event", "小李2024年3月9日那个周末参加了马拉松。")]),
        ("我买了一辆二手车。", &[("event", "小李买了一辆二手车。")]),
        ("我报了十一月三号的杭州马拉松。", &[("event", "小李报了2024年11月3日的杭州马拉松。")]),
        ("我昨天买了戒指。", &[("event", "小李2024年3月10日买了戒指。")]),
        ("我上个月领养了一只小狗。", &[("event", "小李2024年2月领养了一只小狗。")]),
    ]);
}

#[test]
fn what_was_decided() {
    check(&[
        ("我决定辞职创业。", &[("decision", "小李决定辞职创业。")]),
        ("我们决定用rustls。", &[("decision", "小李决定用rustls。")]),
        ("决定买那辆白色的飞度了。", &[("decision", "小李决定买那辆白色的飞度了。")]),
    ]);
}

#[test]
fn how_something_is_done() {
    check(&[(
        "先把豆腐切块，再用小火煎到两面金黄，最后放盐。",
        &[("procedure", "先把豆腐切块，再用小火煎到两面金黄，最后放盐。")],
    )]);
}

#[test]
fn small_talk_questions_and_suppositions_give_nothing() {
    for sentence in [
        "我想学吉他。",
        "你好！",
        "哈哈哈，太好笑了。",
        "谢谢你！",
        "你在干什么？",
        "我在上海工作吗？",
        "如果我搬到上海就好了。",
        "我可能会搬到上海。",
        "我觉得可以。",
        "我知道了。",
        "我也是。",
        "我不知道。",
        "我喜欢这个。",
        "我很喜欢你送的礼物。",
        "他住在上海。",
        "我马上到。",
        "我先睡了。",
        "我在吃饭。",
        "我想你了。",
        "我好累。",
        "我没事。",
        "那我先走了，晚安。",
        "我想想。",
        "我要笑死了。",
        "好的，我看看。",
        "祝我好运吧。",
        "我听说他结婚了。",
    ] {
        let got = statements("小李", "小王", "2024-03-11T09:30:00+01:00", sentence);
        assert!(got.is_empty(), "{sentence}: {got:?}");
    }
}
