//! English: expressions of time, and the verb forms that distinguish past and future.

use crate::text::time::calendar::{Holiday, Unit};
use crate::text::time::lunar::LunarFeast;
use crate::text::time::patterns::{FEW, Meaning, Step, Vocabulary};
use crate::text::time::tense::{Rule, Tense};
use crate::text::vocabulary::ENGLISH_WEEKDAYS;

/// The verb nearest before the date decides, so that "the flat we bought in June is damp" is past.
pub(in crate::text::time) const TENSE: Tense = Tense {
    shadows: &["hundred|indeed|feed|seed|speed|bed|red|wed|shed|weed|exceed|proceed|succeed"],
    intentions: &[
        // An intention reported in the past is still in the future: "decided to move in June".
        concat!(
            r"(?:decided|promised|agreed|planned|offered|hoped|expected|invited|asked|told|",
            r"chose)(?: \w+)? to \w+(?: \w+ed\b)?",
        ),
        concat!(
            r"(?:(?:['’]ve|have|has|had) ",
            r")?(?:booked|scheduled|planned|rescheduled|postponed|reserved|slated|due|moved|",
            r"pushed|tickets|table|appointment)(?: \w+){0,4} (?:for|to|until|till)$",
        ),
        // What is arranged lies ahead, whatever the tense of the arranging.
        concat!(
            r"(?:(?:['’]ve|have|has|had|just|finally|already|i|we|she|he|they) )*(?:signed up|",
            r"signed on|enrolled|registered|booked|reserved|rented|hired|invited|promised|",
            r"entered|arranged|",
            r"(?:got|bought|have) (?:us |me )?(?:\w+ )?tickets|put (?:my|our) names? down|",
            r"got a place)",
            r"(?: [\w'’-]+){0,6}$",
        ),
        "need(?:s|ed)?|excited|interested|supposed",
        // Something that a person "has got" or "was given" is an appointment: "they've given me the
        // 22nd".
        r"['’]ve (?:got|(?:given|offered) (?:me|us))",
        r"(?:have|has) (?:got|(?:given|offered) (?:me|us))",
    ],
    past: &[
        // The verb before an infinitive has the tense: "went to see".
        concat!(
            r"(?:went|came|got|had|wanted|managed|able|used|forgot|failed|tried|needed)(?: \w+)? ",
            r"to \w+",
        ),
        r"(?:should|would|could|might|must|may)(?:n['’]t| not)? have(?: \w+)?",
        r"did(?:n['’]?t)? \w+(?: \w+)?",
        concat!(
            r"(?:have|has|haven['’]?t|hasn['’]?t|hadn['’]?t|['’]ve|['’]d|ive) ",
            r"(?:(?:not|just|already|finally|never|ever|always|all|both|also|even|only|\w+ly) ",
            r")*(?:<participle>|<irregular>)",
        ),
        "['’]s (?:just |already |finally |not |never |always \
)?(?:been|gone|got|had|done|become|taken)",
        "<irregular>",
        r"\w{2,}ed",
        "remember|recall|since|ago",
    ],
    ahead: &[
        r"['’]d (?:love|like|rather|be)",
        "will|won['’]?t|shall|gonna|wanna|gotta|let['’]?s|hope|hoping|plan|plans|planning|soon|\
         ['’]ll|upcoming",
        concat!(
            r"(?:am|is|are|isn['’]?t|aren['’]?t|be|get|gets|getting|being|['’]m|['’]re|im)(?: ",
            r"(?:not|all|both|already|just|also|so|now|still|really|\w+ly))*(?: \w+ing\b)?(?: ",
            r"\w+ed\b)?",
        ),
        "(?:he|she|it|that|there|who|what|when|where|how|here)['’]s",
        "['’]s (?:(?:already|still|not|now|all|just) \
)?(?:on|in|at|due|back|not|out|off|up|over|open|free|set|booked|scheduled|planned|\
supposed|expected|happening|coming|going|getting|having|leaving|moving|starting|\
flying|taking|visiting|arriving|turning|hosting|bringing|doing|working|running|\
seeing|returning|graduating|marrying|retiring|playing|making|staying|giving|\
expecting|planning|throwing|joining|launching|closing|opening)",
        "can|can['’]?t|cannot|could|should|must|may|might|want|wants|have|has|do|does|don['’]?t|\
         doesn['’]?t|['’]ve",
        "starts?|begins?|leaves?|arrives?|fly|flies|comes?|goe?s?|moves?|takes?|gets?|sees?|meets?|\
         finish|finishes|graduates?|retires?|opens|closes|ends|runs|turns|expires|lands|\
         launches|ships|returns|resumes|reopens|hosts|marries",
    ],
    open: &[],
    participle: "been|gone|done|seen|taken|given|become|known|eaten|drunk|driven|flown|written|\
        broken|chosen|grown|fallen|worn|ridden|sung|swum|woken|thrown|spoken|forgotten|gotten|\
        begun|come|run|put|read|set|cut|let|\\w+ed",
    irregular: "was|were|wasn['’]?t|weren['’]?t|did|didn['’]?t|had|hadn['’]?t|went|got|took|met|\
        came|saw|made|said|told|bought|found|felt|gave|left|ran|began|became|spent|thought|knew|\
        ate|drank|drove|flew|wrote|broke|sold|sent|lost|won|paid|kept|held|heard|grew|chose|\
        caught|brought|built|fell|taught|wore|rode|sang|swam|woke|threw|spoke|slept|stood|hid|\
        dug|shot|stole|tore|swore|shook|froze|forgot|led|lent|meant|sat|struck|hung|fed|bled|\
        bit|blew|drew|learnt|dreamt|burnt|quit|bumped|used to",
    conjunctions: "and|but|so|because|then|or",
    rule: Rule::Nearest,
    spaced: true,
};

pub(in crate::text::time) const VOCABULARY: Vocabulary = Vocabulary {
    // Months that are also names or verbs, and all abbreviations, must be capitalised.
    months: [
        "january|(?-i:Jan)\\.?",
        "february|(?-i:Feb)\\.?",
        "(?-i:March|MARCH|Mar)\\.?",
        "(?-i:April|APRIL|Apr)\\.?|april",
        "(?-i:May|MAY)",
        "(?-i:June|JUNE|Jun)\\.?|june",
        "july|(?-i:Jul)\\.?",
        "(?-i:August|AUGUST|Aug)\\.?",
        "september|(?-i:Sept|Sep)\\.?",
        "october|(?-i:Oct)\\.?",
        "november|(?-i:Nov)\\.?",
        "december|(?-i:Dec)\\.?",
    ],
    weekdays: ENGLISH_WEEKDAYS,
    units: &[
        ("days?", Unit::Day),
        ("weeks?", Unit::Week),
        ("weekends?", Unit::Weekend),
        ("months?", Unit::Month),
        ("years?", Unit::Year),
        ("decades?", Unit::Decade),
        ("fortnights?", Unit::Fortnight),
    ],
    numbers: &[
        ("a couple(?: of)?|couple(?: of)?|two", 2),
        ("a few|few|several", FEW),
        ("a dozen|twelve", 12),
        ("an?|one", 1),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("six", 6),
        ("seven", 7),
        ("eight", 8),
        ("nine", 9),
        ("ten", 10),
        ("eleven", 11),
        ("fifteen", 15),
        ("twenty", 20),
        ("thirty", 30),
        ("forty", 40),
        ("fifty", 50),
    ],
    day_words: &[
        ("first", 1),
        ("second", 2),
        ("third", 3),
        ("fourth", 4),
        ("fifth", 5),
        ("sixth", 6),
        ("seventh", 7),
        ("eighth", 8),
        ("ninth", 9),
        ("tenth", 10),
        ("eleventh", 11),
        ("twelfth", 12),
        ("thirteenth", 13),
        ("fourteenth", 14),
        ("fifteenth", 15),
        ("sixteenth", 16),
        ("seventeenth", 17),
        ("eighteenth", 18),
        ("nineteenth", 19),
        ("twentieth", 20),
        ("thirtieth", 30),
    ],
    seasons: ["spring", "summer", "autumn|fall", "winter"],
    feasts: &[
        ("christmas eve|xmas eve", Holiday::Fixed(12, 24)),
        ("christmas day|christmas|xmas", Holiday::Fixed(12, 25)),
        ("boxing day", Holiday::Fixed(12, 26)),
        ("new year['’]?s eve", Holiday::Fixed(12, 31)),
        ("new year['’]?s day|new year['’]?s", Holiday::Fixed(1, 1)),
        ("valentine['’]?s day|valentine['’]?s", Holiday::Fixed(2, 14)),
        ("(?:st\\.?|saint) patrick['’]?s day", Holiday::Fixed(3, 17)),
        ("independence day|the fourth of july", Holiday::Fixed(7, 4)),
        ("halloween", Holiday::Fixed(10, 31)),
        ("bonfire night", Holiday::Fixed(11, 5)),
        ("good friday", Holiday::Easter(-2)),
        ("easter monday", Holiday::Easter(1)),
        ("easter sunday|easter", Holiday::Easter(0)),
        ("black friday", Holiday::Thanksgiving(1)),
        ("thanksgiving day|thanksgiving", Holiday::Thanksgiving(0)),
        ("groundhog day", Holiday::Fixed(2, 2)),
        ("chinese new year|lunar new year", Holiday::Lunar(LunarFeast::NewYear(0))),
    ],
    patterns: &[
        ("(?:the )?(?:day|night) before (?:yesterday|last)", Meaning::Day(-2)),
        ("yesterday(?: morning| afternoon| evening| night)?", Meaning::Day(-1)),
        ("last (?:night|evening)", Meaning::Day(-1)),
        ("(?:a|one) week (?:from )?today|today week", Meaning::Day(7)),
        ("(?:two weeks|a fortnight) (?:from )?today", Meaning::Day(14)),
        ("today|tonight|this (?:morning|afternoon|evening)", Meaning::Day(0)),
        ("(?:the )?day after tomorrow", Meaning::Day(2)),
        ("(?:a|one) week (?:from )?tomorrow|tomorrow week", Meaning::Day(8)),
        ("(?:two weeks|a fortnight) (?:from )?tomorrow", Meaning::Day(15)),
        ("tomorrow(?: morning| afternoon| evening| night)?", Meaning::Day(1)),
        ("half a year (?:ago|back)", Meaning::MonthsAway(-6)),
        ("a year and a half (?:ago|back)", Meaning::MonthsAway(-18)),
        ("half a decade ago", Meaning::MonthsAway(-60)),
        ("in half a year", Meaning::MonthsAway(6)),
        ("{n} {unit} ago (?P<today>today|yesterday)", Meaning::AgoToTheDay),
        ("{n} {unit} (?:ago|back)", Meaning::Ago),
        ("{n}(?: or | to | ?[-–] ?){n2} {unit} ago", Meaning::Ago),
        ("in {n} {unit}(?:['’]s?)?(?: time)?", Meaning::InUnits),
        ("{n} {unit} from (?:now|today)", Meaning::In),
        ("(?:the )?(?:last|past|previous) {n} {unit}", Meaning::Rolling(-1)),
        ("(?:the )?(?:next|coming) {n} {unit}", Meaning::Rolling(1)),
        ("the (?:last|past) {unit}", Meaning::Rolling(-1)),
        ("the (?:next|coming) {unit}", Meaning::Rolling(1)),
        ("(?:the )?{unit} before last", Meaning::Unit(-2)),
        ("(?:the )?{unit} after next", Meaning::Unit(2)),
        ("(?:last|this past|this last|previous) {unit}", Meaning::Unit(-1)),
        ("(?:next|this coming|this next|this upcoming) {unit}", Meaning::Unit(1)),
        ("this {unit}", Meaning::Unit(0)),
        ("(?:the )?(?:start|beginning|middle|end) of (?:the|this) {unit}", Meaning::Unit(0)),
        ("(?:over|at|on|for) the weekend", Meaning::Weekend),
        ("{wd},?(?: of| the)? last week", Meaning::WeekdayOf(-1)),
        ("last week(?:,| on)? {wd}", Meaning::WeekdayOf(-1)),
        ("{wd},?(?: of| the)? (?:next|the following) week", Meaning::WeekdayOf(1)),
        ("next week(?:,| on)? {wd}", Meaning::WeekdayOf(1)),
        ("{wd},?(?: of)? this week", Meaning::WeekdayOf(0)),
        ("this week(?:,| on)? {wd}", Meaning::WeekdayOf(0)),
        ("(?:a|one) week (?:(?:on|from|this|this coming|next|come) )?{wd}", Meaning::WeekdayAnd(1)),
        ("(?:on |by |until |till )?(?:this )?{wd} week", Meaning::WeekdayAnd(1)),
        ("(?:the )?{wd} after next", Meaning::WeekdayAnd(1)),
        (
            "(?:two weeks|a fortnight) (?:(?:on|from|this|this coming) )?{wd}",
            Meaning::WeekdayAnd(2),
        ),
        ("{wd} fortnight", Meaning::WeekdayAnd(2)),
        ("a week last {wd}", Meaning::WeekdayAgo(1)),
        ("(?:the )?{wd} before last", Meaning::WeekdayAgo(1)),
        (
            "(?:last|this past|this last|past) {wd}(?: morning| afternoon| evening| night)?",
            Meaning::Weekday(Step::Last),
        ),
        ("{wd} (?:just )?gone", Meaning::Weekday(Step::Last)),
        (
            "(?:(?:this|the) )?(?:coming|upcoming) {wd}(?: morning| afternoon| evening| night)?",
            Meaning::Weekday(Step::Next),
        ),
        ("this next {wd}", Meaning::Weekday(Step::Next)),
        ("next {wd}(?: morning| afternoon| evening| night)?", Meaning::Weekday(Step::NextOrLater)),
        (
            "(?:on |by |until |till )?this {wd}(?: morning| afternoon| evening| night)?",
            Meaning::Weekday(Step::This),
        ),
        ("(?:last|this past) {swd}", Meaning::Weekday(Step::Last)),
        (
            "since (?:last )?{wd}(?: morning| afternoon| evening| night)?",
            Meaning::Weekday(Step::Last),
        ),
        (
            "(?:(?:on|by|until|till|before|after|from|for|come) )?{wd}(?: morning| afternoon| \
             evening| night| lunchtime)?",
            Meaning::Weekday(Step::Tense),
        ),
        ("(?:on|by|until|till) {swd}", Meaning::Weekday(Step::Tense)),
        ("(?:the )?{nth} {wd} (?:of|in) {mon}(?:,? {y})?", Meaning::NthWeekday),
        ("(?:the )?{nth} (?P<span>week|weekend) (?:of|in) {mon}(?:,? {y})?", Meaning::SpanOfMonth),
        ("last {season}", Meaning::Season(Step::Last)),
        ("next {season}", Meaning::Season(Step::Next)),
        ("this {season}", Meaning::Season(Step::This)),
        ("(?:the )?{season} (?:of |in )?{y}", Meaning::Season(Step::Tense)),
        (
            "(?:in|during|over|since|by|until) (?:the )?(?:early |late )?{season}(?: (?:of )?{y})?",
            Meaning::Season(Step::Tense),
        ),
        ("last {mon}", Meaning::Month(Step::Last)),
        ("next {mon}", Meaning::Month(Step::Next)),
        ("this {mon}", Meaning::Month(Step::This)),
        ("last {feast}", Meaning::Feast(Step::Last)),
        ("next {feast}", Meaning::Feast(Step::Next)),
        ("this {feast}", Meaning::Feast(Step::This)),
        (
            "(?:(?:at|on|for|over|by|until|till|before|after|since|around|during|come) \
             )?{feast}(?:,? (?:of |in )?{y})?",
            Meaning::Feast(Step::Tense),
        ),
        (
            "(?:(?:from|between) )?(?:the )?{d} ?(?:to|until|till|through|and|[-–]) ?(?:the )?{d2} \
             (?:of )?{mon}(?:,? {y})?",
            Meaning::Date,
        ),
        (
            "(?:(?:from|between) )?{mon} (?:the )?{d} ?(?:to|until|till|through|and|[-–]) ?(?:the \
             )?{d2}(?:,? {y})?",
            Meaning::Date,
        ),
        (
            "(?:(?:from|between) )?{mon} {d} ?(?:to|until|till|through|and|[-–]) ?{mon2} {d2}(?:,? \
             {y})?",
            Meaning::Date,
        ),
        (
            "(?:(?:from|between) )?{d} {mon} ?(?:to|until|till|through|and|[-–]) ?{d2} {mon2}(?:,? \
             {y})?",
            Meaning::Date,
        ),
        (
            "(?:in )?{mon},? (?:from|between) the {d} (?:to|until|till|through|and) (?:the \
             )?{d2}(?:,? {y})?",
            Meaning::Date,
        ),
        (
            "(?:from|between) {mon}(?: {y})? (?:to|until|till|through|and) {mon2}(?:,? {y2})?",
            Meaning::Months,
        ),
        (
            "(?:(?:on|by|until|till|since|before|after|from|for|to|around) )?(?:{anywd},? )?(?:the \
             )?{d} (?:of )?{mon}(?:,? (?:of )?{y})?",
            Meaning::Date,
        ),
        (
            "(?:(?:on|by|until|till|since|before|after|from|for|to|around) )?(?:{anywd},? )?{mon} \
             (?:the )?{d}(?:,? ?(?:of )?{y})?",
            Meaning::Date,
        ),
        (r"(?P<mon>may|march|august) (?P<d>\d{1,2})(?:st|nd|rd|th)(?:,? {y})?", Meaning::Date),
        ("(?:(?:on|by|until|till|since|before|after|from|for) )the {d}", Meaning::DayOfMonth),
        ("the {d} of (?:the )?(?P<step>last|this|next) month", Meaning::DayOfMonth),
        (
            "(?:(?:in|since|during|until|till|through|throughout|around|by|before|after) \
             )(?:(?:early|late|mid)[- ])?{mon}(?:,? (?:of )?{y})?",
            Meaning::Month(Step::Tense),
        ),
        (
            "(?:from|for) \
             (?P<mon>january|february|march|july|september|october|november|december)(?: \
             {y})?",
            Meaning::Month(Step::Tense),
        ),
        ("in (?P<mon>may|march|august)(?: {y})?", Meaning::Month(Step::Tense)),
        ("(?:early|late|mid)(?:[- ]| in ){mon}(?:,? {y})?", Meaning::Month(Step::Tense)),
        (
            "(?:the )?(?:start|beginning|middle|end|rest|month|half|part|few days) (?:of|in) \
             {mon}(?:,? {y})?",
            Meaning::Month(Step::Tense),
        ),
        ("(?P<mon>may|march|august) {y}", Meaning::Month(Step::Tense)),
        ("{mon},? (?:of )?{y}", Meaning::Month(Step::Tense)),
        ("(?P<mon>january|february|july|september|october|november|december)", Meaning::MonthName),
        ("the (?P<y>(?:19|20)\\d\\d)", Meaning::YearOf),
        ("{y} ?[-–] ?{y2}", Meaning::Year),
        ("(?:from|between) {y} (?:to|until|and|through) {y2}", Meaning::Year),
        (
            "(?:in|since|during|by|until|till|before|after|from|around|early|late|mid|the year|end \
             of|start of|beginning of)[- ]{y}",
            Meaning::Year,
        ),
        ("(?:the )?{decade}s", Meaning::Decade),
    ],
    habits: "(?:mon|tues|wednes|thurs|fri|satur|sun)day (?:nights|mornings|evenings|afternoons)|\
        (?:mon|tues|wednes|thurs|fri|satur|sun)days|normally|generally|regularly|whenever|\
        once a|twice a|times a|most|every|each|always|usually|often|typically|birthdays?|\
        anniversary|annual|annually|yearly|weekly",
    mornings: "",
    goes_on: "and|but|or|so|with|at|in|on|to|for|from|is|was|are|were|we|i|he|she|they|it|you|this|\
        last|next|when|while|because|before|after|if|as|that|by|until|since|where|my|our|his|her|\
        their|me|us|him|them|too|though|then|now|again|already|here|there|which|who|just|alone|\
        though|out|off",
    rejected: &[
        "(?:black|good|cyber|super|ash|holy|casual|palm|every|each|most|some|any|one|\
another|other|a|girl) (?:{anywd})$",
        concat!(
            r"(?:\w+ed|written|done|made|given|taken|sent|told|drawn|sung) by ",
            r"(?:april|may|june|august)$",
        ),
        r"(?:twenty|thirty|forty|fifty|hundred|thousand)[- ]\w+ \w+ (?:ago|back|from now)$",
        r"(?:new|happy|merry|the|my|our) new year['’]?s?$",
        r"(?:every|each|most|almost every) (?:\w+ )?{feast}$",
    ],
    counted: "miles?|km|kilomet(?:er|re)s?|met(?:er|re)s|feet|people|times|percent|steps|words|\
        dollars|bucks|euros|quid|pounds|calories|pieces|kg|pages|items|points|ways|reps|pm|am|\
        o['’]clock|hours|minutes|days|weeks|months|years|guests|kids|friends",
    day_first: false,
};
