//! Finds reported speech, which has no quotation marks: "She asked me whether I live in Berlin."

use std::borrow::Cow;

use crate::fork::ForkLazy;
use crate::text::expression::TextExpression;

/// Verbs of saying, in forms that introduce reported speech.
static SAYING: ForkLazy<TextExpression> = ForkLazy::new(|| {
    TextExpression::new(
        concat!(
            r"\b(?:said|says?|told|tells?|asks?|asked|wonder(?:s|ed)?|wrote|writes|texted|claims?|",
            r"claimed|insists?|insisted|believes?|thinks|reckons?|assumes?|replied|announced|",
            r"sagt(?:e|en)?|gesagt|meint(?:e|en)?|fragt(?:e|en)?|gefragt|schrieb|geschrieben|",
            r"behauptet(?:e|en)?|erzählt(?:e|en)?|glaubt|denkt|",
            r"dit|disait|disent|demande|demandait|demandé|écrit|raconte|raconté|prétend|croit|",
            r"croient|pense|pensent|",
            r"dice|dicen|dijo|dijeron|decía|pregunta|preguntó|preguntaron|escribió|contó|afirma|",
            r"cree|creen|piensa|piensan|detto|chiede|chiesto|diz|dizem|disse|perguntou)\b|",
            r"\b(?:people|they|everyone|everybody|some|most|friends|parents|colleagues)",
            r"(?: \w+)? (?:think|believe|say|assume|claim)\b",
        )
        .to_owned(),
    )
});

/// Words for the speaker, whose own sayings are not reported speech.
const SELF: [&str; 16] = [
    "i", "i've", "i'd", "i'll", "i'm", "we", "we've", "let", "let's", "ich", "je", "j'ai", "yo",
    "wir", "io", "eu",
];

/// Words that open a clause.
const BEGINS: &str = ",|;|:| and | but | because | so | und | aber | y | pero \
    | et | mais |，|；";

/// Chinese verbs of saying, and words that merely contain them.
const SAYING_HAN: [&str; 9] = ["说", "問", "问", "告诉", "写道", "声称", "以为", "听说", "据说"];
const NO_SAYING_HAN: &str = "小说|说明|说话|说起|说实话|说不定|来说|再说|虽说|说到\
    |问题|学问|说一声|跟你说|和你说|不用说";

/// Japanese forms of saying, which follow the reported speech.
const SAYING_JA: [&str; 8] =
    ["と言", "って言", "といっ", "と聞", "と書", "と尋ね", "と主張", "って聞"];

/// The part of a sentence before the reported speech.
pub(super) fn without_reported(sentence: &str) -> Cow<'_, str> {
    let is_ascii = sentence.is_ascii();
    if !is_ascii && SAYING_JA.iter().any(|form| sentence.contains(form)) {
        return Cow::Borrowed("");
    }
    let start = if is_ascii { None } else { han(sentence) };
    let start = start.or_else(|| spaced(sentence));
    start.map_or(Cow::Borrowed(sentence), |end| Cow::Borrowed(&sentence[..end]))
}

/// Start of a clause with a verb of saying whose subject is another person.
fn spaced(sentence: &str) -> Option<usize> {
    for found in SAYING.find_all(sentence) {
        let (verb, end) = (found.range().start, found.range().end);
        let before = &sentence[..verb];
        let start = BEGINS.split('|').filter_map(|mark| before.rfind(mark)).max();
        let subject = before[start.unwrap_or(0)..].to_lowercase().replace('’', "'");
        let mut words = subject.split(|c: char| !c.is_alphanumeric() && c != '\'');
        if words.any(|word| SELF.contains(&word)) {
            continue;
        }
        // In "…, he said", the reported speech comes first.
        let rest = sentence[end..].trim_matches(|c: char| !c.is_alphanumeric());
        let inverted = start.is_some_and(|at| before[at..].starts_with([',', '，']))
            && rest.split_whitespace().count() <= 2;
        return Some(if inverted { 0 } else { start.unwrap_or(0) });
    }
    None
}

fn han(sentence: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = SAYING_HAN
            .iter()
            .filter_map(|verb| Some((sentence[at..].find(verb)? + at, verb.len())))
            .min()?;
        let (start, length) = found;
        at = start + length;
        let is_other = NO_SAYING_HAN.split('|').any(|word| {
            let places = sentence.match_indices(word).map(|(place, _)| place..place + word.len());
            places.into_iter().any(|place| place.start <= start && start < place.end)
        });
        let own = sentence[..start]
            .trim_end_matches(['们', '就', '也', '都', '想', '要', '跟', '他', '她', '刚'])
            .ends_with(['我', '俺']);
        if !is_other && !own {
            let clause = sentence[..start].rfind(['，', ',', '。', '；', '！']);
            return Some(clause.unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_say_is_cut_off() {
        for (said, own) in [
            ("She asked me whether I live in Berlin.", ""),
            ("Everybody says I live in Berlin, but that's wrong.", ""),
            ("People still think I live in Berlin.", ""),
            ("I live in Lyon, and Tom says I live in Berlin.", "I live in Lyon"),
            ("I live in Berlin, he said.", ""),
            ("Er meint, ich wohne in Berlin.", ""),
            ("Ich wohne in Berlin, sagte er.", ""),
            ("Elle dit que j'habite à Berlin.", ""),
            ("Dice que vivo en Berlín.", ""),
            ("他说我住在柏林。", ""),
            ("听说我住在柏林。", ""),
            ("ベルリンに住んでいると言われた。", ""),
        ] {
            let found = without_reported(said);
            assert_eq!(found.trim_end_matches([',', ' ']), own, "{said}");
        }
        for own in [
            "I told my boss that I live in Lyon.",
            "As I said, I live in Lyon.",
            "Ich habe gesagt, dass ich in Lyon wohne.",
            "J'ai dit que j'habite à Lyon.",
            "我跟他说我住在里昂。",
            "我在写小说，住在里昂。",
            "I live in Lyon.",
        ] {
            assert_eq!(without_reported(own), own);
        }
    }
}
