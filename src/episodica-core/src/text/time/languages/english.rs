//! English: expressions of time, and the verb forms that distinguish past and future.

use crate::text::time::calendar::CalendarUnit;
use crate::text::time::grammar::{
    DateVocabulary, FEW, NamedStep, PatternMeaning, TenseRule, TenseSigns,
};
use crate::text::time::holidays::Holiday;
use crate::text::time::lunar::LunarFeast;
use crate::text::vocabulary::ENGLISH_WEEKDAYS;

/// The verb nearest before the date decides, so "the flat we bought in June is damp" is in the
/// past.
pub(in crate::text::time) const TENSE: TenseSigns = TenseSigns {
    shadows: &[
        "hundred|indeed|feed|seed|speed|bed|red|wed|shed|weed|exceed|proceed|succeed",
        concat!(
            r"(?:the|an?|my|our|your|his|her|their) ",
            r"(?:\w+ed|leave|start|move|close|turn|return|plans?)"
        ),
    ],
    intentions: &[
        "won['’]?t be|won['’]t",
        // An intention that is reported in the past concerns the future: "decided to move in June".
        concat!(
            r"(?:(?:['’]ve|have|has|had)(?: just| already| finally| also)? )?(?:decided|promised|",
            r"agreed|planned|offered|hoped|expected|asked|told|wants?|",
            r"chose|going|about|volunteered)(?: \w+)? to \w+(?: \w+ed\b)?",
        ),
        concat!(
            r"(?:(?:['’]ve|have|has|had) ",
            r")?(?:booked|scheduled|planned|rescheduled|postponed|reserved|slated|due|moved|",
            r"pushed|tickets|table|appointment)(?: \w+){0,4} (?:for|to|until|till)$",
        ),
        // The perfect of a verb of arranging has no time of its own: "I've booked a slot on
        // Friday".
        concat!(
            r"(?:['’]ve|have|has)(?: (?:just|finally|already|also|both))* (?:signed up|enrolled|",
            r"registered|booked|reserved|rented|hired|invited|promised|entered|arranged|",
            r"volunteered|(?:got |bought )?(?:us |me )?(?:\w+ )?tickets|",
            r"put (?:my|our) names? down|got a place)(?: [\w'’-]+){0,12}$",
        ),
        r"(?:was|were|been) (?:thinking|considering)(?: (?:of|about|maybe))? (?:an?|\w+ing)",
        "need(?:s|ed)?|excited|interested|supposed",
        // A date that a person "has got" or "was given" is an appointment: "they've given me the
        // 22nd".
        r"['’]ve (?:(?:also|still|already) )?(?:got|(?:given|offered) (?:me|us))",
        r"(?:have|has) (?:(?:also|still|already) )?(?:got|(?:given|offered) (?:me|us))",
    ],
    arranged: &[concat!(
        r"(?:signed(?: \w+)? up|enrolled|registered|booked|reserved|rented|hired|invited|promised|",
        r"entered|arranged|volunteered|(?:got|bought) (?:us |me )?(?:\w+ )?tickets|",
        r"put (?:my|our) names? down|got a place)(?: [\w'’-]+){0,12}$",
    )],
    purposes: "for|to|into",
    doubts: &[
        "(?:decided|agreed|settled) on$",
        "said|says|told|tells|mentioned|asked|asks|thought|heard|announced|remind(?:s|ed)",
        r"(?:texted|wrote|emailed)(?: \w+)? that",
        // A day that is noted or answered need not have passed: "I've confirmed 3 October".
        concat!(
            r"(?:(?:['’]ve|have|has|had|is|are)(?: \w+)? )?(?:noted|(?:confirmed|suggested|marked|",
            r"proposed|picked|saved|blocked|pencill?ed in|put down|wrote down|written down)(?: off",
            r")?(?: (?:the|\d\w*|(?-i:[A-Z])\w+))?$)",
        ),
        "^(?:got (?:it|that)|agreed|sorted)$",
        // Things that did not happen, or not yet.
        r"(?:was|were) (?:supposed|meant|going|about|due|planning|hoping)",
        r"(?:wanted|hoped|meant) to \w+",
        // "If you spent it in April" tells nothing, nor does "approved as planned".
        r"if \w+ \w+|(?:starting|beginning)",
        r"(?:as|remains?|stays?|keeps?)(?: \w+)? (?:\w+ed|held|kept|set)",
        // "Today is Monday" arranges nothing, and "it is boring" is not a plan.
        "(?:today|tomorrow|yesterday|it|that|this)(?: is|['’]s)$",
        concat!(
            r"(?:am|is|are|['’]m|['’]re|['’]s|im)(?: \w+)? (?:amazing|annoying|boring|charming|",
            r"confusing|exciting|freezing|interesting|missing|nothing|something|stunning|tiring)",
        ),
    ],
    past: &[
        // The verb before an infinitive carries the tense: "went to see".
        concat!(
            r"(?:went|came|got|had|managed|able|used|forgot|failed|tried|needed)(?: \w+)? ",
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
         ['’]ll|upcoming|(?:have|has) to|must|see (?:you|ya|u)|meet (?:me|us|up)|\
         (?:can|could|would|shall) (?:you|we|i|he|she|they|someone|anyone)",
        concat!(
            r"(?:am|is|are|isn['’]?t|aren['’]?t|be|get|gets|['’]m|['’]re|['’]s|im)(?: ",
            r"(?:not|all|both|already|just|also|so|now|still|really|only|\w+ly))* \w+ing(?: ",
            r"\w+ed\b)?",
        ),
        r"(?:get|gets) \w+ed",
        concat!(
            r"(?:am|is|are|['’]m|['’]re|['’]s|im)(?: (?:not|all|both|already|just|also|now|still|",
            r"only|being))* (?:due|back|off|away|closed|set|booked|scheduled|planned|expected|",
            r"supposed|invited|moved|postponed)",
        ),
        // "The exam is on Thursday."
        concat!(
            r"(?:is|are|isn['’]t|aren['’]t|['’]s)(?: (?:not|already|just|only|now|still|free|out|",
            r"open|here))*(?: (?:on|in|at|by|for|from|until|till))?(?: the)?$",
        ),
        // An appointment has an article, unlike a habit: "I have a class", "I have class".
        concat!(
            r"(?:have|has|['’]ve|['’]s)(?: (?:also|still|already|got))* (?:an?|another|my|our|",
            r"his|her|their|two|three) \w+",
        ),
        "starts?|begins?|leaves?|arrives?|fly|flies|comes?|moves?|meets?|finish|finishes|\
         graduates?|retires?|opens|closes|ends|turns|expires|lands|launches|ships|returns|resumes|\
         reopens|hosts|marries|runs out",
    ],
    open: &[
        "am|is|are|isn['’]?t|aren['’]?t|['’]s|['’]m|['’]re|im|its|thats|theres|hes|shes",
        "can|can['’]?t|cannot|could|should|would|may|might|want|wants|have|has|do|does|don['’]?t|\
         doesn['’]?t|['’]ve|['’]d|gets?|go|goes|takes?|runs",
        // An infinitive, not a place: "jam to sell at the fair".
        concat!(
            r"(?-i:to (?:[a-z]+ly )?[a-z]+ (?:at|with|it|them|him|her|me|us|you|the|a|an|my|our|",
            r"their|his|some|this|that|off|up|out|down|over|back))",
        ),
    ],
    participle: "been|gone|done|seen|taken|given|become|known|eaten|drunk|driven|flown|written|\
        broken|chosen|grown|fallen|worn|ridden|sung|swum|woken|thrown|spoken|forgotten|gotten|\
        begun|come|run|put|read|set|cut|let|\\w+ed",
    irregular: "born|was|were|wasn['’]?t|weren['’]?t|did|didn['’]?t|had|hadn['’]?t|went|got|took|\
        met|came|saw|made|bought|found|felt|gave|left|ran|began|became|spent|knew|\
        ate|drank|drove|flew|broke|sold|sent|lost|won|paid|kept|held|grew|chose|\
        caught|brought|built|fell|taught|wore|rode|sang|swam|woke|threw|spoke|slept|stood|hid|\
        dug|shot|stole|tore|swore|shook|froze|forgot|led|lent|meant|sat|struck|hung|fed|bled|\
        bit|blew|drew|rang|wrote|rose|sank|swept|stuck|fought|dealt|laid|learnt|dreamt|burnt|\
         quit|bumped|used to",
    personal: "",
    impersonal: "",
    conjunctions: "and|but|so|because|then|or",
    rule: TenseRule::Nearest,
    spaced: true,
};

pub(in crate::text::time) const VOCABULARY: DateVocabulary = DateVocabulary {
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
        ("days?", CalendarUnit::Day),
        ("weeks?", CalendarUnit::Week),
        ("weekends?", CalendarUnit::Weekend),
        ("months?", CalendarUnit::Month),
        ("years?", CalendarUnit::Year),
        ("decades?", CalendarUnit::Decade),
        ("fortnights?", CalendarUnit::Fortnight),
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
        ("(?:the )?(?:day|night) before (?:yesterday|last)", PatternMeaning::Day(-2)),
        ("yesterday(?: morning| afternoon| evening| night)?", PatternMeaning::Day(-1)),
        ("last (?:night|evening)", PatternMeaning::Day(-1)),
        (
            "(?:in )?{n} {unit}(?:['’]s?)?(?: time)?(?:,? and {n2} days?)? \
             (?P<link>from |after |before )?{base}",
            PatternMeaning::CountedFrom,
        ),
        ("{n} {unit},? and {n2} days? (?P<link>from )(?P<base>now)", PatternMeaning::CountedFrom),
        ("{base} (?P<unit>week|fortnight)", PatternMeaning::CountedFrom),
        ("today|tonight|this (?:morning|afternoon|evening)", PatternMeaning::Day(0)),
        ("(?:the )?day after tomorrow", PatternMeaning::Day(2)),
        ("tomorrow(?: morning| afternoon| evening| night)?", PatternMeaning::Day(1)),
        ("half a year (?:ago|back)", PatternMeaning::MonthsAway(-6)),
        ("a year and a half (?:ago|back)", PatternMeaning::MonthsAway(-18)),
        ("half a decade ago", PatternMeaning::MonthsAway(-60)),
        ("in half a year", PatternMeaning::MonthsAway(6)),
        ("{n} {unit} (?:ago|back)", PatternMeaning::Ago),
        ("{n}(?: or | to | ?[-–] ?){n2} {unit} ago", PatternMeaning::Ago),
        ("in {n} {unit}(?:['’]s?)?(?: time)?", PatternMeaning::InUnits),
        ("{n} {unit} from now", PatternMeaning::In),
        ("(?:the )?(?:last|past|previous) {n} {unit}", PatternMeaning::Rolling(-1)),
        ("(?:the )?(?:next|coming) {n} {unit}", PatternMeaning::Rolling(1)),
        ("the (?:last|past) {unit}", PatternMeaning::Rolling(-1)),
        ("the (?:next|coming) {unit}", PatternMeaning::Rolling(1)),
        ("(?:the )?{unit} before last", PatternMeaning::Unit(-2)),
        ("(?:the )?{unit} after next", PatternMeaning::Unit(2)),
        ("(?:last|this past|this last|previous) {unit}", PatternMeaning::Unit(-1)),
        ("(?:next|this coming|this next|this upcoming) {unit}", PatternMeaning::Unit(1)),
        ("this {unit}", PatternMeaning::Unit(0)),
        ("(?:the )?(?:start|beginning|middle|end) of (?:the|this) {unit}", PatternMeaning::Unit(0)),
        ("(?:over|at|on|for) the weekend", PatternMeaning::Weekend),
        ("{wd},?(?: of| the)? last week", PatternMeaning::WeekdayOf(-1)),
        ("last week(?:,| on)? {wd}", PatternMeaning::WeekdayOf(-1)),
        ("{wd},?(?: of| the)? (?:next|the following) week", PatternMeaning::WeekdayOf(1)),
        ("next week(?:,| on)? {wd}", PatternMeaning::WeekdayOf(1)),
        ("{wd},?(?: of)? this week", PatternMeaning::WeekdayOf(0)),
        ("this week(?:,| on)? {wd}", PatternMeaning::WeekdayOf(0)),
        (
            "(?:a|one) week (?:(?:on|from|this|this coming|next|come) )?{wd}",
            PatternMeaning::WeekdayAnd(1),
        ),
        ("(?:on |by |until |till )?(?:this )?{wd} week", PatternMeaning::WeekdayAnd(1)),
        ("(?:the )?{wd} after next", PatternMeaning::WeekdayAnd(1)),
        (
            "(?:two weeks|a fortnight) (?:(?:on|from|this|this coming) )?{wd}",
            PatternMeaning::WeekdayAnd(2),
        ),
        ("{n} weeks from {wd}", PatternMeaning::WeekdayAnd(1)),
        ("{wd} fortnight", PatternMeaning::WeekdayAnd(2)),
        ("a week last {wd}", PatternMeaning::WeekdayAgo(1)),
        ("(?:the )?{wd} before last", PatternMeaning::WeekdayAgo(1)),
        (
            "(?:last|this past|this last|past) {wd}(?: morning| afternoon| evening| night)?",
            PatternMeaning::Weekday(NamedStep::Last),
        ),
        ("{wd} (?:just )?gone", PatternMeaning::Weekday(NamedStep::Last)),
        (
            "(?:(?:this|the) )?(?:coming|upcoming) {wd}(?: morning| afternoon| evening| night)?",
            PatternMeaning::Weekday(NamedStep::Next),
        ),
        ("this next {wd}", PatternMeaning::Weekday(NamedStep::Next)),
        (
            "next {wd}(?: morning| afternoon| evening| night)?",
            PatternMeaning::Weekday(NamedStep::NextOrLater),
        ),
        (
            "(?:on |by |until |till )?this {wd}(?: morning| afternoon| evening| night)?",
            PatternMeaning::Weekday(NamedStep::This),
        ),
        ("(?:last|this past) {swd}", PatternMeaning::Weekday(NamedStep::Last)),
        (
            "since (?:last )?{wd}(?: morning| afternoon| evening| night)?",
            PatternMeaning::Weekday(NamedStep::Last),
        ),
        (
            "(?:(?:on|by|until|till|before|after|from|for|come) )?{wd}(?: morning| afternoon| \
             evening| night| lunchtime)?",
            PatternMeaning::Weekday(NamedStep::Tense),
        ),
        ("(?:on|by|until|till) {swd}", PatternMeaning::Weekday(NamedStep::Tense)),
        ("(?:the )?{nth} {wd} (?:of|in) {mon}(?:,? {y})?", PatternMeaning::NthWeekday),
        (
            "(?:the )?{nth} (?P<span>week|weekend) (?:of|in) {mon}(?:,? {y})?",
            PatternMeaning::SpanOfMonth,
        ),
        ("(?:the )?{season} before last", PatternMeaning::Season(NamedStep::BeforeLast)),
        ("(?:the )?{mon} before last", PatternMeaning::Month(NamedStep::BeforeLast)),
        ("(?:the )?{feast} before last", PatternMeaning::Feast(NamedStep::BeforeLast)),
        ("last {season}", PatternMeaning::Season(NamedStep::Last)),
        ("next {season}", PatternMeaning::Season(NamedStep::Next)),
        ("this {season}", PatternMeaning::Season(NamedStep::This)),
        ("(?:the )?{season} (?:of |in )?{y}", PatternMeaning::Season(NamedStep::Tense)),
        (
            "(?:in|during|over|since|by|until) (?:the )?(?:early |late )?{season}(?: (?:of )?{y})?",
            PatternMeaning::Season(NamedStep::Tense),
        ),
        ("last {mon}", PatternMeaning::Month(NamedStep::Last)),
        ("next {mon}", PatternMeaning::Month(NamedStep::Next)),
        ("this {mon}", PatternMeaning::Month(NamedStep::This)),
        ("last {feast}", PatternMeaning::Feast(NamedStep::Last)),
        ("next {feast}", PatternMeaning::Feast(NamedStep::Next)),
        ("this {feast}", PatternMeaning::Feast(NamedStep::This)),
        (
            "(?:(?:at|on|for|over|by|until|till|before|after|since|around|during|come) \
             )?{feast}(?:,? (?:of |in )?{y})?",
            PatternMeaning::Feast(NamedStep::Tense),
        ),
        (
            "(?:(?:from|between) )?(?:the )?{d} ?(?:to|until|till|through|and|[-–]) ?(?:the )?{d2} \
             (?:of )?{mon}(?:,? {y})?",
            PatternMeaning::Date,
        ),
        (
            "(?:(?:from|between) )?{mon} (?:the )?{d} ?(?:to|until|till|through|and|[-–]) ?(?:the \
             )?{d2}(?:,? {y})?",
            PatternMeaning::Date,
        ),
        (
            "(?:(?:from|between) )?{mon} {d} ?(?:to|until|till|through|and|[-–]) ?{mon2} {d2}(?:,? \
             {y})?",
            PatternMeaning::Date,
        ),
        (
            "(?:(?:from|between) )?{d} {mon} ?(?:to|until|till|through|and|[-–]) ?{d2} {mon2}(?:,? \
             {y})?",
            PatternMeaning::Date,
        ),
        (
            "(?:in )?{mon},? (?:from|between) the {d} (?:to|until|till|through|and) (?:the \
             )?{d2}(?:,? {y})?",
            PatternMeaning::Date,
        ),
        (
            "(?:from|between) {mon}(?: {y})? (?:to|until|till|through|and) {mon2}(?:,? {y2})?",
            PatternMeaning::Months,
        ),
        (
            "(?:(?:on|by|until|till|since|before|after|from|for|to|around) )?(?:{beside},? )?\
             (?:the \
             )?{d} (?:of )?{mon}(?:,? (?:of )?{y})?",
            PatternMeaning::Date,
        ),
        (
            "(?:(?:on|by|until|till|since|before|after|from|for|to|around) )?(?:{beside},? )?{mon} \
             (?:the )?{d}(?:,? ?(?:of )?{y})?",
            PatternMeaning::Date,
        ),
        (
            r"(?P<mon>may|march|august) (?P<d>\d{1,2})(?:st|nd|rd|th)(?:,? {y})?",
            PatternMeaning::Date,
        ),
        (
            "(?:(?:on|by|until|till|since|before|after|from|for) )the {d}",
            PatternMeaning::DayOfMonth,
        ),
        (
            "(?:(?:on|by|until|till|since|before|after|from|for) )?{wd},? the {d}",
            PatternMeaning::DayOfMonth,
        ),
        ("the {d} of (?:the )?(?P<step>last|this|next) month", PatternMeaning::DayOfMonth),
        ("the {d} of the month after next", PatternMeaning::DayOfMonthAway(2)),
        ("the {d} of the month before last", PatternMeaning::DayOfMonthAway(-2)),
        ("last month,? on the {d}", PatternMeaning::DayOfMonthAway(-1)),
        ("next month,? on the {d}", PatternMeaning::DayOfMonthAway(1)),
        (
            "(?:(?:in|all|whole of|since|during|until|till|through|throughout|around|by|before|\
             after) \
             )(?:(?:early|late|mid)[- ])?{mon}(?:,? (?:of )?{y})?",
            PatternMeaning::Month(NamedStep::Tense),
        ),
        (
            "(?:from|for) \
             (?P<mon>january|february|march|july|september|october|november|december)(?: \
             {y})?",
            PatternMeaning::Month(NamedStep::Tense),
        ),
        ("in (?P<mon>may|march|august)(?: {y})?", PatternMeaning::Month(NamedStep::Tense)),
        (
            "(?:early|late|mid)(?:[- ]| in ){mon}(?:,? {y})?",
            PatternMeaning::Month(NamedStep::Tense),
        ),
        (
            "(?:the )?(?:start|beginning|middle|end|rest|month|half|part|few days) (?:of|in) \
             {mon}(?:,? {y})?",
            PatternMeaning::Month(NamedStep::Tense),
        ),
        ("(?P<mon>may|march|august) {y}", PatternMeaning::Month(NamedStep::Tense)),
        ("{mon},? (?:of )?{y}", PatternMeaning::Month(NamedStep::Tense)),
        (
            "(?P<mon>january|february|july|september|october|november|december)",
            PatternMeaning::MonthName,
        ),
        ("the (?P<y>(?:19|20)\\d\\d)", PatternMeaning::YearOf),
        ("{y} ?[-–] ?{y2}", PatternMeaning::Year),
        ("(?:from|between) {y} (?:to|until|and|through) {y2}", PatternMeaning::Year),
        (
            "(?:in|since|during|by|until|till|before|after|from|around|early|late|mid|the year|end \
             of|start of|beginning of)[- ]{y}",
            PatternMeaning::Year,
        ),
        ("(?:the )?{decade}s", PatternMeaning::Decade),
    ],
    habits: "(?:mon|tues|wednes|thurs|fri|satur|sun)day (?:nights|mornings|evenings|afternoons)|\
        (?:mon|tues|wednes|thurs|fri|satur|sun)days|normally|generally|regularly|whenever|\
        once a|twice a|times a|most|every|each|always|usually|often|typically|sometimes|\
        rarely|never|birthdays?|name ?days?|anniversary|annual|annually|yearly|weekly|\
        i was born|when (?:i|he|she) was \\w+",
    mornings: "",
    goes_on: "and|but|or|so|with|at|in|on|to|for|from|is|was|are|were|we|i|he|she|they|it|you|this|\
        last|next|when|while|because|before|after|if|as|that|by|until|since|where|my|our|his|her|\
        their|me|us|him|them|too|though|then|now|again|already|here|there|which|who|just|alone|\
        though|out|off",
    rejected: &[
        "(?:keep|kept|had|have|has|take|took|want|wanted) (?:{anywd})$",
        "(?:black|good|cyber|super|ash|holy|casual|palm|every|each|most|some|any|one|\
another|other|an?|girl|my|our|your|his|her|their) (?:{anywd})$",
        concat!(
            r"(?:\w+ed|written|done|made|given|taken|sent|told|drawn|sung) by ",
            r"(?:april|may|june|august)$",
        ),
        concat!(
            r"(?:twenty|thirty|forty|fifty|hundred|thousand)[- ]\w+ \w+ (?:ago|back|from now|",
            r"(?:(?:from|after|before) )?(?:today|tomorrow|yesterday))$",
        ),
        // A count that no pattern reads: "sixteen days from today", "6wks tomorrow".
        concat!(
            r"\d*(?:(?:days?|weeks?|wks?|fortnights?|months?|years?|half) (?:from|after|before)|",
            r"days|weeks|wks|fortnights) (?:today|tomorrow|yesterday)$",
        ),
        r"(?:one|(?:second|third|next)[ -](?:to|from)[ -](?:the )?) ?last .*$",
        "the next (?:{anywd})$",
        // It counts from a day that may be this or another one: "three weeks on Monday".
        concat!(
            r"(?:week|fortnight|month|year)s? (?:(?:on|after|before|from|last|past|this|come|",
            r"coming) )?(?:next )?(?:{anywd})$",
        ),
        "(?:following|penultimate|final|first|second|third|fourth|fifth|only|same) (?:{anywd})$",
        r"(?:new|happy|merry|the|my|our) new year['’]?s?$",
        r"(?:every|each|most|almost every) (?:\w+ )?{feast}$",
    ],
    counted: "miles?|km|kilomet(?:er|re)s?|met(?:er|re)s|feet|people|times|percent|steps|words|\
        dollars|bucks|euros|quid|pounds|calories|pieces|kg|pages|items|points|ways|reps|pm|am|\
        o['’]clock|hours|minutes|days|weeks|months|years|guests|kids|friends",
    day_first: false,
};
