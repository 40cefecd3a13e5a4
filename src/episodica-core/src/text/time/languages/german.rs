//! German: expressions of time, past verb forms, and the date format.

use crate::text::time::calendar::{Holiday, Unit};
use crate::text::time::patterns::{FEW, Meaning, Step, Vocabulary};
use crate::text::time::tense::{Rule, Tense};

pub(in crate::text::time) const TENSE: Tense = Tense {
    shadows: &[],
    intentions: &[
        // A state or an appointment in the form of a perfect.
        concat!(
            r"(?:ist|sind|bin)\b.*?\b(?:geplant|vorgesehen|angesetzt|terminiert|eingeladen|",
            r"angemeldet|gebucht|verabredet|verschoben|geschlossen|geöffnet|ausgebucht|gesperrt)",
        ),
        r"(?:hab|habe|haben)\b.*?\bfür$",
        // What is arranged lies ahead.
        concat!(
            r"(?:hab|habe|hast|hat|haben|bin|sind)\b.*?\b(?:angemeldet|gebucht|reserviert|",
            r"gemietet|eingeladen|versprochen|verabredet|vereinbart|eingeschrieben|",
            r"registriert|zugesagt|ausgemacht|",
            r"(?:tickets|karten|fahrkarten)\b.*?\b(?:gekauft|besorgt|geholt))",
        ),
    ],
    past: &[
        "war|waren|warst|wart|hatte|hatten|hattest|wurde|wurden|gab|ging|gingen|kam|kamen|fuhr|\
         fuhren|flog|flogen|fand|fanden|sah|sahen|traf|trafen|zog|zogen|bekam|bekamen|blieb|\
         blieben|begann|fing|starb|rief|schrieb|lief|liefen|verlor|gewann|wusste|konnte|konnten|\
         musste|mussten|wollte|wollten|durfte|brachte|dachte|machte|machten|kaufte|kauften|sagte|\
         wohnte|wohnten|arbeitete|lernte|lernten|besuchte|besuchten|feierte|feierten|heiratete|\
         heirateten|spielte|reiste|reisten|startete|landete|kündigte|verkaufte|verkauften|\
         bestellte|mietete|regnete|schneite|passierte|dauerte|endete|stellte|holte|zeigte|fiel|\
         fielen|saß|saßen|stand|standen|ließ|hielt|nahm|nahmen|sprach|brach|schlief|aß|aßen|\
         trank|las",
        r"(?:hab|habe|hast|hat|haben|habt|bin|bist|ist|sind|seid)\b.*?\b(?:<participle>)",
        "(?:<participle>) (?:hab|habe|hast|hat|haben|habt|bin|bist|ist|sind|seid|worden)",
        "seit|damals",
    ],
    ahead: &[],
    open: &[],
    participle: concat!(
        r"(?:auf|um|ein|an|aus|ab|zu|weg|mit|vor|nach|her|hin|los|zurück|zusammen|weiter|fest|",
        r"kennen|statt|teil|weh|frei|krank|bei|durch|heim|rein|raus|runter|hoch|kaputt|",
        r"fertig)?ge\p{Ll}{2,}(?:t|en|an)|\p{Ll}{3,}iert|(?:ver|er|ent|zer|miss|be|über|unter|",
        r"wieder)\p{Ll}{2,}(?:t|en)|um\p{Ll}*gezogen|angefangen|umgebaut|getan|gewesen",
    ),
    irregular: "",
    conjunctions: "und|aber|denn|oder|doch|weil|dass",
    rule: Rule::PastFirst,
    spaced: true,
};

pub(in crate::text::time) const VOCABULARY: Vocabulary = Vocabulary {
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
        ("tag(?:e|en)?", Unit::Day),
        ("wochen?", Unit::Week),
        ("wochenenden?", Unit::Weekend),
        ("monat(?:e|en|s)?", Unit::Month),
        ("jahr(?:e|en|es|s)?", Unit::Year),
        ("jahrzehnt(?:e|en)?", Unit::Decade),
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
        ("ostermontag", Holiday::Easter(1)),
        ("pfingsten|pfingstsonntag", Holiday::Easter(49)),
        ("pfingstmontag", Holiday::Easter(50)),
        ("christi himmelfahrt", Holiday::Easter(39)),
        ("rosenmontag", Holiday::Easter(-48)),
        ("halloween", Holiday::Fixed(10, 31)),
        ("valentinstag", Holiday::Fixed(2, 14)),
    ],
    patterns: &[
        ("vorvorgestern", Meaning::Day(-3)),
        ("vorgestern(?: abend| nacht| früh| nachmittag| mittag)?", Meaning::Day(-2)),
        (
            "gestern(?: abend| nacht| früh| morgen| nachmittag| mittag| vormittag)?",
            Meaning::Day(-1),
        ),
        ("heute in {n} {unit}", Meaning::InUnits),
        ("heute(?: abend| nacht| früh| morgen| nachmittag| mittag| vormittag)?", Meaning::Day(0)),
        ("letzte nacht", Meaning::Day(-1)),
        ("überübermorgen", Meaning::Day(3)),
        ("übermorgen(?: abend| früh| nachmittag| mittag| vormittag)?", Meaning::Day(2)),
        ("morgen in einer woche", Meaning::Day(8)),
        ("heute in einer woche", Meaning::Day(7)),
        ("morgen(?: abend| früh| nachmittag| mittag| vormittag)?", Meaning::Tomorrow),
        (
            "(?:vor|vor etwa|vor ungefähr|vor rund|vor ca\\.|vor gut|vor knapp|vor über|vor mehr \
             als) {n} {unit}",
            Meaning::Ago,
        ),
        ("vor (?:einem halben jahr|einem guten halben jahr)", Meaning::MonthsAway(-6)),
        ("vor (?:anderthalb|eineinhalb) jahren", Meaning::MonthsAway(-18)),
        (
            "(?:in|in etwa|in ungefähr|in rund|in ca\\.|in gut|in knapp) {n} {unit}",
            Meaning::InUnits,
        ),
        ("in einem halben jahr", Meaning::MonthsAway(6)),
        ("{wd} in einer woche", Meaning::WeekdayAnd(1)),
        ("{wd} in (?:zwei|2) wochen", Meaning::WeekdayAnd(2)),
        (
            "(?:in der )?(?:letzte|letzten|vorige|vorigen|vergangene|vergangenen) woche(?: am)? \
             {wd}",
            Meaning::WeekdayOf(-1),
        ),
        (
            "(?:in der )?(?:nächste|nächsten|kommende|kommenden) woche(?: am)? {wd}",
            Meaning::WeekdayOf(1),
        ),
        ("diese woche(?: am)? {wd}", Meaning::WeekdayOf(0)),
        ("{wd} (?:letzter|voriger|vergangener) woche", Meaning::WeekdayOf(-1)),
        ("{wd} (?:nächster|kommender) woche", Meaning::WeekdayOf(1)),
        ("{wd} (?:dieser) woche", Meaning::WeekdayOf(0)),
        (
            "(?:letzte[nrs]?|letztem|vorige[nrs]?|vorigem|vergangene[nrs]?|vergangenem) {wd}",
            Meaning::Weekday(Step::Last),
        ),
        ("(?:nächste[nrs]?|nächstem|kommende[nrs]?|kommendem) {wd}", Meaning::Weekday(Step::Next)),
        ("(?:diese[nrs]?|diesem) {wd}", Meaning::Weekday(Step::This)),
        ("(?:vorletzte[nrs]?|vorletztem) {unit}", Meaning::Unit(-2)),
        ("(?:übernächste[nrs]?|übernächstem) {unit}", Meaning::Unit(2)),
        (
            "(?:letzte[nrs]?|letztem|vorige[nrs]?|vorigem|vergangene[nrs]?|vergangenem) {unit}",
            Meaning::Unit(-1),
        ),
        ("(?:nächste[nrs]?|nächstem|kommende[nrs]?|kommendem) {unit}", Meaning::Unit(1)),
        ("(?:diese[nrs]?|diesem) {unit}", Meaning::Unit(0)),
        (
            "(?:letzte[nrs]?|letztem|vorige[nrs]?|vergangene[nrs]?|vergangenem) {season}",
            Meaning::Season(Step::Last),
        ),
        (
            "(?:nächste[nrs]?|nächstem|kommende[nrs]?|kommendem) {season}",
            Meaning::Season(Step::Next),
        ),
        ("(?:diese[nrs]?|diesem) {season}", Meaning::Season(Step::This)),
        ("im {season}(?: {y})?", Meaning::Season(Step::Tense)),
        ("(?:letzte[nrs]?|letztem|vergangene[nrs]?) {mon}", Meaning::Month(Step::Last)),
        ("(?:nächste[nrs]?|kommende[nrs]?) {mon}", Meaning::Month(Step::Next)),
        ("(?:letzte[nrs]?|letztes|vergangene[nrs]?) {feast}", Meaning::Feast(Step::Last)),
        ("(?:nächste[nrs]?|nächstes) {feast}", Meaning::Feast(Step::Next)),
        (
            "(?:vom |von )?{d}\\.?(?: ?bis(?: zum)? ?| ?[-–] ?){d2}\\. ?{mon}(?: {y})?",
            Meaning::Date,
        ),
        (
            "(?:(?:am|vom|zum|bis|bis zum|ab|ab dem|seit|seit dem|der|den|dem|für den) \
             )?(?:{anywd},? (?:de[nmr] |am )?)?{d}\\. ?{mon}(?:,? {y})?",
            Meaning::Date,
        ),
        ("(?:am|vom|zum|bis|ab|seit|bis zum) {d}\\.{m}\\.", Meaning::Date),
        ("(?:am|zum|bis zum|vom|seit dem|ab dem) {d}\\.", Meaning::DayOfMonth),
        ("(?:anfang|mitte|ende) {mon}(?: {y})?", Meaning::Month(Step::Tense)),
        ("(?:im|seit|bis|ab|in|vom|zum) {mon}(?: {y})?", Meaning::Month(Step::Tense)),
        ("(?:anfang|mitte|ende) (?:des jahres|dieses jahres)", Meaning::This(Unit::Year)),
        ("ende des monats", Meaning::This(Unit::Month)),
        ("{mon} {y}", Meaning::Month(Step::Tense)),
        ("(?:im jahr|im jahre|seit|in|anfang|mitte|ende|bis) {y}", Meaning::Year),
        ("(?:an|zu|über|seit|bis|nach|vor) {feast}(?: {y})?", Meaning::Feast(Step::Tense)),
        ("(?:am|an|zum) {feast}(?: {y})?", Meaning::Feast(Step::Tense)),
        ("seit {wd}", Meaning::Weekday(Step::Last)),
        (
            "(?:am|ab|bis|bis zum|für|von|vom|zum) \
             {wd}(?:abend|morgen|mittag|nachmittag|nacht|vormittag)?",
            Meaning::Weekday(Step::Tense),
        ),
        ("{wd}(?:abend|morgen|mittag|nachmittag|nacht|vormittag)?", Meaning::Weekday(Step::Tense)),
        ("am wochenende", Meaning::This(Unit::Weekend)),
    ],
    habits: "jede[nrsm]?|alle|immer|meistens|üblicherweise|geburtstag|jährlich|montags|dienstags|\
        mittwochs|donnerstags|freitags|samstags|sonntags",
    day_words: &[],
    mornings: "guten|am|jeden|der|den|vom|zum|schönen|gegen|diesen",
    goes_on: "und|aber|oder|um|ist|bin|sind|habe|hab|hat|haben|kommt|kommen|mit|wird|werde|werden|\
        war|waren|bis|ab|fliege|fliegen|fahre|fahren|ziehe|ziehen|geht|gehen|beginnt|startet|\
        muss|müssen|soll|will|wir|ich|er|sie|es|dieses|nächsten|letzten|in|im|bei|zu|zum|zur|an|\
        auf|für|nach|feiern|feiert|kam|kamen|wurde|gab|läuft|steht|findet|heiraten|heirate",
    rejected: &[r"(?:jede[nrsm]?|ein|einem|einen|irgendein\p{L}*) (?:{anywd})$"],
    counted: "Uhr|Euro|Kilometer|km|Prozent|Leute|Personen|Stunden|Minuten|Meter|Tage|Grad|Kilo|kg",
    day_first: true,
};
