//! French: expressions of time, and past verb forms.

use crate::text::time::calendar::CalendarUnit;
use crate::text::time::grammar::{
    DateVocabulary, FEW, NamedStep, PatternMeaning, TenseRule, TenseSigns,
};
use crate::text::time::holidays::Holiday;

pub(in crate::text::time) const TENSE: TenseSigns = TenseSigns {
    shadows: &[
        "jamais|désormais|français|anglais|japonais|portugais|parfait|satisfait|connais|souhait|\
         voudrais|pourrais|aimerais|devrais",
    ],
    intentions: &[concat!(
        r"(?:est|sont|suis|sommes|c['’]est)(?: \p{L}+ment)? ",
        r"(?:prévu|fixé|réservé|programmé|fermé|marié|fatigué|occupé|invité|convoqué|attendu|",
        r"obligé|calé|complet|noté|enregistré|marqué)\p{L}*",
    )],
    arranged: &[concat!(
        r"(?:ai|as|a|avons|avez|ont|suis|est|sommes|sont) (?:déjà |enfin )?(?:réservé|loué|",
        r"inscrite?s?|invitée?s?|promis|(?:pris|acheté|donné|obtenu) (?:\p{L}+ )?(?:billets?|",
        r"places?|",
        r"rendez-vous))",
    )],
    purposes: "pour|à|au|aux",
    doubts: &[
        concat!(
            r"(?:(?:jl?)?ai|as|a|avons|avez|ont) (?:\p{L}+ )?(?:dit|demandé|raconté|noté|marqué|",
            r"enregistré|écrit (?:\p{L}+ )?que)",
        ),
        "disait|dit|disent|peut|pourrait",
    ],
    past: &[
        "était|étaient|étais|avait|avaient|avais|étions|avions|faisait|allait|voulait|habitait|\
         habitais|travaillait|travaillais|pleuvait|vivait|vivais|fut|naquit|mourut|depuis",
        concat!(
            r"(?:(?:jl?)?ai|as|a|avons|avez|ont|suis|chuis|es|est|sommes|êtes|sont)(?: ",
            r"(?:pas|plus|jamais|déjà|enfin|tout|bien|été|juste|aussi|toujours|y|tous|toutes|",
            r"\p{L}+ment))* (?:<participle>)",
        ),
    ],
    ahead: &[],
    // Other past forms, and words that look like them.
    open: &[r"\p{L}{3,}(?:ait|aient|ais)"],
    participle: concat!(
        r"fait|faite|faits|mis|mise|pris|prise|appris|compris|né|née|nés|mort|morte|eu|été|lu|vu|",
        r"vue|su|pu|bu|dit|écrit|ouvert|offert|reçu|perdu|vendu|rendu|venus?|venues?|revenus?|",
        r"revenue|tenu|couru|cru|dû|plu|vécu|entendu|descendu|partis?|partie|sortis?|sortie|fini|",
        r"choisi|dormi|réussi|accompli|rempli|grandi|\p{L}{2,}(?:é|ée|és|ées)",
    ),
    irregular: "",
    personal: "elles?|ils|je|j['’]\\p{L}+|on|nous|mon|ma|mes|notre|nos|me|m['’]\\p{L}+|tu|ton|ta",
    impersonal: "il (?:fait|y|pleut|neige)|c['’]est|ça|est|sont",
    conjunctions: "et|mais|donc|car|ou|puis",
    rule: TenseRule::PastFirst,
    spaced: true,
};

pub(in crate::text::time) const VOCABULARY: DateVocabulary = DateVocabulary {
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
        ("jours?", CalendarUnit::Day),
        ("semaines?", CalendarUnit::Week),
        ("week[- ]?ends?", CalendarUnit::Weekend),
        ("mois", CalendarUnit::Month),
        ("ans?|années?", CalendarUnit::Year),
        ("décennies?", CalendarUnit::Decade),
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
        ("avant[- ]hier(?: soir| matin)?", PatternMeaning::Day(-2)),
        (
            "hier(?: soir| matin| après-midi| midi| dans la nuit)?|la nuit dernière",
            PatternMeaning::Day(-1),
        ),
        ("aujourd['’]hui|ce soir|ce matin|cet après-midi|ce midi", PatternMeaning::Day(0)),
        ("après[- ]demain(?: soir| matin| après-midi)?", PatternMeaning::Day(2)),
        ("demain en huit", PatternMeaning::Day(8)),
        ("demain(?: soir| matin| après-midi| midi)?", PatternMeaning::Tomorrow),
        (
            "il y a (?:environ |à peu près |presque |plus de |bientôt |tout juste )?six mois",
            PatternMeaning::MonthsAway(-6),
        ),
        ("il y a un an et demi", PatternMeaning::MonthsAway(-18)),
        (
            "il y a (?:environ |à peu près |presque |plus de |bientôt |tout juste )?huit jours",
            PatternMeaning::Day(-7),
        ),
        ("dans (?:environ )?quinze jours", PatternMeaning::WeeksAway(2)),
        ("il y a (?:environ )?quinze jours", PatternMeaning::WeeksAway(-2)),
        (
            "il y a (?:environ |à peu près |presque |plus de |bientôt |tout juste )?une \
             quinzaine(?: de jours)?",
            PatternMeaning::WeeksAway(-2),
        ),
        (
            "(?:il y a|ça fait) (?:environ |à peu près |presque |plus de |bientôt |tout juste \
             )?{n} {unit}",
            PatternMeaning::Ago,
        ),
        ("dans six mois", PatternMeaning::MonthsAway(6)),
        ("dans huit jours|aujourd['’]hui en huit", PatternMeaning::Day(7)),
        ("dans une quinzaine(?: de jours)?", PatternMeaning::WeeksAway(2)),
        ("dans (?:environ |à peu près )?{n} {unit}", PatternMeaning::InUnits),
        ("aujourd['’]hui en quinze", PatternMeaning::Day(14)),
        ("dans une huitaine(?: de jours)?", PatternMeaning::WeeksAway(1)),
        (
            "(?:le )?{nth} {wd} (?:de |d['’]|du mois de |du mois d['’]){mon}(?: {y})?",
            PatternMeaning::NthWeekday,
        ),
        ("{wd} en huit", PatternMeaning::WeekdayAnd(1)),
        ("{wd} en quinze", PatternMeaning::WeekdayAnd(2)),
        ("(?:le )?{wd} de la semaine (?:dernière|passée)", PatternMeaning::WeekdayOf(-1)),
        ("(?:le )?{wd} de la semaine prochaine", PatternMeaning::WeekdayOf(1)),
        ("la semaine prochaine,? {wd}", PatternMeaning::WeekdayOf(1)),
        ("(?:le )?{wd} de cette semaine", PatternMeaning::WeekdayOf(0)),
        (
            "{wd} (?:dernier|passé)(?: soir| matin| après-midi)?",
            PatternMeaning::Weekday(NamedStep::Last),
        ),
        (
            "{wd} (?:prochain|qui vient)(?: soir| matin| après-midi)?",
            PatternMeaning::Weekday(NamedStep::Next),
        ),
        ("ce {wd}(?: soir| matin| après-midi)?", PatternMeaning::Weekday(NamedStep::This)),
        (
            "(?:l['’]|le |la )?{unit} (?:d['’]avant l['’]avant|avant-dernière?)",
            PatternMeaning::Unit(-2),
        ),
        ("l['’]avant-dernière? {unit}", PatternMeaning::Unit(-2)),
        ("(?:l['’]|le |la )?{unit} (?:derni[eè]re?|passée?)", PatternMeaning::Unit(-1)),
        ("(?:l['’]|le |la )?{unit} (?:prochaine?|qui vient)", PatternMeaning::Unit(1)),
        ("(?:cette|cet|ce) {unit}(?:-ci)?", PatternMeaning::Unit(0)),
        (
            "(?:l['’]|le |à l['’]|au )?{season} (?:dernier|passé)",
            PatternMeaning::Season(NamedStep::Last),
        ),
        ("(?:l['’]|le |à l['’]|au )?{season} prochain", PatternMeaning::Season(NamedStep::Next)),
        ("(?:cet|ce) {season}", PatternMeaning::Season(NamedStep::This)),
        ("(?:en |au |à l['’]|l['’]|le ){season} {y}", PatternMeaning::Season(NamedStep::Tense)),
        ("(?:en|au) {season}(?: de {y})?", PatternMeaning::Season(NamedStep::Tense)),
        ("(?:en )?{mon} dernier", PatternMeaning::Month(NamedStep::Last)),
        ("(?:en )?{mon} prochain", PatternMeaning::Month(NamedStep::Next)),
        ("{feast} derni[eè]re?", PatternMeaning::Feast(NamedStep::Last)),
        (
            "(?:du|entre le|les|le) {d} ?(?:au|et le|et|ou le|ou|[-–]) ?{d2} {mon}(?: {y})?",
            PatternMeaning::Date,
        ),
        ("(?:du|entre le) {d} {mon} (?:au|et le) {d2} {mon2}(?: {y})?", PatternMeaning::Date),
        (
            "(?:(?:le|au|du|dès le|jusqu['’]au|depuis le|avant le|pour le|vers le) )?(?:{anywd},? \
             )?(?:le )?{d} {mon}(?:,? {y})?",
            PatternMeaning::Date,
        ),
        ("(?:le|au|dès le|jusqu['’]au|depuis le|avant le) {d}", PatternMeaning::DayOfMonth),
        (
            "(?:(?:le|dès le|jusqu['’]au|depuis le|avant le) )?{wd},? (?:le )?{d}",
            PatternMeaning::DayOfMonth,
        ),
        (
            "(?:à la |en )?(?P<part>début|courant|mi-|mi |fin|fin de|milieu|\
             milieu de) ?{mon}(?: {y})?",
            PatternMeaning::Month(NamedStep::Tense),
        ),
        (
            "(?:à la )?(?:fin|début) (?:de l['’]année|d['’]année)",
            PatternMeaning::This(CalendarUnit::Year),
        ),
        ("(?:à la |en )?fin (?:du|de) mois", PatternMeaning::This(CalendarUnit::Month)),
        (
            "(?:tout le mois de|en|depuis|dès|jusqu['’]en|pour|d['’]ici|courant|avant|\
             à partir de|au mois de|au \
             mois d['’]) ?{mon}(?: {y})?",
            PatternMeaning::Month(NamedStep::Tense),
        ),
        ("{mon} {y}", PatternMeaning::Month(NamedStep::Tense)),
        ("(?:en|depuis|depuis l['’]année|début|fin|jusqu['’]en|avant) {y}", PatternMeaning::Year),
        ("(?:à|pour|depuis|le|au|à la) ?{feast}(?: {y})?", PatternMeaning::Feast(NamedStep::Tense)),
        ("depuis {wd}", PatternMeaning::Weekday(NamedStep::Last)),
        ("{wd}(?: soir| matin| après-midi| midi)?", PatternMeaning::Weekday(NamedStep::Tense)),
    ],
    habits: "je suis née?|quand j['’]avais|chaque|tous les|toutes les|toujours|parfois|souvent|\
        jamais|d['’]habitude|anniversaire|(?:ma|ta|sa) fête|\
        le lundi|le mardi|le mercredi|le jeudi|le vendredi|le samedi|le dimanche",
    day_words: &[("premier", 1)],
    mornings: "",
    goes_on: "et|mais|ou|à|je|j['’]\\p{L}+|on|nous|il|elle|ils|elles|vous|tu|c['’]est|avec|chez|\
        en|pour|parce|car|quand|de ce mois|si|donc|puis|dans|au|aux|sur|le|la|les",
    rejected: &[
        concat!(
            r"(?:chaque|un|tous les|quelque|le|premier|deuxième|troisième|quatrième|dernier|même) ",
            r"(?:{anywd})$",
        ),
        // It is a count: "trois semaines à partir de demain".
        concat!(
            r"(?:{unit}) (?:à (?:partir|compter) (?:de |d['’])|après |avant )(?:après[- ]|avant[- ",
            r"])?(?:demain|hier|aujourd['’]hui)$",
        ),
    ],
    counted: "euros|heures|h|kilomètres|km|personnes|minutes|mètres|fois|degrés|kilos|pour cent|%",
    day_first: true,
};
