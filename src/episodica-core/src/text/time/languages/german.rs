//! German: expressions of time, past verb forms, and the date format.

use crate::text::time::calendar::CalendarUnit;
use crate::text::time::grammar::{
    DateVocabulary, FEW, NamedStep, PatternMeaning, TenseRule, TenseSigns,
};
use crate::text::time::holidays::Holiday;

pub(in crate::text::time) const TENSE: TenseSigns = TenseSigns {
    shadows: &[
        "heute|bitte|seite|weite",
        r"wie \p{Ll}+t",
        r"(?:nächste|letzte|erste|zweite|dritte|beste|könnte|möchte|sollte|müsste|hätte)\w*",
    ],
    intentions: &[
        // A state or an appointment in the form of the perfect tense.
        concat!(
            r"(?:ist?|sind|bin)s?\b.*?\b(?:geplant|vorgesehen|angesetzt|terminiert|eingeladen|",
            r"angemeldet|gebucht|verabredet|verschoben|geschlossen|geöffnet|ausgebucht|gesperrt|",
            r"verreist|verhindert|verplant|beschäftigt|krankgeschrieben|beurlaubt|notiert|",
            r"eingetragen|vorgemerkt|vermerkt|gespeichert)",
        ),
        // A date that is called off or moved was to come: "Der Termin am 20. ist abgesagt".
        r"(?:ist?|sind|wurde|wurden)s?\b.*?\b(?:abgesagt|storniert|umgebucht|verschoben|verlegt)",
        r"(?:hab|habe|haben)\b.*?\bfür$",
        concat!(
            r"(?:muss|müssen|soll|sollen|will|wollen|werde|wird|werden|bekomm\p{Ll}*|krieg\p{Ll}*)",
            r"\b.*?\b(?:<participle>)(?: haben| sein| werden)?",
        ),
        r"(?:hab|habe|haben)\b.*?\btermin (?:bekommen|gekriegt|gemacht)",
    ],
    arranged: &[concat!(
        r"(?:ha(?:b|t|st|m)\p{Ll}{0,3}|bin|sind)\b.*?\b(?:angemeldet|gebucht|reserviert|",
        r"gemietet|eingeladen|versprochen|verabredet|vereinbart|eingeschrieben|",
        r"registriert|zugesagt|ausgemacht|",
        r"(?:tickets|karten|fahrkarten)\b.*?\b(?:gekauft|besorgt|geholt))",
    )],
    purposes: "für|fürs|zu|zum|zur|nach|auf",
    doubts: &[
        concat!(
            r"ha(?:b|t|st|m)\p{Ll}{0,3}\b.*?\b(?:gesagt|gemeint|erzählt|gehört|gefragt|erwähnt|",
            r"notiert|eingetragen|vorgemerkt|vermerkt|gemerkt|aufgeschrieben|freigehalten)",
        ),
        "(?:gesagt|gemeint|erzählt|gehört) (?:hab|habe|hat|haben)",
        "sagte|meinte|erzählte|fragte|sagt|meint|kann|könnt|können",
        // A participle without its verb: "Samstag Oma besucht".
        concat!(
            r"(?-i:(?:(?:an|auf|aus|ab|ein|mit|um|vor|zu|los|weg)?ge\p{Ll}{2,}(?:t|en)|",
            r"(?:ver|er|ent|zer|be)\p{Ll}{2,}t))(?: am)? *$",
        ),
    ],
    past: &[
        "war|waren|warst|wart|hatte|hatten|hattest|wurde|wurden|gab|ging|gingen|kam|kamen|fuhr|\
         fuhren|flog|flogen|fand|fanden|sah|sahen|traf|trafen|zog|zogen|bekam|bekamen|blieb|\
         blieben|begann|fing|starb|rief|lief|liefen|verlor|gewann|wusste|konnte|konnten|\
         musste|mussten|wollte|wollten|durfte|brachte|dachte|machte|machten|kaufte|kauften|\
         wohnte|wohnten|arbeitete|lernte|lernten|besuchte|besuchten|feierte|feierten|heiratete|\
         heirateten|spielte|reiste|reisten|startete|landete|kündigte|verkaufte|verkauften|\
         bestellte|mietete|regnete|schneite|passierte|dauerte|endete|stellte|holte|zeigte|fiel|\
         fielen|saß|saßen|stand|standen|ließ|hielt|nahm|nahmen|sprach|brach|schlief|aß|aßen|\
         trank|las|schrieb|schrieben",
        // Also before a clitic: "hats", "wars".
        concat!(
            r"(?:ha(?:b|t|st|m)\p{Ll}{0,3}|(?:bin|bist|ist|is|sind|seid)(?:e?s|e)?)\b.*?\b",
            r"(?:<participle>)",
        ),
        "(?:war|gab|ging|kam|fand|sah|wurde|hatte|fing|rief|stand|lief|musste|wollte|konnte)s",
        "(?:ver|be|er|ent|ge)(?:ließ|hielt|stand|fiel|nahm|sprach|ging|trug)(?:en)?|lag|lagen",
        "(?:<participle>) (?:hab|habe|hast|hat|haben|habt|bin|bist|ist|sind|seid|worden)",
        // "Habe … liegen lassen": the infinitive of these verbs stands for their participle.
        concat!(
            r"(?:hab|habe|hast|hat|haben|habt)\b.*?\b\p{Ll}{2,}n ",
            r"(?:lassen|müssen|sollen|wollen|dürfen|sehen|hören)",
        ),
        "seit|damals",
    ],
    ahead: &[],
    // Other past forms, and words that look like them.
    open: &[r"(?-i:\p{Ll}{3,}te)"],
    participle: concat!(
        r"(?:auf|um|ein|an|aus|ab|zu|weg|mit|vor|nach|her|hin|los|zurück|zusammen|weiter|fest|",
        r"kennen|statt|teil|weh|frei|krank|bei|durch|heim|rein|raus|runter|hoch|kaputt|",
        r"fertig)?ge\p{Ll}{2,}(?:t|en|an)|\p{Ll}{3,}iert|(?:ver|er|ent|zer|miss|be|über|unter|",
        r"wieder)\p{Ll}{2,}(?:t|en)|\p{Ll}+gemacht|um\p{Ll}*gezogen|angefangen|umgebaut|getan|",
        r"gewesen",
    ),
    irregular: "",
    personal: "ich|wir|er|sie|mein\\w*|unser\\w*|mich|mir|uns|du|dein\\w*",
    impersonal: "es|man|gibt|ist|sind",
    conjunctions: "und|aber|denn|oder|doch|weil|dass",
    rule: TenseRule::PastFirst,
    spaced: true,
};

pub(in crate::text::time) const VOCABULARY: DateVocabulary = DateVocabulary {
    months: [
        "januar|jänner|jan\\.",
        "februar|feber|feb\\.",
        "märz",
        "april|apr\\.",
        "mai",
        "juni",
        "juli",
        "august|aug\\.",
        "september|sept?\\.",
        "oktober|okt\\.",
        "november|nov\\.",
        "dezember|dez\\.",
    ],
    weekdays: [
        "montag",
        "dienstag",
        "mittwoch",
        "donnerstag",
        "freitag",
        "samstag|sonnabend",
        "sonntag",
    ],
    units: &[
        ("tag(?:e|en)?", CalendarUnit::Day),
        ("wochen?", CalendarUnit::Week),
        ("wochenenden?", CalendarUnit::Weekend),
        ("monat(?:e|en|s)?", CalendarUnit::Month),
        ("jahr(?:e|en|es|s)?", CalendarUnit::Year),
        ("jahrzehnt(?:e|en)?", CalendarUnit::Decade),
    ],
    numbers: &[
        (r"ein|eine|einem|einen|einer", 1),
        ("zwei", 2),
        ("drei", 3),
        ("vier", 4),
        ("fünf", 5),
        ("sechs", 6),
        ("sieben", 7),
        ("acht", 8),
        ("neun", 9),
        ("zehn", 10),
        ("elf", 11),
        ("zwölf", 12),
        ("vierzehn", 14),
        ("fünfzehn", 15),
        ("zwanzig", 20),
        ("dreißig", 30),
        ("vierzig", 40),
        ("fünfzig", 50),
        ("ein paar|einigen|wenigen", FEW),
    ],
    seasons: ["frühling|frühjahr", "sommer", "herbst", "winter"],
    feasts: &[
        ("weihnachten", Holiday::Fixed(12, 25)),
        ("heiligabend|heilig abend", Holiday::Fixed(12, 24)),
        ("silvester", Holiday::Fixed(12, 31)),
        ("neujahr", Holiday::Fixed(1, 1)),
        ("nikolaus", Holiday::Fixed(12, 6)),
        ("ostern|ostersonntag", Holiday::Easter(0)),
        ("karfreitag", Holiday::Easter(-2)),
        ("ostersamstag|karsamstag", Holiday::Easter(-1)),
        ("ostermontag", Holiday::Easter(1)),
        ("pfingsten|pfingstsonntag", Holiday::Easter(49)),
        ("pfingstmontag", Holiday::Easter(50)),
        ("christi himmelfahrt", Holiday::Easter(39)),
        ("rosenmontag", Holiday::Easter(-48)),
        ("halloween", Holiday::Fixed(10, 31)),
        ("valentinstag", Holiday::Fixed(2, 14)),
    ],
    patterns: &[
        ("vorvorgestern", PatternMeaning::Day(-3)),
        ("vorgestern(?: abend| nacht| früh| nachmittag| mittag)?", PatternMeaning::Day(-2)),
        (
            "gestern(?: abend| nacht| früh| morgen| nachmittag| mittag| vormittag)?",
            PatternMeaning::Day(-1),
        ),
        // "Acht Tage" from a named day are a week, otherwise seven or eight days.
        ("heute in (?:acht|8) tagen", PatternMeaning::Day(7)),
        ("heute vor (?:acht|8) tagen", PatternMeaning::Day(-7)),
        ("heute vor {n} (?P<unit>tage?n?)", PatternMeaning::Ago),
        ("heute in {n} (?P<unit>tage?n?)", PatternMeaning::InUnits),
        ("morgen in (?:acht|8) tagen", PatternMeaning::Day(8)),
        ("morgen in (?:vierzehn|14) tagen", PatternMeaning::Day(15)),
        ("vor acht tagen", PatternMeaning::WeeksAway(-1)),
        ("in acht tagen", PatternMeaning::InWeeks(1)),
        (
            "heute(?: abend| nacht| früh| morgen| nachmittag| mittag| vormittag)?",
            PatternMeaning::Day(0),
        ),
        ("letzte nacht", PatternMeaning::Day(-1)),
        // The night belongs to two days; its name is that of the later one.
        (
            "nacht (?:vo[nm] {anywd} )?(?:auf|zu|zum) {wd}",
            PatternMeaning::Weekday(NamedStep::Tense),
        ),
        ("überübermorgen", PatternMeaning::Day(3)),
        ("übermorgen(?: abend| früh| nachmittag| mittag| vormittag)?", PatternMeaning::Day(2)),
        ("morgen(?: abend| früh| nachmittag| mittag| vormittag)?", PatternMeaning::Tomorrow),
        (
            "(?:vor|vor etwa|vor ungefähr|vor rund|vor ca\\.|vor gut|vor knapp|vor über|vor mehr \
             als) {n} {unit}",
            PatternMeaning::Ago,
        ),
        ("vor (?:einem halben jahr|einem guten halben jahr)", PatternMeaning::MonthsAway(-6)),
        ("vor (?:anderthalb|eineinhalb) jahren", PatternMeaning::MonthsAway(-18)),
        (
            "(?:in|in etwa|in ungefähr|in rund|in ca\\.|in gut|in knapp) {n} {unit}",
            PatternMeaning::InUnits,
        ),
        ("in einem halben jahr", PatternMeaning::MonthsAway(6)),
        ("(?:am )?{wd} in (?:acht|8) tagen", PatternMeaning::WeekdayAnd(1)),
        ("(?:am )?{wd} in (?:vierzehn|14) tagen", PatternMeaning::WeekdayAnd(2)),
        ("(?:am )?{wd} vor (?:acht|8) tagen", PatternMeaning::WeekdayAgo(1)),
        ("(?:am |der |den )?{nth} {wd} (?:im|des) {mon}s?(?: {y})?", PatternMeaning::NthWeekday),
        (
            "(?:in der )?(?:letzte|letzten|vorige|vorigen|vergangene|vergangenen) woche(?: am)? \
             {wd}",
            PatternMeaning::WeekdayOf(-1),
        ),
        (
            "(?:in der )?(?:nächste|nächsten|kommende|kommenden) woche(?: am)? {wd}",
            PatternMeaning::WeekdayOf(1),
        ),
        ("diese woche(?: am)? {wd}", PatternMeaning::WeekdayOf(0)),
        ("{wd} (?:letzter|voriger|vergangener) woche", PatternMeaning::WeekdayOf(-1)),
        ("{wd} (?:nächster|kommender) woche", PatternMeaning::WeekdayOf(1)),
        ("{wd} (?:dieser) woche", PatternMeaning::WeekdayOf(0)),
        (
            "(?:letzte[nrs]?|letztem|vorige[nrs]?|vorigem|vergangene[nrs]?|vergangenem) {wd}",
            PatternMeaning::Weekday(NamedStep::Last),
        ),
        ("(?:kommende[nrs]?|kommendem) {wd}", PatternMeaning::Weekday(NamedStep::Next)),
        ("(?:nächste[nrs]?|nächstem) {wd}", PatternMeaning::Weekday(NamedStep::NextOrLater)),
        ("vorletzte[nrs]? {wd}", PatternMeaning::WeekdayAgo(1)),
        ("übernächste[nrs]? {wd}", PatternMeaning::WeekdayAnd(1)),
        ("(?:im )?{mon} (?:nächsten|kommenden) jahres", PatternMeaning::MonthOfYear(1)),
        ("(?:im )?{mon} (?:letzten|vorigen|vergangenen) jahres", PatternMeaning::MonthOfYear(-1)),
        ("(?:diese[nrs]?|diesem) {wd}", PatternMeaning::Weekday(NamedStep::This)),
        ("(?:vorletzte[nrs]?|vorletztem) {unit}", PatternMeaning::Unit(-2)),
        ("(?:übernächste[nrs]?|übernächstem) {unit}", PatternMeaning::Unit(2)),
        (
            "(?:letzte[nrs]?|letztem|vorige[nrs]?|vorigem|vergangene[nrs]?|vergangenem) {unit}",
            PatternMeaning::Unit(-1),
        ),
        ("kommende[ns] wochenende", PatternMeaning::This(CalendarUnit::Weekend)),
        ("(?:nächste[nrs]?|nächstem|kommende[nrs]?|kommendem) {unit}", PatternMeaning::Unit(1)),
        ("(?:diese[nrs]?|diesem) {unit}", PatternMeaning::Unit(0)),
        (
            "(?:letzte[nrs]?|letztem|vorige[nrs]?|vergangene[nrs]?|vergangenem) {season}",
            PatternMeaning::Season(NamedStep::Last),
        ),
        (
            "(?:nächste[nrs]?|nächstem|kommende[nrs]?|kommendem) {season}",
            PatternMeaning::Season(NamedStep::Next),
        ),
        ("(?:vorletzte[nrs]?|vorletztem) {season}", PatternMeaning::Season(NamedStep::BeforeLast)),
        ("(?:vorletzte[nrs]?|vorletztem) {mon}", PatternMeaning::Month(NamedStep::BeforeLast)),
        ("(?:vorletzte[nrs]?|vorletztem) {feast}", PatternMeaning::Feast(NamedStep::BeforeLast)),
        ("(?:diese[nrs]?|diesem) {season}", PatternMeaning::Season(NamedStep::This)),
        ("im {season}(?: {y})?", PatternMeaning::Season(NamedStep::Tense)),
        ("(?:letzte[nrs]?|letztem|vergangene[nrs]?) {mon}", PatternMeaning::Month(NamedStep::Last)),
        ("(?:nächste[nrs]?|kommende[nrs]?) {mon}", PatternMeaning::Month(NamedStep::Next)),
        (
            "(?:letzte[nrs]?|letztes|vergangene[nrs]?) {feast}",
            PatternMeaning::Feast(NamedStep::Last),
        ),
        ("(?:nächste[nrs]?|nächstes) {feast}", PatternMeaning::Feast(NamedStep::Next)),
        (
            "(?:vom |von |am |ab dem )?{d}\\.?(?: ?(?:bis(?: zum)?|und|oder|/|[-–]) \
             ?){d2}\\. ?{mon}(?: {y})?",
            PatternMeaning::Date,
        ),
        (
            "(?:vom |von )?{d}\\. ?{mon}(?: ?bis(?: zum)? ?| ?[-–] ?){d2}\\. ?{mon2}(?: {y})?",
            PatternMeaning::Date,
        ),
        (
            "(?:vom |von |am )?{d}\\.{m}\\.(?: ?(?:bis(?: zum)?|und|[-–]) ?){d2}\\.{m2}\\.",
            PatternMeaning::Date,
        ),
        (
            "(?:(?:am|vom|zum|bis|bis zum|ab|ab dem|seit|seit dem|der|den|dem|für den|auf den) \
             )?(?:(?:nächsten|kommenden|diesen|letzten|vergangenen) )?\
             (?:{anywd},? (?:de[nmr] |am )?)?{d}\\. ?{mon}(?:,? {y})?",
            PatternMeaning::Date,
        ),
        (
            "(?:am|vom|zum|bis|ab|seit|bis zum|für den|auf den|der|den|dem) {d}\\.{m}\\.",
            PatternMeaning::Date,
        ),
        ("(?:am|zum|bis zum|vom|seit dem|ab dem) {d}\\.", PatternMeaning::DayOfMonth),
        (
            "(?:(?:am|zum|bis zum|vom|seit dem|ab dem|den|der) )?{d}\\. (?:des )?(?:letzten|\
             vorigen|vergangenen) monats",
            PatternMeaning::DayOfMonthAway(-1),
        ),
        (
            "(?:(?:am|zum|bis zum|vom|seit dem|ab dem|den|der) )?{d}\\. dieses monats",
            PatternMeaning::DayOfMonthAway(0),
        ),
        (
            "(?:(?:am|zum|bis zum|vom|seit dem|ab dem|den|der) )?{d}\\. (?:des )?(?:nächsten|\
             kommenden) monats",
            PatternMeaning::DayOfMonthAway(1),
        ),
        ("(?:letzten|vergangenen) monat,? am {d}\\.", PatternMeaning::DayOfMonthAway(-1)),
        ("diesen monat,? am {d}\\.", PatternMeaning::DayOfMonthAway(0)),
        ("(?:nächsten|kommenden) monat,? am {d}\\.", PatternMeaning::DayOfMonthAway(1)),
        ("übernächsten monat,? am {d}\\.", PatternMeaning::DayOfMonthAway(2)),
        ("(?:(?:am|bis|ab|seit|vom) )?{wd},? (?:de[nmr] |am )?{d}\\.", PatternMeaning::DayOfMonth),
        ("(?P<part>anfang|mitte|ende) {mon}(?: {y})?", PatternMeaning::Month(NamedStep::Tense)),
        (
            "(?:im|im ganzen|den ganzen|seit|bis|ab|in|vom|zum) {mon}(?: {y})?",
            PatternMeaning::Month(NamedStep::Tense),
        ),
        (
            "(?:anfang|mitte|ende) (?:des jahres|dieses jahres)",
            PatternMeaning::This(CalendarUnit::Year),
        ),
        ("ende des monats", PatternMeaning::This(CalendarUnit::Month)),
        ("{mon} {y}", PatternMeaning::Month(NamedStep::Tense)),
        ("(?:im jahr|im jahre|seit|in|anfang|mitte|ende|bis) {y}", PatternMeaning::Year),
        (
            "(?:an|zu|über|seit|bis|nach|vor) {feast}(?: {y})?",
            PatternMeaning::Feast(NamedStep::Tense),
        ),
        ("(?:am|an|zum) {feast}(?: {y})?", PatternMeaning::Feast(NamedStep::Tense)),
        ("seit {wd}", PatternMeaning::Weekday(NamedStep::Last)),
        (
            "(?:am|ab|bis|bis zum|für|auf|auf den|von|vom|zum) \
             {wd}(?:abend|morgen|mittag|nachmittag|nacht|vormittag)?",
            PatternMeaning::Weekday(NamedStep::Tense),
        ),
        (
            "{wd}(?:abend|morgen|mittag|nachmittag|nacht|vormittag)?",
            PatternMeaning::Weekday(NamedStep::Tense),
        ),
        ("(?:am|fürs|übers) wochenende", PatternMeaning::Weekend),
    ],
    habits: "jede[nrsm]?|alle|immer|meistens|üblicherweise|manchmal|oft|selten|nie|\
        (?:geburts|namens|hochzeits|jahres)tag|(?:all)?jährlich|\
        montags|dienstags|mittwochs|donnerstags|freitags|samstags|sonntags|\
        (?:ich )?(?:bin|wurde)\\b.*?\\bgeboren|als (?:ich|er|sie) \\w+ (?:jahre alt )?war",
    day_words: &[],
    mornings: "guten|am|jeden|der|den|vom|zum|schönen|gegen|diesen",
    goes_on: "und|aber|oder|um|ist|bin|sind|habe|hab|hat|haben|kommt|kommen|mit|wird|werde|werden|\
        war|waren|bis|ab|fliege|fliegen|fahre|fahren|ziehe|ziehen|geht|gehen|beginnt|startet|\
        muss|müssen|soll|will|wir|ich|er|sie|es|dieses|nächsten|letzten|in|im|bei|zu|zum|zur|an|\
        auf|für|nach|feiern|feiert|kam|kamen|wurde|gab|läuft|steht|findet|heiraten|heirate",
    rejected: &[
        concat!(
            r"(?:jede[nrsm]?|ein|einem|einen|irgendein\p{L}*|ersten|zweiten|dritten|vierten|",
            r"(?:darauf)?folgenden|selben|anderen) ",
            r"(?:{anywd})$",
        ),
        // It is a count: "drei Wochen ab morgen".
        r"(?:{unit}) (?:ab|von|nach|vor) (?:heute|(?:über)?morgen|(?:vor)?gestern)$",
    ],
    counted: "Uhr|Euro|Kilometer|km|Prozent|Leute|Personen|Stunden|Minuten|Meter|Tage|Grad|Kilo|kg",
    day_first: true,
};
