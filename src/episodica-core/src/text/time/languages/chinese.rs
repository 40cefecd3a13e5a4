//! Chinese: the particles that distinguish past and future. A separate grammar reads its dates.

use crate::text::time::grammar::{TenseRule, TenseSigns};

pub(in crate::text::time) const TENSE: TenseSigns = TenseSigns {
    shadows: &[
        "要命|要死|要紧|为了|為了|除了|了解|不了|算了|忘了|到了|不过|不過|难过|難過|过敏|過敏|\
         要是|主要|重要|只要|\
         想起|想到|想念|小说|小說|说明|說明|说话|說話|问题|問題|讲座|講座|会议|會議|聚会|聚會|开会|\
         開會|晚会|晚會|音乐会|音樂會|演唱会|演唱會|约会|約會|年会|年會|家长会|家長會|\
         机会|機會|社会|社會|学会|學會|大会|大會|还没|還沒|过去|過去",
        // A day that someone has taken in need not have passed: 10月2日我记着了.
        "(?:记[着下住好]?|記[著下住好]?|知道|收到|明白|清楚)了[哦哈啊呢嗯]?$",
    ],
    // 就要放假了 is not over yet, nor is 等放假.
    intentions: &["[说說]好", "(?:要|快|快要|就要)[^，。！？了的]{1,5}了", "等[到过過]?$"],
    arranged: &["(?:[报報]名|答[应應]|邀[请請])[了过過]|租[了到好]"],
    purposes: "",
    doubts: &["说|說|讲|講|告诉|告訴|问|問|通知|提到", "就[^，。！？了]{1,6}了"],
    past: &[
        "了|過|过|曾|那时|当时|那時|當時|刚|剛|已经|已經",
        // 三月份做的手术 is about the past, without 了.
        "[做买去走来结生搬拍领办换辞离住死到签写卖租养考吃看见買來結領辦換離簽寫賣養見]的|(?:毕业|\
         认识|开始|分手|入职|出院|出生|退休|畢業|認識|開始)的",
        "没[去来有能见做买到赶参]|沒[去來有能見做買到趕參]",
    ],
    ahead: &[
        "打算|计划|計劃|准备|準備|将|將|要|会|會|想|应该|應該|争取|爭取|预计|預計|定在|安排在|到时|\
         到時|期待|希望|快到|即将|即將|吧|再[去来约说见來約說見]|得[去在交上回做把给给开早搬]",
        "改[到在成]|推[迟遲]到|提前到|延[到期]|[预預][订訂約约]|[約约订訂定买買]好|\
         [約约订訂定抢搶]了|[订訂買买抢搶]到|\
         [报報]名|答[应應]|邀[请請]|(?:能|可以)[^，。！？了]{1,8}吗",
    ],
    open: &[],
    participle: "",
    irregular: "",
    personal: "",
    impersonal: "",
    conjunctions: "",
    rule: TenseRule::AheadFirst,
    spaced: false,
};
