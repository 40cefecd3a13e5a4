//! English verb forms: which form of which verb a word is, and the third person of a base form.

use std::collections::HashMap;

/// The form of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// "work" (also the past of verbs that don't change, see [`is_past_too`]).
    Base,
    /// "works"
    Third,
    /// "worked", "went"
    Past,
    /// "gone", where it differs from the past
    Participle,
    /// "working"
    Ing,
}

/// Verbs that inflect by rule, in base form.
const REGULAR: &str = "abandon act add admit advance announce assemble assist audit backpack bury calculate camp carry cause collapse complain confirm connect contact contribute convert correct count cross cuddle damage declare defend delay deliver deploy describe discuss divorce download dye edit elect emigrate escape evacuate exhibit expand export fail fetch file fill fire flood foster fund furnish gather generate greet hand heal hunt identify immigrate import invent investigate jump kick kiss lecture lift load locate lock lower mail map measure merge migrate mount negotiate nominate notice obtain offer operate outline pack park phone photograph pitch plug post postpone pour predict print promote prove pull purchase push qualify raise rank rate rehearse reject release remove report reserve resume reveal row sample scan seal select settle shave shock shop sketch skate skydive slip smash solve spot spray stain stitch store submit succeed support surprise suspend swap tackle taste test text touch toast trace track trade treat trim tune turn tweet twist unpack update upload vote warn wash weigh witness accept achieve adopt adore agree aim apply appear approve arrange arrive attend audition avoid bake bike book cancel carve celebrate \
     change chat clean climb close coach collect collaborate commit compete complete compose cook cover crash create cycle dance decide decorate dedicate design develop die film \
     discover dislike donate dream earn email end enjoy enrol enroll enter explore file finish fish fix follow focus gain garden graduate guide harvest hate help hike hire hope \
     host improve inherit injure install intend interview invest invite join juggle kayak knit land launch learn like live look loathe love manage marry master mentor migrate miss \
     move name need open order organise organize own paint participate pass perform pick place plan plant play practice practise prefer prepare present produce program promise propose publish pursue raise \
     receive recommend record recover register relax release relocate renovate rent repair rescue resign restore retire return review sail save score search sell ship sign ski skip snowboard sort \
     sponsor sprain start stay stop struggle study support surf switch tour train transfer translate travel treat try tutor upgrade use vacation visit volunteer wait walk want watch welcome work \
     worry wrap yell";

/// Base, past, participle of verbs that don't.
const IRREGULAR: [(&str, &str, &str); 72] = [
    ("be", "was", "been"),
    ("become", "became", "become"),
    ("begin", "began", "begun"),
    ("break", "broke", "broken"),
    ("bring", "brought", "brought"),
    ("build", "built", "built"),
    ("buy", "bought", "bought"),
    ("catch", "caught", "caught"),
    ("choose", "chose", "chosen"),
    ("come", "came", "come"),
    ("cut", "cut", "cut"),
    ("do", "did", "done"),
    ("draw", "drew", "drawn"),
    ("drink", "drank", "drunk"),
    ("drive", "drove", "driven"),
    ("eat", "ate", "eaten"),
    ("fall", "fell", "fallen"),
    ("feed", "fed", "fed"),
    ("feel", "felt", "felt"),
    ("find", "found", "found"),
    ("fly", "flew", "flown"),
    ("forget", "forgot", "forgotten"),
    ("get", "got", "gotten"),
    ("give", "gave", "given"),
    ("go", "went", "gone"),
    ("grow", "grew", "grown"),
    ("have", "had", "had"),
    ("hear", "heard", "heard"),
    ("hold", "held", "held"),
    ("hurt", "hurt", "hurt"),
    ("keep", "kept", "kept"),
    ("know", "knew", "known"),
    ("lead", "led", "led"),
    ("leave", "left", "left"),
    ("lend", "lent", "lent"),
    ("lose", "lost", "lost"),
    ("make", "made", "made"),
    ("mean", "meant", "meant"),
    ("meet", "met", "met"),
    ("pay", "paid", "paid"),
    ("pet", "petted", "petted"),
    ("put", "put", "put"),
    ("quit", "quit", "quit"),
    ("read", "read", "read"),
    ("ride", "rode", "ridden"),
    ("run", "ran", "run"),
    ("say", "said", "said"),
    ("see", "saw", "seen"),
    ("sell", "sold", "sold"),
    ("send", "sent", "sent"),
    ("set", "set", "set"),
    ("shoot", "shot", "shot"),
    ("show", "showed", "shown"),
    ("sing", "sang", "sung"),
    ("sleep", "slept", "slept"),
    ("speak", "spoke", "spoken"),
    ("spend", "spent", "spent"),
    ("split", "split", "split"),
    ("stand", "stood", "stood"),
    ("swim", "swam", "swum"),
    ("take", "took", "taken"),
    ("teach", "taught", "taught"),
    ("tell", "told", "told"),
    ("think", "thought", "thought"),
    ("throw", "threw", "thrown"),
    ("travel", "travelled", "travelled"),
    ("understand", "understood", "understood"),
    ("wake", "woke", "woken"),
    ("wear", "wore", "worn"),
    ("win", "won", "won"),
    ("withdraw", "withdrew", "withdrawn"),
    ("write", "wrote", "written"),
];

/// Words that double their last consonant before `-ed` and `-ing`.
const DOUBLING: &str = " begin chat commit cut enrol get hit jog knit map pet plan prefer program put quit run set ship shop skip split step stop swim transfer travel win wrap ";

/// Every form of every verb, with its base form; the first reading of an ambiguous form counts.
pub(super) fn forms() -> HashMap<String, (&'static str, Form)> {
    let mut forms = HashMap::new();
    let irregular = |base: &str| IRREGULAR.iter().any(|row| row.0 == base && base != "travel");
    for base in REGULAR.split_whitespace().filter(|base| !irregular(base)) {
        forms.entry(with_ed(base)).or_insert((base, Form::Past));
        add_regular(&mut forms, base);
    }
    for (base, past, participle) in IRREGULAR {
        add_regular(&mut forms, base);
        forms.entry(past.to_owned()).or_insert((base, Form::Past));
        forms.entry(participle.to_owned()).or_insert((base, Form::Participle));
    }
    forms
}

fn add_regular(forms: &mut HashMap<String, (&'static str, Form)>, base: &'static str) {
    forms.entry(base.to_owned()).or_insert((base, Form::Base));
    forms.entry(third_person(base)).or_insert((base, Form::Third));
    forms.entry(with_ing(base)).or_insert((base, Form::Ing));
}

/// Base forms that are also their own past.
pub(super) fn is_past_too(base: &str) -> bool {
    matches!(base, "cut" | "hurt" | "put" | "quit" | "read" | "set" | "split")
}

/// "work" -> "works", "have" -> "has".
pub(super) fn third_person(base: &str) -> String {
    match base {
        "be" => return "is".to_owned(),
        "have" => return "has".to_owned(),
        _ => {}
    }
    let sibilant = ["s", "sh", "ch", "x", "z", "o"].iter().any(|tail| base.ends_with(tail));
    match base.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        Some(stem) => format!("{stem}ies"),
        None if sibilant => format!("{base}es"),
        None => format!("{base}s"),
    }
}

fn with_ed(base: &str) -> String {
    match base.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        Some(stem) => format!("{stem}ied"),
        None if base.ends_with('e') => format!("{base}d"),
        None => format!("{}ed", doubled(base)),
    }
}

fn with_ing(base: &str) -> String {
    match base.strip_suffix('e').filter(|stem| !stem.ends_with(['e', 'o', 'y']) && base != "be") {
        Some(stem) => format!("{stem}ing"),
        None => format!("{}ing", doubled(base)),
    }
}

fn doubled(base: &str) -> String {
    let mut word = base.to_owned();
    if let Some(last) = base.chars().last().filter(|_| DOUBLING.contains(&format!(" {base} "))) {
        word.push(last);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_known_both_ways() {
        for (word, base, form) in [
            ("went", "go", Form::Past),
            ("moved", "move", Form::Past),
            ("moving", "move", Form::Ing),
            ("studies", "study", Form::Third),
            ("planning", "plan", Form::Ing),
            ("taken", "take", Form::Participle),
            ("left", "leave", Form::Past),
            ("found", "find", Form::Past),
        ] {
            assert_eq!(forms().get(word), Some(&(base, form)), "{word}");
        }
        assert_eq!(third_person("teach"), "teaches");
        assert_eq!(third_person("play"), "plays");
        assert_eq!(forms().get("zebra"), None);
    }
}
