//! General English and Chinese word lists that tell subjects from the words around them, and the
//! key under which forms of a word are one.
//!
//! The lists are everyday language; none names people, places or things. Looking a word up costs
//! one hash.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

/// Words before a noun phrase.
const DETERMINERS: &str =
    "a an the this that these those my your our his her its their some any every each no another";

/// Words without a subject of their own: pronouns, prepositions, conjunctions, auxiliaries,
/// question words.
const FUNCTION: &str = "i me myself mine you yours yourself he him himself hers she herself it itself we us ours ourselves they them theirs themselves who whom whose \
    which what when where why how and or but if so than then as of at by for with about to from in on into over under up down out off through between \
    after before since until during without within along across around against behind beside near upon via per am is are was were be been being do does \
    did doing have has had having will would shall should can could may might must not nor there here just very too also only even ever never always \
    often sometimes usually again still already yet now later soon once twice while because though although unless whether however therefore both either \
    neither all most much many more less few several such same other others else own one ones two three four five six seven eight nine ten first second \
    third last next im ive ill id dont didnt doesnt isnt wasnt arent werent cant couldnt wont wouldnt shouldnt havent hasnt hadnt thats whats lets gonna \
    wanna gotta kinda sorta ok okay yes yeah yep yup no nope nah oh ah uh um hmm hm wow haha hahaha lol omg btw hey hi hello bye goodbye please thanks \
    thank cheers sorry well anyway really actually maybe perhaps probably definitely absolutely totally quite rather pretty almost nearly exactly etc";

/// Everyday verbs, adjectives, adverbs and nouns that rarely tell what a talk is about (all their
/// forms count).
const EVERYDAY: &str = "get go make take give come see look find know think say tell ask want need like love hate feel seem try use put keep let begin start stop end \
    finish help show hear listen talk speak chat call mean believe hope wish guess wonder suppose remember forget mind care happen become turn leave stay \
    bring send hold sit stand wait watch meet follow add change set run walk move live work play read write buy pay spend win lose learn understand agree \
    decide plan expect enjoy appreciate share check sound matter deserve manage handle deal involve include create build grow open close cut draw catch \
    choose reach pass pull push drop pick fall rise carry cover face fit hit lead lie raise save serve speak teach tear throw wear wake win break eat drink \
    sleep cook drive ride fly sing dance fight miss join visit arrive return prepare receive offer accept allow avoid suggest recommend mention describe \
    explain discuss consider realize notice figure imagine inspire encourage support excite surprise worry bother hurt cry laugh smile love kiss hug thank \
    congratulate celebrate relax rest focus aim continue improve practice practise explore discover experience remind bet can could able got \
    good great nice fine bad best better worse worst cool awesome amazing wonderful fantastic incredible beautiful lovely perfect excellent brilliant \
    gorgeous cute sweet fun funny happy glad sad proud excited sure certain true false right wrong real big small little large huge tiny long short high \
    low old new young early late hard easy simple difficult different similar special important interesting possible impossible ready busy free full empty \
    open crazy weird strange strong weak hot cold warm clear dark light fast slow quick quiet loud cheap expensive main whole entire certain various due \
    thing things stuff something anything nothing everything someone anyone everyone somebody anybody nobody everybody somewhere anywhere everywhere way \
    ways lot lots bit kind sort type part piece side place time times day days today tomorrow yesterday tonight morning afternoon evening night week weeks \
    weekend month months year years hour hours minute minutes second seconds moment while ago monday tuesday wednesday thursday friday saturday sunday \
    january february march april may june july august september october november december spring summer autumn winter number couple dozen half \
    people person man men woman women guy guys folks friend friends buddy mate dude everyone world life home house thing point case fact reason result \
    question answer problem idea example word words name names line step level rest top bottom middle front back end beginning start chance break deal \
    hand hands eye eyes head heart soul feeling feelings thought thoughts luck joy vibe vibes mess story stories news matter sense truth bunch pair \
    ll ve re d m s t don didn doesn isn wasn aren weren couldn wouldn shouldn hasn haven hadn won ain y all cause cuz bc tho thru u ur pls thx ty np \
    together away apart ahead forward instead especially finally recently lately currently basically honestly seriously literally simply mostly mainly \
    suddenly quickly slowly easily hopefully luckily unfortunately eventually immediately completely especially truly highly super extra enough else \
    per cent percent etc via please welcome congrats congratulations morning everyone image photo picture pic video link file attached shared shares \
    said told thought knew felt saw got gave came went made took found left kept put began ran met brought bought paid built heard held stood \
    understood wrote spoke sent spent sat slept won lost wore grew fell drove chose broke ate drank sang flew threw taught caught fought meant became \
    done gone been given taken seen known written spoken eaten fallen chosen broken worn grown thrown hurt cost terrible awful horrible worried tired \
    afraid glad curious lucky wild clever silly funny hundred hundreds thousand thousands million millions minus plus died dead born lots till yours afraid busy able custom fixed random pregnant keep tuned stay touch forward sounding looks looking thinking going doing coming getting having making trying saying telling";

/// Adjectives and ordinals that may open a noun phrase without being a subject themselves ("new
/// job").
const OPENERS: &str = "new old big small little first second third last final next young hot cold full free early late short long main special real open dark light strong";

/// Words of general talk about life and work: they weigh half, and alone they make no title.
const ABSTRACT: &str = "difference impact journey opportunity challenge passion goal dream memory inspiration motivation confidence progress success beauty happiness \
    connection growth positivity positive negative tough resilient resilience strength courage advice group team member community individual kid child children family parent \
    friendship bond blast adventure ongoing self expression acceptance effort energy environment balance peace love hope vision purpose perspective change future past \
    present nature art music food meal health mental business biz project projects work job career activity event hobby interest skill process plan option choice tip \
    host request test error problem issue client server version update message email phone card sign round square stream window difference unique visual contemporary \
    modern traditional creative creativity emotional physical social personal professional local global public private final initial general special common";

/// Sentences that begin with these point back at something that a lone sentence doesn't say.
const DANGLING: &str = "it it's its that that's this these those he she they he's she's they're there then so but and or because which one";

/// Chinese characters between which subjects stand.
const STOP_CHARS: &str = "的了是我你您他她它们在有不也就都和与跟吗呢吧啊呀哦嗯哈嘛啦这那哪很太还又再才刚把被给让对从到向往比为以及或但而且并如果因所之其其么什怎谁几多少个些每各已将会能可要想得着过去来上下里外前后中间时候没别只请说看听做用像好真挺更最地等当与于则却虽然已经正让叫使后前此该某吃喝买找住回搬认拿放带送聊讲问爱怕忘试完一二三四五六七八九十两百千万月号次套只条张件块元岁桌";

/// Chinese words that rarely tell what a talk is about.
const STOP_WORDS_HAN: &str = "今天 明天 昨天 后天 前天 今年 明年 去年 现在 刚才 以前 以后 最近 上周 下周 本周 上个月 下个月 周末 早上 上午 中午 下午 晚上 今晚 昨晚 一下 一点 一起 一直 一样 一定 一般 \
    觉得 知道 认为 希望 喜欢 开始 结束 发现 感觉 打算 准备 需要 应该 可能 其实 终于 突然 当然 真的 特别 非常 比较 确实 东西 事情 问题 朋友 大家 自己 别人 人家 地方 方面 情况 \
    谢谢 不客气 对不起 恭喜 加油 厉害 羡慕 放心 没事 哈哈 哈哈哈 早安 晚安 再见 拜拜 新年快乐 生日快乐 快乐 星期 小时 分钟 第一 第二 第三 两个 三个 十分 半天 经典 难怪 记得 忘记 忘了 \
    告诉 决定 继续 帮忙 完全 居然 果然 反正 不过 只是 可是 但是 所以 因为 如果 虽然 而且 然后 于是 差不多 怎么样 为什么 什么时候 有点 好久 好久没 多久 每天 天天 每次 上次 下次 这次 那次 \
    月底 月初 年底 年初 年前 年后 刚刚 马上 正在 老实 听起来 看起来 说起来 收到 明白 好消息 坏消息 浪漫 完美 不错 可以 没有 不是 就是 还是 或者 以及 关于";

/// What a word is, as far as the lists know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Class(u8);

impl Class {
    const FUNCTION: u8 = 1;
    const EVERYDAY: u8 = 2;
    const DETERMINER: u8 = 4;
    const OPENER: u8 = 8;
    const DANGLING: u8 = 16;
    const ABSTRACT: u8 = 32;

    /// Has it a subject of its own, as far as is known?
    pub fn is_content(self) -> bool {
        self.0 & (Self::FUNCTION | Self::EVERYDAY) == 0
    }

    /// Does it only bind others together?
    pub fn is_function(self) -> bool {
        self.0 & Self::FUNCTION != 0
    }

    /// Does it stand before a noun phrase?
    pub fn is_determiner(self) -> bool {
        self.0 & Self::DETERMINER != 0
    }

    /// Does a sentence that begins with it lean on the one before?
    pub fn dangles(self) -> bool {
        self.0 & Self::DANGLING != 0
    }

    /// Is it a word of general talk?
    pub fn is_abstract(self) -> bool {
        self.0 & Self::ABSTRACT != 0
    }

    /// May it open a noun phrase?
    pub fn is_opener(self) -> bool {
        self.0 & Self::OPENER != 0
    }
}

/// Hashes keys that are hashes already.
#[derive(Default)]
pub(super) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
        }
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// A map by word keys.
pub(super) type KeyMap<V> = HashMap<u64, V, BuildHasherDefault<Identity>>;

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

static CLASSES: LazyLock<KeyMap<u8>> = LazyLock::new(|| {
    let mut classes = KeyMap::default();
    for (words, class) in [
        (DETERMINERS, Class::DETERMINER | Class::FUNCTION),
        (FUNCTION, Class::FUNCTION),
        (EVERYDAY, Class::EVERYDAY),
        (OPENERS, Class::OPENER),
        (DANGLING, Class::DANGLING),
        (ABSTRACT, Class::ABSTRACT),
    ] {
        for word in words.split_whitespace() {
            *classes.entry(exact_key(word)).or_insert(0) |= class;
            // Function words have no forms: "as" must not make "asses" one.
            if matches!(class, Class::EVERYDAY | Class::ABSTRACT) && word.len() > 2 {
                *classes.entry(key(word)).or_insert(0) |= class;
            }
        }
    }
    classes
});

static STOP_CHAR_KEYS: LazyLock<KeyMap<()>> =
    LazyLock::new(|| STOP_CHARS.chars().map(|c| (u64::from(c), ())).collect());
static STOP_WORD_KEYS: LazyLock<KeyMap<()>> =
    LazyLock::new(|| STOP_WORDS_HAN.split_whitespace().map(|word| (exact_key(word), ())).collect());

/// What the lists say of a word, in any case.
pub(super) fn class_of(word: &str) -> Class {
    if let Some((stem, suffix)) = word.split_once(['\'', '’']) {
        let contracted = matches!(suffix, "m" | "ve" | "re" | "ll" | "d")
            || suffix == "t" && stem.ends_with('n');
        let verb = suffix == "s"
            && CLASSES.get(&exact_key(stem)).is_some_and(|class| class & Class::FUNCTION != 0);
        return if contracted || verb {
            Class(Class::FUNCTION | (class_of(stem).0 & Class::DANGLING))
        } else {
            class_of(stem)
        };
    }
    let exact = CLASSES.get(&exact_key(word)).copied();
    Class(exact.unwrap_or_else(|| {
        CLASSES.get(&key(word)).copied().unwrap_or(0) & (Class::EVERYDAY | Class::ABSTRACT)
    }))
}

/// Is it a function word or an everyday one, which names nobody when it opens a sentence?
pub(in crate::generate) fn is_common_word(word: &str) -> bool {
    !class_of(word).is_content()
}

/// Does the character stand between Chinese subjects, not in them?
pub(in crate::generate) fn is_stop_char(c: char) -> bool {
    STOP_CHAR_KEYS.contains_key(&u64::from(c))
}

/// Is it a Chinese word without a subject?
pub(super) fn is_stop_word_han(word: &str) -> bool {
    STOP_WORD_KEYS.contains_key(&exact_key(word))
}

/// A key that is the same for a word in any case.
pub(super) fn exact_key(word: &str) -> u64 {
    let mut hash = FNV_OFFSET;
    let mut push = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
    if word.is_ascii() {
        word.bytes().for_each(|byte| push(byte.to_ascii_lowercase()));
    } else {
        let mut buffer = [0_u8; 4];
        for c in word.chars().flat_map(char::to_lowercase) {
            let c = if c == '’' { '\'' } else { c };
            c.encode_utf8(&mut buffer).bytes().for_each(&mut push);
        }
    }
    hash
}

/// A key that is the same for most forms of an English word (`moves`, `moving`, `moved`), exact for
/// what is not plain ASCII.
pub(super) fn key(word: &str) -> u64 {
    const LONGEST: usize = 40;
    let bytes = word.as_bytes();
    if bytes.len() > LONGEST
        || !bytes.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'\'')
    {
        return exact_key(word);
    }
    let mut buffer = [0_u8; LONGEST];
    let lower = &mut buffer[..bytes.len()];
    lower.copy_from_slice(bytes);
    lower.make_ascii_lowercase();
    let mut end = lower.iter().position(|byte| *byte == b'\'').unwrap_or(lower.len());
    if end > 4 && lower[..end].ends_with(b"ies") {
        end -= 2;
    } else if end > 5 && lower[..end].ends_with(b"ing") {
        end -= 3;
    } else if end > 4 && lower[..end].ends_with(b"ed") {
        end -= 2;
    } else if end > 3
        && lower[..end].ends_with(b"s")
        && !lower[..end].ends_with(b"ss")
        && !lower[..end].ends_with(b"us")
    {
        end -= 1;
    }
    if end > 3 && lower[end - 1] == b'e' {
        end -= 1;
    }
    if end > 3 && lower[end - 1] == lower[end - 2] {
        end -= 1;
    }
    if end > 3 && lower[end - 1] == b'y' {
        lower[end - 1] = b'i';
    }
    let mut hash = FNV_OFFSET;
    for byte in &lower[..end] {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_a_key_and_everyday_words_are_known_in_all_forms() {
        for (one, other) in [
            ("move", "moving"),
            ("Move", "moved"),
            ("class", "classes"),
            ("city", "cities"),
            ("stop", "stopped"),
            ("Lena", "lena's"),
        ] {
            assert_eq!(key(one), key(other), "{one} {other}");
        }
        assert_ne!(key("bus"), key("bu"));
        for word in [
            "thinking", "Looks", "the", "I'm", "going", "really", "loved", "I'm", "don't", "that’s",
        ] {
            assert!(!class_of(word).is_content(), "{word}");
        }
        for word in ["pottery", "Lena's", "Iceland", "ankle", "rustls", "FG-1042"] {
            assert!(class_of(word).is_content(), "{word}");
        }
    }
}
