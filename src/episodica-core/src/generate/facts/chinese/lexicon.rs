//! Word lists of general Chinese that the rules test for. Each stands here and nowhere else; longer words come before their beginnings.

/// Openers that carry no statement.
pub(super) const OPENERS: &[&str] = &[
    "对了",
    "其实",
    "不过",
    "但是",
    "可是",
    "所以",
    "因为",
    "而且",
    "另外",
    "还有",
    "反正",
    "当然",
    "真的",
    "说实话",
    "老实说",
    "好的",
    "好吧",
    "是的",
    "是啊",
    "对啊",
    "哈哈哈",
    "哈哈",
    "然后",
    "结果",
    "没错",
    "谢谢",
    "原来",
    "果然",
    "顺便说一下",
    "顺便说",
    "你知道吗",
    "告诉你",
    "跟你说",
    "没想到",
    "终于",
    "恭喜",
    "可惜",
    "幸好",
    "嗯嗯",
    "嗯",
    "哦",
    "啊",
    "唉",
    "哎",
    "对",
    "但",
    "那",
    "哇",
    "呀",
    "嗨",
];

/// Words that make a clause a supposition, a wish or a doubt.
pub(super) const SUPPOSING: &[&str] = &[
    "如果",
    "要是",
    "假如",
    "也许",
    "可能",
    "大概",
    "说不定",
    "就好了",
    "万一",
    "估计",
    "好像",
    "应该会",
    "恨不得",
    "差点",
    "是不是",
    "会不会",
    "要不要",
    "能不能",
    "有没有",
    "该不会",
    "怎么办",
    "为什么",
];

/// Words that point outside the clause.
pub(super) const POINTING: &[&str] = &[
    "它", "他", "她", "这个", "那个", "这样", "那样", "这里", "那里", "这儿", "那儿", "那边", "这边", "这些", "那些", "这么", "那么",
    "这次", "那次", "这种", "那种",
];

/// Adverbs between subject and verb.
pub(super) const ADVERBS: &[&str] = &[
    "已经", "一直", "现在", "目前", "最近", "刚刚", "终于", "真的", "特别", "非常", "其实", "还是", "正在", "本来", "以前", "从小", "平时",
    "经常", "总是", "每天", "有点", "比较", "超级", "确实", "后来", "当时", "正式", "自己", "今年", "一般", "居然", "偷偷", "也", "就",
    "还", "都", "刚", "又", "才", "很", "超", "最", "更", "真",
];

/// Openers of a report whose subject, the speaker, is left out.
pub(super) const UNSAID: &[&str] =
    &["打算", "决定", "搬到", "搬去", "买了", "报名了", "报了", "参加了", "去了", "入职", "辞职了", "住在", "在攒钱"];

/// Kin, friends and pets.
pub(super) const RELATIONS: &[&str] = &[
    "女朋友",
    "男朋友",
    "未婚妻",
    "未婚夫",
    "邻居",
    "室友",
    "同事",
    "同学",
    "朋友",
    "闺蜜",
    "老板",
    "房东",
    "导师",
    "老师",
    "妈妈",
    "爸爸",
    "母亲",
    "父亲",
    "老婆",
    "老公",
    "妻子",
    "丈夫",
    "爱人",
    "对象",
    "姐姐",
    "妹妹",
    "哥哥",
    "弟弟",
    "奶奶",
    "爷爷",
    "外婆",
    "外公",
    "姥姥",
    "姥爷",
    "儿子",
    "女儿",
    "孩子",
    "表哥",
    "表姐",
    "表弟",
    "表妹",
    "堂哥",
    "堂姐",
    "堂弟",
    "堂妹",
    "叔叔",
    "阿姨",
    "舅舅",
    "姑姑",
    "姨妈",
    "侄子",
    "侄女",
    "孙子",
    "孙女",
    "室友",
    "宠物",
    "猫",
    "狗",
    "兔子",
    "仓鼠",
    "鹦鹉",
    "乌龟",
    "金鱼",
    "妈",
    "爸",
    "姐",
    "妹",
    "哥",
    "弟",
];

/// Relations of which a person has one at a time.
pub(super) const PARTNERS: &[&str] = &["女朋友", "男朋友", "未婚妻", "未婚夫", "老婆", "老公", "妻子", "丈夫", "爱人", "对象"];

/// Endings of professions.
pub(super) const PROFESSIONS: &[&str] = &[
    "工程师",
    "程序员",
    "设计师",
    "医生",
    "护士",
    "老师",
    "教师",
    "教授",
    "律师",
    "会计",
    "厨师",
    "司机",
    "记者",
    "编辑",
    "作家",
    "演员",
    "歌手",
    "画家",
    "经理",
    "主管",
    "总监",
    "学生",
    "研究生",
    "博士生",
    "研究员",
    "分析师",
    "产品经理",
    "销售",
    "翻译",
    "导游",
    "公务员",
    "警察",
    "消防员",
    "农民",
    "工人",
    "店主",
    "老板",
    "创业者",
    "自由职业者",
    "插画师",
    "摄影师",
    "咖啡师",
    "教练",
    "药剂师",
    "飞行员",
    "组长",
];

/// Endings of the names of organisations.
pub(super) const ORGANISATIONS: &[&str] = &[
    "公司",
    "银行",
    "医院",
    "学校",
    "大学",
    "中学",
    "小学",
    "集团",
    "工厂",
    "工作室",
    "研究所",
    "研究院",
    "事务所",
    "出版社",
    "报社",
    "餐厅",
    "酒店",
    "超市",
    "局",
    "部",
    "店",
    "厂",
];

/// Verbs that a plan is made of.
pub(super) const PLAN_VERBS: &[&str] = &[
    "去", "学", "买", "考", "换", "搬", "开", "参加", "写", "做", "当", "申请", "创业", "读", "养", "报名", "跑", "拍", "辞职", "结婚",
    "求婚", "租", "卖", "拿", "存", "回", "移民", "出国", "转", "攒", "带", "自驾", "减肥", "戒",
];

/// Verbs with 了 or 到 that report an event, with how much it tends to matter, in hundredths.
pub(super) const EVENTS: &[(&str, u8)] = &[
    ("参加了", 52),
    ("领养了", 58),
    ("收养了", 58),
    ("买了", 50),
    ("卖了", 48),
    ("去了", 46),
    ("去过", 48),
    ("参观了", 50),
    ("赢了", 56),
    ("获得了", 56),
    ("得了", 48),
    ("拿到了", 50),
    ("考上了", 62),
    ("考过了", 56),
    ("通过了", 54),
    ("完成了", 48),
    ("写完了", 50),
    ("画完了", 46),
    ("看了", 40),
    ("读了", 40),
    ("加入了", 54),
    ("报名了", 52),
    ("报了", 50),
    ("出版了", 60),
    ("开了", 44),
    ("生了", 58),
    ("收到了", 46),
    ("捡到", 46),
    ("捡了", 46),
    ("认识了", 46),
    ("学会了", 52),
    ("做了", 40),
    ("种了", 42),
    ("订了", 46),
    ("接了", 44),
    ("跑了", 44),
    ("爬了", 46),
    ("弄丢了", 46),
    ("摔断了", 58),
    ("换了", 46),
    ("租了", 48),
    ("回了", 42),
    ("见了", 42),
    ("送了", 42),
    ("搬了", 48),
    ("写了", 42),
    ("画了", 42),
    ("提了", 50),
    ("升了", 54),
    ("中了", 48),
    ("庆祝了", 46),
    ("组织了", 48),
];

/// Words that end a clause without adding to it.
pub(super) const PARTICLES: &[&str] =
    &["的呢", "了呢", "呢", "啊", "呀", "哦", "啦", "嘛", "哈", "喔", "哟", "噢", "~", "～", "!", "！", "。", ".", "…"];

/// Objects that say nothing by themselves.
pub(super) const VAGUE: &[&str] =
    &["一下", "什么", "东西", "事情", "事", "好", "多", "一会儿", "半天", "很久", "起来", "你", "这", "那", "笑", "哭"];

/// The longest entry of a list that the text starts with.
pub(super) fn starts<'a>(list: &[&'a str], text: &str) -> Option<&'a str> {
    list.iter().filter(|word| text.starts_with(**word)).max_by_key(|word| word.len()).copied()
}

/// The longest entry of a list that the text ends with.
pub(super) fn ends<'a>(list: &[&'a str], text: &str) -> Option<&'a str> {
    list.iter().filter(|word| text.ends_with(**word)).max_by_key(|word| word.len()).copied()
}

/// Does the text contain an entry of the list?
pub(super) fn contains(list: &[&str], text: &str) -> bool {
    list.iter().any(|word| text.contains(word))
}
