//! Slots: attributes that have one value at a time, and how sentences state the value.
//!
//! The table is data (`slots.txt`): each slot has regular expressions per language. A sentence
//! fills the first slot that it matches.

use crate::fork::ForkLazy;

use crate::model::MemoryKind;
use crate::text::expression::TextMatch;
use crate::text::expressions::ExpressionTable;
use crate::text::time::TimeMention;

const TABLE: &str = include_str!("slots.txt");

/// Maximum length of a sentence to match, in bytes.
const MAX_BYTES: usize = 400;

/// The table's macros (names in braces).
const MACROS: [(&str, &str); 14] = [
    (
        "{NAME}",
        concat!(
            r#"(?-i:(?:(?:Dr|Mr|Mrs|Ms|Frau Dr|Herr Dr|Herr|Frau|Prof)\.? "#,
            r#")?\p{Lu}[^\s,.;:!?()"“”]*(?: (?:(?:&|of|de|la|the|von|van|del|dos) "#,
            r#")?\p{Lu}[^\s,.;:!?()"“”]*){0,3})"#,
        ),
    ),
    (
        "{WHO}",
        "(?:gp|doctor|dentist|therapist|counsell?or|vet|physio|midwife|hairdresser|childminder|\
         solicitor|cardiologist|pa?ediatrician|accountant|line manager|manager|boss|supervisor|\
         team lead|tech lead|landlord|landlady|emergency contact|treasurer|mentor)",
    ),
    (
        "{WER}",
        "(?:hausarzt|hausärztin|zahnarzt|zahnärztin|tierarzt|tierärztin|kinderarzt|\
         kinderärztin|chef|chefin|vermieter|vermieterin|klassenlehrer|klassenlehrerin|hebamme|\
         steuerberater|steuerberaterin|friseur|friseurin)",
    ),
    (
        "{QUIEN}",
        "(?:médic[oa]|dentista|pediatra|veterinari[oa]|jef[ea]|tesorer[oa]|caser[oa]|matrona|\
         peluquer[oa])",
    ),
    (
        "{QUI}",
        "(?:médecin|dentiste|pédiatre|vétérinaire|chef|cheffe|patronne?|trésori[eè]re?|kiné|nounou|\
         propriétaire|comptable|sage-femme|coiffeuse|coiffeur)",
    ),
    (
        "{KIN}",
        "(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|sister|brother|mother|mum|\
         mom|father|dad|son|daughter|aunt|uncle|cousin|friend|boss|colleague|roommate|\
         flatmate|landlord)",
    ),
    (
        "{PHONE}",
        concat!(
            r"\b(?:phone|mobile|cell|number|whatsapp|handy|telefon\w*|nummer|teléfono|móvil|",
            r"número|téléphone|portable|numéro|cellulare|telefone|telemóvel)\b[^+\d]{0,60}",
        ),
    ),
    ("{NUMBER}", r"\+?\d[\d ()/-]{6,}\d"),
    ("{MAIL}", r"[\w.+-]+@[\w-]+\.[\w.-]*\w"),
    ("{DOSE}", r"\d+(?:[.,]\d+)? ?(?:mg|mcg|µg|μg|micrograms?|milligrams?|units|mikrogramm|ml)"),
    ("{SOME}", r#"[^,.;:!?()"“”。，！？]{1,60}"#),
    ("{HAN}", r"[\p{Han}A-Za-z0-9]{1,12}?(?:[了，。！,!?？；;、的]|$)"),
    (
        "{NOW}",
        "(?: ?(?:now|just|finally|recently|currently|still|only|officially|actually|also|happily|\
         mostly|all|already|jetzt|nun|inzwischen|mittlerweile|ahora|actualmente|maintenant|\
         désormais|ora|adesso|agora)\\b|现在|目前|已经|刚刚?|最近|就|又|都|终于|上个?月|\
         上周[一二三四五六日天末]?|\
         去年|今年|前天|昨天|\
         下周|下个?月|这个?月|今天|早就|的)*",
    ),
    (
        "{DATE}",
        concat!(
            r"(?:[^.。]{0,30}?)(?:\d{1,2}|\d月|[一二三四五六七八九十]月|周[一二三四五六日]|",
            r"January|February|March|April|May|June|July|August|September|October|November|",
            r"December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|tomorrow|next|",
            r"Januar|März|Mai|Juni|Juli|Oktober|Dezember|enero|febrero|marzo|abril|mayo|junio|",
            r"julio|agosto|janvier|février|mars|avril|juin|juillet|août)[^.;。]{0,20}",
        ),
    ),
];

/// Words that end a value within a sentence.
const VALUE_ENDS: &str = " now| and | but | because | since | so | which | who \
    | with | these | at the moment| from | until | for | again| where | und | jetzt| y | ahora\
    | et | maintenant| though | this | that | in a | I | I'm ";

/// A slot with the value that a sentence states.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FilledSlot {
    /// The slot, with its object if it has one: `favourite:film`.
    pub attribute: String,
    /// The value, normalised: lower case, without articles and final punctuation.
    pub value: String,
    pub kind: MemoryKind,
    /// The relative who owns the slot ("sister"); `None` for the speaker.
    pub whose: Option<String>,
}

struct FactSlot {
    name: &'static str,
    kind: MemoryKind,
    dated: bool,
    /// True for phone numbers and addresses at which a person is reached.
    is_contact: bool,
}

struct SlotTable {
    slots: Vec<FactSlot>,
    /// The patterns, each with the index of its slot.
    lines: ExpressionTable<usize>,
}

static SLOTS: ForkLazy<SlotTable> = ForkLazy::new(|| read_table(TABLE));

fn read_table(text: &'static str) -> SlotTable {
    let (mut slots, mut lines) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(head) = line.strip_prefix('@') {
            let mut words = head.split_whitespace();
            let name = words.next().expect("invariant: a slot has a name");
            let kind = words.next().unwrap_or_default();
            let kind = MemoryKind::ALL.into_iter().find(|known| known.name() == kind);
            let kind = kind.expect("invariant: a slot has a kind");
            let is_contact = matches!(name, "phone" | "email");
            slots.push(FactSlot { name, kind, dated: name == "plan", is_contact });
            continue;
        }
        let pattern = MACROS
            .iter()
            .fold(line.to_owned(), |text, (name, meaning)| text.replace(name, meaning));
        lines.push((pattern, slots.len() - 1));
    }
    SlotTable { slots, lines: ExpressionTable::new(lines) }
}

/// Finds the slot that a sentence fills; `date` is its first date. If the value is over ("I left
/// Siemens"), it follows `not`. A denial fills no slot.
pub(super) fn fill(sentence: &str, date: Option<&TimeMention>) -> Option<FilledSlot> {
    if sentence.len() > MAX_BYTES {
        return None;
    }
    let plain = sentence.replace('’', "'");
    let table = &*SLOTS;
    let mut candidates = table.lines.candidates(&plain);
    candidates.find_map(|(pattern, slot)| {
        filled(&table.slots[*slot], &pattern.find(&plain)?, &plain, date)
    })
}

/// Prefix of a value that no longer holds.
const NOT: &str = "not ";

/// Denials directly before the denied words; the subject may be missing.
const DENIALS_BEFORE: [&str; 7] = ["ya no", " no", "nunca", "non", "não", "不", "没"];

/// Denials of a phone number or an email address, anywhere before it in the sentence.
const DENIED: [&str; 7] = ["no longer", "not ", "n't ", "nicht mehr", "ya no", " plus ", "不"];

/// Words that open a clause about another time than the present: "by the time I'm 40".
const OTHER_TIMES: &str = " when | while | until | till | if | before | after \
    | once | by the time | als | wenn | bis | bevor | nachdem | cuando | hasta que | antes de \
    | quand | lorsque | avant | jusqu'| quando |的时候|等我|以前|之前";

/// Words anywhere before a phone number or an email address that assign it to another person or
/// thing.
const NOT_MINE: [&str; 13] = [
    " his ", " her ", " their ", " your ", " its ", " seine", " ihre", " su ", " son ", " sa ",
    "他的", "她的", "客服",
];

fn filled(
    slot: &FactSlot,
    found: &TextMatch<'_>,
    plain: &str,
    date: Option<&TimeMention>,
) -> Option<FilledSlot> {
    let group = |name| found.group(name);
    let given = group("v").or_else(|| group("n"));
    let value = match date.filter(|_| slot.dated) {
        Some(date) => date.iso(),
        None if slot.dated => return None,
        None => normalised(given?),
    };
    // A student at a university is not employed there.
    if slot.name == "employer" && plain[found.range()].to_lowercase().contains("student") {
        return None;
    }
    if slot.is_contact && group("w").is_none() {
        let before = given.map_or(0, |given| given.as_ptr() as usize - plain.as_ptr() as usize);
        let lower = format!(" {}", plain[..before].to_lowercase());
        if NOT_MINE.iter().any(|word| lower.contains(word)) || has_owner(&lower) {
            return None;
        }
        if DENIED.iter().any(|denial| lower.contains(denial)) {
            return None;
        }
    }
    let before = format!(" {}", plain[..found.range().start].trim_end().to_lowercase());
    let opening = before.rsplit([',', ';', ':', '.', '!', '，', '；']).next().unwrap_or_default();
    let is_other_time = OTHER_TIMES.split('|').any(|word| format!("{opening} ").contains(word))
        || plain[found.range().end..].starts_with(['的', '时']);
    if is_other_time || DENIALS_BEFORE.iter().any(|denial| before.ends_with(denial)) {
        return None;
    }
    let value = if group("n").is_some() { format!("{NOT}{value}") } else { value };
    let attribute = with_object(slot.name, group("o"));
    let is_value = !value.is_empty() && !matches!(&*value, "i" | "it" | "the" | "家" | "家了");
    is_value.then(|| FilledSlot {
        attribute,
        value,
        kind: slot.kind,
        whose: group("w").map(str::to_lowercase),
    })
}

/// A slot with its object: `contact:dentist`.
fn with_object(slot: &str, object: Option<&str>) -> String {
    match object.map(|object| object.trim().to_lowercase().replace(' ', "_")) {
        Some(object) => format!("{slot}:{}", canonical(&object)),
        None => slot.to_owned(),
    }
}

/// True if the text before a value names an owner: "my wife's number is".
fn has_owner(before: &str) -> bool {
    before.match_indices("'s ").any(|(at, _)| {
        let owner = before[..at].rsplit(' ').next().unwrap_or_default();
        !matches!(
            owner,
            "it" | "that" | "number" | "phone" | "mobile" | "mail" | "email" | "e-mail"
        )
    })
}

/// Maps synonyms of an object to one word.
fn canonical(object: &str) -> &str {
    match object {
        "boss" | "line_manager" | "team_lead" | "supervisor" | "chef" | "chefin" | "cheffe"
        | "jefe" | "jefa" | "patron" | "patronne" | "老板" | "经理" | "领导" | "主管" => {
            "manager"
        }
        "tierarzt" | "tierärztin" | "veterinario" | "veterinaria" | "vétérinaire" | "兽医" => {
            "vet"
        }
        "zahnarzt" | "zahnärztin" | "dentiste" | "dentista" | "牙医" => "dentist",
        "kinderarzt" | "kinderärztin" | "pediatra" | "pédiatre" | "paediatrician"
        | "pediatrician" => "paediatrician",
        "landlady" | "vermieter" | "vermieterin" | "casero" | "casera" | "propriétaire"
        | "房东" => "landlord",
        "gp" | "hausarzt" | "hausärztin" | "医生" | "大夫" | "médico" | "médica" | "médecin" => {
            "doctor"
        }
        "tesorero" | "tesorera" | "trésorier" | "trésorière" => "treasurer",
        "color" => "colour",
        "movie" => "film",
        other => other,
    }
}

/// Lower case, without articles, punctuation and the words after the value.
fn normalised(value: &str) -> String {
    let mut value = value.trim();
    for end in VALUE_ENDS.split('|') {
        if let Some((front, _)) = value.split_once(end) {
            value = front;
        }
        value = value.strip_suffix(end.trim_end()).unwrap_or(value);
    }
    let marks = |c: char| !c.is_alphanumeric() && !matches!(c, '£' | '$' | '€' | '¥' | '+');
    let value = value.trim_matches(marks).trim_end_matches(['了', '的']).to_lowercase();
    const ARTICLES: [&str; 12] =
        ["a ", "an ", "the ", "my ", "our ", "el ", "la ", "le ", "il ", "der ", "die ", "das "];
    let bare = ARTICLES.iter().find_map(|word| value.strip_prefix(word));
    bare.unwrap_or(&value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;
    use crate::text::time::mentions;

    fn slot(sentence: &str) -> (String, String) {
        let day = Moment::parse("2024-03-11T09:30:00+01:00").expect("valid");
        let date = mentions(sentence, day).into_iter().next();
        fill(sentence, date.as_ref())
            .map(|found| (found.attribute, found.value))
            .unwrap_or_default()
    }

    #[test]
    fn the_table_is_sound_and_says_what_it_understands() {
        assert!(SLOTS.slots.len() > 10 && SLOTS.lines.len() > 80);
        for (sentence, attribute, value) in [
            ("I live in Porto now, near the river.", "home", "porto"),
            ("We relocated to Lyon.", "home", "lyon"),
            ("I'm based in Berlin.", "home", "berlin"),
            ("Ich wohne jetzt in Graz.", "home", "graz"),
            ("Ahora vivo en Sevilla.", "home", "sevilla"),
            ("J'habite maintenant à Nantes.", "home", "nantes"),
            ("我现在住在苏州。", "home", "苏州"),
            ("我们搬到青岛了，离海近。", "home", "青岛"),
            ("I work for Renault.", "employer", "renault"),
            ("I've been a buyer at Long & Sons since May.", "employer", "long & sons"),
            ("Ich arbeite als Koch bei Siemens.", "employer", "siemens"),
            ("我换工作了，去了华为。", "employer", "华为"),
            ("My manager is Priya.", "contact:manager", "priya"),
            ("Mein Hausarzt ist Dr. Kern.", "contact:doctor", "dr. kern"),
            ("Mi médico es el doctor Salas.", "contact:doctor", "salas"),
            ("Please always answer in French.", "language", "french"),
            ("以后请用英文回答。", "language", "英文"),
            (
                "My favourite colour is no longer green; it's orange now.",
                "favourite:colour",
                "orange",
            ),
            ("My favorite color is green.", "favourite:colour", "green"),
            ("Mi color favorito es el verde.", "favourite:colour", "verde"),
            ("我最喜欢的歌手是王菲。", "favourite:歌手", "王菲"),
            ("I'm vegan now.", "diet", "vegan"),
            ("My number is 0151 234 5678.", "phone", "0151 234 5678"),
            ("My mail is ana@example.org.", "email", "ana@example.org"),
            ("I just turned 34.", "age", "34"),
            ("Our wedding is on 3 May 2025.", "plan:wedding", "2025-05-03"),
            ("I take 50 mg of sertraline.", "dose:sertraline", "50 mg"),
            ("My sertraline has gone up to 75 mg.", "dose:sertraline", "75 mg"),
            ("My work phone number is 0151 234 5678.", "phone:work", "0151 234 5678"),
            ("My wife's phone number is 0151 234 5678.", "phone", "0151 234 5678"),
            ("I quit my job at Siemens.", "employer", "not siemens"),
            ("I've moved out of Lyon.", "home", "not lyon"),
            ("I work at Nu Skin I do sales.", "employer", "nu skin"),
            ("My sister lives in Turin.", "home", "turin"),
            ("Wir sind im Mai nach Erfurt gezogen.", "home", "erfurt"),
            ("Nos hemos mudado a Oviedo.", "home", "oviedo"),
            ("我们家上周搬到长沙了。", "home", "长沙"),
            ("我们上周六搬到青岛了。", "home", "青岛"),
            ("我叫周敏，住在成都，在一家出版社当编辑。", "home", "成都"),
            ("Priya, she's my line manager.", "contact:manager", "priya"),
            ("Odile, c'est elle la trésorière.", "contact:treasurer", "odile"),
            ("我们的班主任换成秦老师了。", "contact:班主任", "秦老师"),
            ("我上个月跳槽到美团了。", "employer", "美团"),
        ] {
            assert_eq!(slot(sentence), (attribute.to_owned(), value.to_owned()), "{sentence}");
        }
    }

    #[test]
    fn what_is_no_slot_fills_none() {
        for sentence in [
            "I moved to the marketing team.",
            "She lives in Rome.",
            "我住院了。",
            "我搬家了。",
            "I'm in Rome for a week.",
            "We worked on it until Friday.",
            "I'm 30 minutes late.",
            "My wife is Italian.",
            "My husband's dog Rex is old.",
            "Her phone number is 0151 234 5678.",
            "My flight to Oslo is on Monday.",
            "I'm currently a student at Brigham Young.",
            "Ich bin 1,78 m groß.",
            "We upgraded from 3.12 to 3.13.",
            "Error code 404 again.",
            "大家在一起吃饭。",
            "我家在装修。",
            "I went up to Anna in the gym.",
            "The day with Anna was fun.",
            "I hope to have a house by the time I'm 40.",
            "When I moved to Provo, everything was new.",
            "我住在成都的时候很开心。",
            "I no longer live in Lyon.",
            "I'm not a nurse any more.",
            "My number is no longer 0151 234 5678.",
            "Ich wohne nicht mehr in Lyon.",
            "Ya no vivo en Lyon.",
            "Je n'habite plus à Lyon.",
            "我不住在里昂了。",
        ] {
            assert_eq!(slot(sentence), Default::default(), "{sentence}");
        }
    }
}
