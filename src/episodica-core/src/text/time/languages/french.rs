//! French: expressions of time, and past verb forms.

use crate::text::time::calendar::{Holiday, Unit};
use crate::text::time::patterns::{FEW, Meaning, Step, Vocabulary};
use crate::text::time::tense::{Rule, Tense};

pub(in crate::text::time) const TENSE: Tense = Tense {
    shadows: &[],
    intentions: &[
        // What is arranged lies ahead.
        concat!(
            r"(?:ai|as|a|avons|avez|ont|suis|est|sommes|sont) (?:déjà |enfin )?(?:réservé|loué|",
            r"inscrite?s?|invitée?s?|promis|(?:pris|acheté) (?:\p{L}+ )?(?:billets?|places?|",
            r"rendez-vous))",
        ),
        concat!(
            r"(?:est|sont|suis|sommes|c['’]est)(?: \p{L}+ment)? ",
            r"(?:prévu|fixé|réservé|programmé|fermé|marié|fatigué|occupé|invité|convoqué|attendu|",
            r"obligé|calé|complet)\p{L}*",
        ),
    ],
    past: &[
        "était|étaient|étais|avait|avaient|avais|étions|avions|faisait|allait|voulait|habitait|\
         habitais|travaillait|travaillais|pleuvait|vivait|vivais|fut|naquit|mourut|depuis",
        concat!(
            r"(?:ai|as|a|avons|avez|ont|suis|es|est|sommes|êtes|sont)(?: ",
            r"(?:pas|plus|jamais|déjà|enfin|tout|bien|été|juste|aussi|toujours|y|tous|toutes|",
            r"\p{L}+ment))* (?:<participle>)",
        ),
    ],
    ahead: &[],
    open: &[],
    participle: concat!(
        r"fait|faite|faits|mis|mise|pris|prise|appris|compris|né|née|nés|mort|morte|eu|été|lu|vu|",
        r"vue|su|pu|bu|dit|écrit|ouvert|offert|reçu|perdu|vendu|rendu|venus?|venues?|revenus?|",
        r"revenue|tenu|couru|cru|dû|plu|vécu|entendu|descendu|partis?|partie|sortis?|sortie|fini|",
        r"choisi|dormi|réussi|accompli|rempli|grandi|\p{L}{2,}(?:é|ée|és|ées)",
    ),
    irregular: "",
    conjunctions: "et|mais|donc|car|ou|puis",
    rule: Rule::PastFirst,
    spaced: true,
};

pub(in crate::text::time) const VOCABULARY: Vocabulary = Vocabulary {
    months: [
        "janvier|janv\\.",
        "février|fevrier|févr\\.",
        "mars",
        "avril|avr\\.",
        "mai",
        "juin",
        "juillet|juil\\.",
        "août|aout",
        "septembre|sept\\.",
        "octobre|oct\\.",
        "novembre|nov\\.",
        "décembre|decembre|déc\\.",
    ],
    weekdays: ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
    units: &[
        ("jours?", Unit::Day),
        ("semaines?", Unit::Week),
        ("week[- ]?ends?", Unit::Weekend),
        ("mois", Unit::Month),
        ("ans?|années?", Unit::Year),
        ("décennies?", Unit::Decade),
    ],
    numbers: &[
        ("un|une", 1),
        ("deux", 2),
        ("trois", 3),
        ("quatre", 4),
        ("cinq", 5),
        ("six", 6),
        ("sept", 7),
        ("huit", 8),
        ("neuf", 9),
        ("dix", 10),
        ("onze", 11),
        ("douze", 12),
        ("quinze", 15),
        ("vingt", 20),
        ("trente", 30),
        ("quarante", 40),
        ("cinquante", 50),
        ("quelques", FEW),
    ],
    seasons: ["printemps", "été", "automne", "hiver"],
    feasts: &[
        ("noël", Holiday::Fixed(12, 25)),
        (
            "la saint[- ]sylvestre|réveillon du nouvel an|réveillon du jour de l['’]an",
            Holiday::Fixed(12, 31),
        ),
        ("jour de l['’]an|nouvel an", Holiday::Fixed(1, 1)),
        ("la saint[- ]valentin", Holiday::Fixed(2, 14)),
        ("la chandeleur", Holiday::Fixed(2, 2)),
        ("pâques|dimanche de pâques", Holiday::Easter(0)),
        ("lundi de pâques", Holiday::Easter(1)),
        ("l['’]ascension", Holiday::Easter(39)),
        ("la pentecôte|pentecôte", Holiday::Easter(49)),
        ("la toussaint", Holiday::Fixed(11, 1)),
        ("halloween", Holiday::Fixed(10, 31)),
        ("l['’]épiphanie", Holiday::Fixed(1, 6)),
    ],
    patterns: &[
        ("avant[- ]hier(?: soir| matin)?", Meaning::Day(-2)),
        (
            "hier(?: soir| matin| après-midi| midi| dans la nuit)?|la nuit dernière",
            Meaning::Day(-1),
        ),
        ("aujourd['’]hui|ce soir|ce matin|cet après-midi|ce midi", Meaning::Day(0)),
        ("après[- ]demain(?: soir| matin| après-midi)?", Meaning::Day(2)),
        ("demain en huit", Meaning::Day(8)),
        ("demain(?: soir| matin| après-midi| midi)?", Meaning::Tomorrow),
        (
            "il y a (?:environ |à peu près |presque |plus de |bientôt |tout juste )?six mois",
            Meaning::MonthsAway(-6),
        ),
        ("il y a un an et demi", Meaning::MonthsAway(-18)),
        (
            "il y a (?:environ |à peu près |presque |plus de |bientôt |tout juste )?huit jours",
            Meaning::Day(-7),
        ),
        (
            "il y a (?:environ |à peu près |presque |plus de |bientôt |tout juste )?une \
             quinzaine(?: de jours)?",
            Meaning::WeeksAway(-2),
        ),
        (
            "(?:il y a|ça fait) (?:environ |à peu près |presque |plus de |bientôt |tout juste \
             )?{n} {unit}",
            Meaning::Ago,
        ),
        ("dans six mois", Meaning::MonthsAway(6)),
        ("dans huit jours|aujourd['’]hui en huit", Meaning::Day(7)),
        ("dans une quinzaine(?: de jours)?", Meaning::WeeksAway(2)),
        ("dans (?:environ |à peu près )?{n} {unit}", Meaning::InUnits),
        ("{wd} en huit", Meaning::WeekdayAnd(1)),
        ("{wd} en quinze", Meaning::WeekdayAnd(2)),
        ("(?:le )?{wd} de la semaine (?:dernière|passée)", Meaning::WeekdayOf(-1)),
        ("(?:le )?{wd} de la semaine prochaine", Meaning::WeekdayOf(1)),
        ("la semaine prochaine,? {wd}", Meaning::WeekdayOf(1)),
        ("(?:le )?{wd} de cette semaine", Meaning::WeekdayOf(0)),
        ("{wd} (?:dernier|passé)(?: soir| matin| après-midi)?", Meaning::Weekday(Step::Last)),
        ("{wd} (?:prochain|qui vient)(?: soir| matin| après-midi)?", Meaning::Weekday(Step::Next)),
        ("ce {wd}(?: soir| matin| après-midi)?", Meaning::Weekday(Step::This)),
        ("(?:l['’]|le |la )?{unit} (?:d['’]avant l['’]avant|avant-dernière?)", Meaning::Unit(-2)),
        ("l['’]avant-dernière? {unit}", Meaning::Unit(-2)),
        ("(?:l['’]|le |la )?{unit} (?:derni[eè]re?|passée?)", Meaning::Unit(-1)),
        ("(?:l['’]|le |la )?{unit} (?:prochaine?|qui vient)", Meaning::Unit(1)),
        ("(?:cette|cet|ce) {unit}(?:-ci)?", Meaning::Unit(0)),
        ("(?:l['’]|le |à l['’]|au )?{season} (?:dernier|passé)", Meaning::Season(Step::Last)),
        ("(?:l['’]|le |à l['’]|au )?{season} prochain", Meaning::Season(Step::Next)),
        ("(?:cet|ce) {season}", Meaning::Season(Step::This)),
        ("(?:en |au |à l['’]|l['’]|le ){season} {y}", Meaning::Season(Step::Tense)),
        ("(?:en|au) {season}(?: de {y})?", Meaning::Season(Step::Tense)),
        ("(?:en )?{mon} dernier", Meaning::Month(Step::Last)),
        ("(?:en )?{mon} prochain", Meaning::Month(Step::Next)),
        ("{feast} derni[eè]re?", Meaning::Feast(Step::Last)),
        ("(?:du|entre le) {d} (?:au|et le) {d2} {mon}(?: {y})?", Meaning::Date),
        (
            "(?:(?:le|au|du|dès le|jusqu['’]au|depuis le|avant le|pour le|vers le) )?(?:{anywd},? \
             )?(?:le )?{d} {mon}(?:,? {y})?",
            Meaning::Date,
        ),
        ("(?:le|au|dès le|jusqu['’]au|depuis le|avant le) {d}", Meaning::DayOfMonth),
        (
            "(?:à la |en )?(?:début|courant|mi-|mi |fin|fin de|milieu|milieu de) ?{mon}(?: {y})?",
            Meaning::Month(Step::Tense),
        ),
        ("(?:à la )?(?:fin|début) (?:de l['’]année|d['’]année)", Meaning::This(Unit::Year)),
        ("(?:à la |en )?fin (?:du|de) mois", Meaning::This(Unit::Month)),
        (
            "(?:en|depuis|dès|jusqu['’]en|pour|d['’]ici|courant|avant|à partir de|au mois de|au \
             mois d['’]) ?{mon}(?: {y})?",
            Meaning::Month(Step::Tense),
        ),
        ("{mon} {y}", Meaning::Month(Step::Tense)),
        ("(?:en|depuis|depuis l['’]année|début|fin|jusqu['’]en|avant) {y}", Meaning::Year),
        ("(?:à|pour|depuis|le|au|à la) ?{feast}(?: {y})?", Meaning::Feast(Step::Tense)),
        ("depuis {wd}", Meaning::Weekday(Step::Last)),
        ("{wd}(?: soir| matin| après-midi| midi)?", Meaning::Weekday(Step::Tense)),
    ],
    habits: "chaque|tous les|toutes les|toujours|d['’]habitude|anniversaire|le lundi|le mardi|le \
        mercredi|le jeudi|le vendredi|le samedi|le dimanche",
    day_words: &[("premier", 1)],
    mornings: "",
    goes_on: "et|mais|ou|à|je|j['’]\\p{L}+|on|nous|il|elle|ils|elles|vous|tu|c['’]est|avec|chez|\
        en|pour|parce|car|quand|de ce mois|si|donc|puis|dans|au|aux|sur|le|la|les",
    rejected: &[r"(?:chaque|un|tous les|quelque|le) (?:{anywd})$"],
    counted: "euros|heures|h|kilomètres|km|personnes|minutes|mètres|fois|degrés|kilos|pour cent|%",
    day_first: true,
};
