//! Word classes of general English that the rules test for. Each list stands here and nowhere else;
//! a word may be in several.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::verbs::{Form, forms};

/// A set of word classes, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::generate::facts) struct Class(u32);

impl Class {
    /// Is any of the classes of `other` in this set?
    pub(in crate::generate::facts) fn has(self, other: Class) -> bool {
        self.0 & other.0 != 0
    }
}

/// What is known of a word: its classes, and which form of which verb it is.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::generate::facts) struct Word {
    pub(in crate::generate::facts) class: Class,
    pub(super) verb: Option<(&'static str, Form)>,
}

static WORDS: LazyLock<HashMap<String, Word>> = LazyLock::new(|| {
    let mut words: HashMap<String, Word> = HashMap::new();
    for (form, verb) in forms() {
        words.insert(form, Word { class: Class::default(), verb: Some(verb) });
    }
    for (class, list) in LISTS {
        for word in list.split_ascii_whitespace() {
            words.entry(word.to_owned()).or_default().class.0 |= class.0;
        }
    }
    words
});

/// Looks a word up, in lower case; a word that is nowhere has no class.
pub(in crate::generate::facts) fn word(lower: &str) -> Word {
    WORDS.get(lower).copied().unwrap_or_default()
}

/// Is the word in a list of words separated by white space?
pub(super) fn within(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split_ascii_whitespace().any(|entry| entry == word)
}

/// Openers that carry no statement: greetings, backchannels, connectives, discourse adverbs.
pub(super) const OPENERS: Class = Class(1 << 0);
/// Words that make a statement a supposition.
pub(super) const SUPPOSING: Class = Class(1 << 1);
/// Openers of a subordinate clause that ends at a comma.
pub(super) const SUBORDINATING: Class = Class(1 << 2);
/// Adverbs that may stand between subject and verb; those in [`FILLERS`] are left out of the
/// statement.
pub(super) const ADVERBS: Class = Class(1 << 3);
/// Adverbs that add nothing to a statement.
pub(super) const FILLERS: Class = Class(1 << 4);
/// Adverbs that make a habit of a present-tense statement.
pub(super) const FREQUENCY: Class = Class(1 << 5);
/// Relatives, partners, friends, pets and the like: "my ... Anna".
pub(super) const RELATIONS: Class = Class(1 << 6);
/// Plural relations, which take no name but have numbers and traits.
pub(super) const RELATIONS_PLURAL: Class = Class(1 << 7);
/// Relations of which a person has one at a time.
pub(super) const PARTNERS: Class = Class(1 << 8);
/// What people are by profession, where the ending of the word does not say so.
pub(super) const PROFESSIONS: Class = Class(1 << 9);
/// Nouns that make "has a ..." a statement about health.
pub(super) const HEALTH: Class = Class(1 << 10);
/// Nouns that make "has a ..." a date in the diary.
pub(super) const APPOINTMENTS: Class = Class(1 << 11);
/// Nouns that make "has a ..." a lasting possession.
pub(super) const POSSESSIONS: Class = Class(1 << 12);
/// Heads of objects that say nothing by themselves.
pub(super) const VAGUE: Class = Class(1 << 13);
/// Words that no statement can end with.
pub(super) const DANGLING: Class = Class(1 << 14);
/// Nouns of employment, by which "left my ..." is about work.
pub(super) const JOB_NOUNS: Class = Class(1 << 15);
/// Verbs after "to" that make a plan vague.
pub(super) const VAGUE_PLANS: Class = Class(1 << 16);
/// Imperatives that open a step of a procedure.
pub(super) const IMPERATIVES: Class = Class(1 << 17);
/// Words for a failure.
pub(super) const PROBLEMS: Class = Class(1 << 18);
/// Common nouns, verbs and the like that open sentences with a capital letter but name nobody.
pub(in crate::generate::facts) const COMMON_OPENERS: Class = Class(1 << 19);
/// Languages, for "speaks ...".
pub(super) const LANGUAGES: Class = Class(1 << 20);
/// Past forms that open a report without its subject: "Moved to Lyon last week."
pub(super) const REPORTING: Class = Class(1 << 22);
/// Words that, after a comma, begin something that is not part of the statement.
pub(super) const BREAKING: Class = Class(1 << 23);
/// Base forms that go on about the same subject after "and": "I live in Lisbon and work at ...".
pub(super) const COORDINATE: Class = Class(1 << 25);
/// Adjectives that make a thing no more specific.
pub(super) const PLAIN: Class = Class(1 << 24);
/// Openers of an adverbial of time.
pub(super) const TIME_OPENERS: Class = Class(1 << 21);

const LISTS: [(Class, &str); 26] = [
    (COORDINATE, "work live study teach"),
    (
        REPORTING,
        "got moved bought visited went quit finished joined started adopted won met broke signed attended booked",
    ),
    (
        BREAKING,
        "check look see but so which who because though although while where when then if thanks thank right haha not just too actually honestly ok okay huh even hopefully maybe perhaps \
     please yeah yes no like especially as since still never plus yet nor what how btw by for it with you except always only also lol dude man mate of at which",
    ),
    (
        PLAIN,
        "crazy bad wild rough hectic busy really new big good great nice amazing awesome little long few whole best such cool lovely wonderful fun tough hard same own super very right next huge special \
     different important positive quick small first",
    ),
    (
        TIME_OPENERS,
        "last this next yesterday tonight earlier every one a the two three few recently once some early late monday tuesday wednesday thursday friday saturday sunday \
     january february march april may june july august september october november december half back years year months",
    ),
    (
        OPENERS,
        "hey hi hello yo hiya oh ah aww wow woah whoa ooh haha hah lol well so and but also plus anyway anyways yeah yes yep yup \
     sure ok okay right absolutely definitely totally exactly indeed thanks thank cheers congrats cool nice great awesome amazing sorry no nope nah btw fyi actually \
     honestly basically luckily fortunately unfortunately sadly thankfully finally apparently eventually anyhow then still besides though alright hmm um uh ugh phew \
     yay ha gosh man dude personally currently lately recently meanwhile speaking just now today otherwise oops guess what news update morning evening same too because \
     since 'cause cause as that's ya by the way good to be honest in fact of course as you know mean for record turns out first second third lastly additionally furthermore moreover",
    ),
    (
        SUPPOSING,
        "if unless maybe perhaps suppose supposing imagine wish hopefully whether pretend assuming might could would should wonder wondering",
    ),
    (
        SUBORDINATING,
        "when whenever after before since while as during with without in at on for because though although once until despite besides apart from about due thanks to along inspired like",
    ),
    (
        ADVERBS,
        "just really also always never recently finally actually still already currently now usually often absolutely totally truly even only \
     both all definitely kinda sorta probably mostly mainly basically officially eventually soon once sometimes rarely secretly especially first literally honestly quite \
     personally strictly normally generally particularly lately regularly typically hardly barely seriously simply luckily sadly unfortunately fortunately obviously \
     certainly specifically ever too genuinely accidentally happily proudly successfully long much mainly almost nearly too once twice recently so",
    ),
    (
        FILLERS,
        "just actually finally honestly literally basically kinda sorta really totally absolutely definitely even seriously simply luckily sadly \
     unfortunately fortunately obviously certainly truly genuinely happily so already",
    ),
    (
        FREQUENCY,
        "always usually often regularly sometimes rarely never normally typically generally mostly every daily weekly weekends mornings evenings nights",
    ),
    (
        RELATIONS,
        "sister brother mother mom mum mommy father dad daddy son daughter wife husband partner spouse fiancé fiancée fiance fiancee girlfriend \
     boyfriend friend bestie buddy mate aunt uncle auntie cousin niece nephew grandmother grandma granny nana grandfather grandpa granddad grandson granddaughter \
     stepmother stepfather stepmom stepdad stepson stepdaughter stepsister stepbrother twin sibling child kid baby boss manager supervisor colleague coworker co-worker \
     neighbour neighbor roommate flatmate housemate landlord landlady teacher professor tutor coach mentor doctor dentist therapist trainer assistant student pupil dog \
     puppy pup cat kitten kitty hamster rabbit bunny parrot horse pony turtle tortoise lizard snake fish goldfish bird budgie guinea-pig pig goat godmother godfather \
     goddaughter godson in-law mother-in-law father-in-law sister-in-law brother-in-law son-in-law daughter-in-law ex ex-wife ex-husband ex-boyfriend ex-girlfriend",
    ),
    (
        RELATIONS_PLURAL,
        "parents kids children sons daughters sisters brothers siblings twins grandparents grandchildren grandkids cats dogs pets puppies \
     kittens cousins nieces nephews stepkids stepchildren turtles fish hamsters rabbits chickens hens horses birds roommates in-laws",
    ),
    (PARTNERS, "wife husband partner spouse fiancé fiancée fiance fiancee girlfriend boyfriend"),
    (
        PROFESSIONS,
        "nurse chef cook doctor vet surgeon dentist student freelancer lawyer attorney architect engineer developer programmer designer writer \
     author editor journalist translator interpreter teacher professor lecturer tutor coach trainer instructor scientist researcher physicist chemist biologist psychologist \
     therapist counselor counsellor accountant auditor analyst consultant manager director ceo cto cfo founder co-founder entrepreneur owner banker broker cashier waiter \
     waitress barista bartender baker butcher farmer gardener carpenter plumber electrician mechanic builder driver pilot captain sailor soldier officer firefighter paramedic \
     policeman policewoman detective pharmacist optician librarian archivist historian musician singer pianist guitarist violinist composer dancer actor actress director \
     producer photographer painter sculptor illustrator artist florist hairdresser stylist tailor model clerk secretary receptionist assistant intern apprentice trainee \
     postdoc principal headteacher nanny babysitter caretaker janitor cleaner guard judge politician diplomat economist statistician mathematician astronomer geologist \
     realtor salesman saleswoman salesperson marketer recruiter blogger streamer youtuber podcaster adjuster inspector surveyor technician operator administrator sysadmin \
     veterinarian midwife physiotherapist nutritionist dietitian volunteer mentor activist curator conservator beekeeper potter welder mason roofer courier",
    ),
    (
        HEALTH,
        "asthma diabetes allergy allergies migraine migraines arthritis adhd autism epilepsy eczema anxiety depression insomnia cancer anemia anaemia \
     dyslexia endometriosis psoriasis tinnitus vertigo scoliosis hypertension celiac coeliac intolerance condition gastritis ulcer concussion fever flu pneumonia surgery operation \
     diagnosis injury",
    ),
    (
        APPOINTMENTS,
        "appointment interview exam test meeting wedding flight surgery operation check-up checkup deadline presentation audition game match race tournament \
     performance concert recital trip reunion competition conference baby",
    ),
    (
        POSSESSIONS,
        "car house flat apartment bike bicycle motorbike motorcycle boat van truck garden allotment piano guitar violin cello drum drums keyboard collection tattoo tattoos \
     degree masters phd license licence blog podcast channel shop store studio company business cabin cottage farm greenhouse telescope camera",
    ),
    (
        VAGUE,
        "it this that these those thing things stuff something anything everything nothing lot lots bit fun blast time times chance luck way ways idea ideas \
     one ones some any more most enough you your yours he she they them him how what when where why who such feeling feelings moment moments vibe vibes sight look looks \
     here there myself yourself sound sounds energy point question part much so same kind words word attitude spirit support mess ton tons couple place \
     spot pic picture photo everyone everybody someone somebody anyone nobody people others another somewhere anywhere steps step back out up down mind sense note deal progress \
     success goal goals dream dreams experience experiences break care best lead bed sleep role long hard well better good great",
    ),
    (
        DANGLING,
        "a an the to of with and or but so that for at in on by from into about my their his her our your as than is are was were be been has have had will \
     which who because when while where if like not no very really too's just also some any's",
    ),
    (
        JOB_NOUNS,
        "job work company firm position post role internship career practice agency office team startup",
    ),
    (
        VAGUE_PLANS,
        "be know say see hear keep tell thank ask do get have stay let feel think wish share talk chat remember hang show look focus sound call wait hope \
     believe focus mention point stop help catch come forget understand",
    ),
    (
        IMPERATIVES,
        "run use type click open set add install restart press select choose enter execute call delete remove rename copy paste download upload edit \
     create enable disable export import build deploy push pull check mix stir bake fry boil simmer chop soak rinse heat preheat pour whisk knead let go turn put take start stop hold plug unplug",
    ),
    (
        PROBLEMS,
        "error errors bug fails failed failing failure crash crashes crashed crashing broken broke exception timeout timeouts hangs hung stuck panics panicked leak leaks leaking refused \
     denied missing corrupt corrupted freezes froze problem issue outage wrong",
    ),
    (
        COMMON_OPENERS,
        "i a an the this that these those my our your his her its their he she it we they you who what when where why how which there here and but or so \
     if then also still just now today tomorrow yesterday yes no not never always maybe perhaps once after before during while since until although though because as at by for from \
     in into of on onto over to with without about above below between under up down out off all any both each every few many more most much other some such only own same too very \
     can could will would shall should may might must do does did done has have had having is are was were be been being am get gets got go goes going went make makes made take \
     takes took work works worked live lives lived like likes liked love loves loved enjoy enjoys enjoyed prefer prefers preferred hate hates hated want wants wanted plan plans planned hope hopes hoped \
     need needs needed use uses used see sees saw seen say says said tell tells told think thinks thought know knows knew feel feels felt give gives gave find finds found keep keeps \
     kept start starts started stop stops stopped try tries tried visit visits visited attend attends attended buy buys bought move moves moved decide decides decided join joins \
     joined study studies studied learn learns learned finish finishes finished user users assistant friend friends family mother father sister brother wife husband son daughter partner \
     someone everyone people things one two three four five six seven eight nine ten first second third last next new old good great best favorite favourite problem solution decision \
     run set add open click install please thanks thank hello hi hey well oh okay ok yeah wow let lets mr mrs ms dr monday tuesday wednesday thursday friday saturday sunday january \
     february march april may june july august september october november december",
    ),
    (
        LANGUAGES,
        "english french german spanish italian portuguese dutch russian polish ukrainian czech swedish norwegian danish finnish greek turkish arabic hebrew persian farsi hindi urdu \
     bengali tamil telugu thai vietnamese indonesian malay chinese mandarin cantonese japanese korean swahili catalan romanian hungarian bulgarian croatian serbian irish welsh esperanto latin",
    ),
];
