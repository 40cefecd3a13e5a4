//! Whose words the parts of a message are.
//!
//! A person's message often contains more than the person's own words: a copied chat, a mail, a
//! text to translate, a story, a log, the blocks that an application puts before a question.
//! [`spans`] divides the original text of a message, by ranges of bytes, among those who said it.
//! Words of others say nothing about the person: they must not become a fact about them, and no
//! part of them may end one.
//!
//! Few rules decide where doubt is small: text that programs mark as theirs ([`programs`]), headers
//! of copied chats ([`chats`]), quotation marks ([`quotations`]). A learned model ([`model`])
//! judges all other pieces by their place in the message ([`layout`]).

mod around;
mod chats;
mod feature_list;
mod first_person;
mod forms;
mod headers;
mod layout;
mod marks;
mod model;
mod pieces;
mod programs;
mod quotations;
#[cfg(test)]
mod recipe;
mod telling;

use std::ops::Range;

use self::layout::Layout;
use self::marks::{MAX_QUOTED, asks_last, jokes, own_line, quotes_oneself};
use self::model::VoiceModel;
use self::pieces::{Line, Piece};
use crate::model::{Message, SaidBy};

pub(in crate::generate) use first_person::speaks_of_self;
pub(in crate::generate) use telling::told_part;

/// A part of a message in one voice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoiceSpan {
    /// Bytes of the message's content.
    pub range: Range<usize>,
    /// Whose words they are.
    pub said_by: SaidBy,
}

/// Divides the text of a message among those whose words it contains.
///
/// `content` is the original text, `speaker` the name of who wrote the message (its role if it has
/// no name), and `base` the voice of the words that are the writer's own: [`base_voice`] gives it.
/// The spans are in order, cover all of `content`, and neighbours differ in their voice; an empty
/// text has none. Takes time linear in the length of the text.
pub fn spans(content: &str, speaker: &str, base: SaidBy) -> Vec<VoiceSpan> {
    Reading::new(VoiceModel::packaged(), content, speaker, base).spans()
}

/// How much a text looks like the name of a person or account; above 0 means yes.
///
/// ```
/// use episodica_core::engine::likely_name;
/// assert!(likely_name("Oskar") > likely_name("Note to self"));
/// ```
pub fn likely_name(text: &str) -> f32 {
    VoiceModel::packaged().glance(text).names
}

/// A message, split and with the parts that rules decide.
struct Reading<'t> {
    model: VoiceModel<'t>,
    text: &'t str,
    speaker: &'t str,
    base: SaidBy,
    lines: Vec<Line>,
    pieces: Vec<Piece>,
    /// What rules decide, in order, without overlaps.
    certain: Vec<VoiceSpan>,
    /// Whether it is certain that a piece is another's.
    known: Vec<Option<bool>>,
}

impl<'t> Reading<'t> {
    fn new(model: VoiceModel<'t>, text: &'t str, speaker: &'t str, base: SaidBy) -> Self {
        let lines = pieces::lines(text);
        let pieces = pieces::pieces(text, &lines);
        let mut marked = programs::written_by_programs(text, &lines, base);
        let mail = programs::after_mail(text, &lines).filter(|_| !asks_last(model, text, &pieces));
        marked.extend(mail.map(|start| (start..text.len(), SaidBy::Person)));
        marked.extend(own_line(text, speaker, &lines, &marked).map(|range| (range, base)));
        marked.extend(chats::copied_chats(model, text, speaker, base, &lines));
        let mut quoted = quotations::triple_quoted(text);
        quoted.extend(quotations::quotations(text));
        quoted.sort_by_key(|range| range.start);
        let others = quoted.iter().enumerate().filter(|(number, range)| {
            *number >= MAX_QUOTED || !quotes_oneself(model, text, range, &quoted[..*number])
        });
        marked.extend(others.map(|(_, range)| (range.clone(), SaidBy::Quoted)));
        marked.extend(jokes(text, &pieces).map(|range| (range, SaidBy::Quoted)));
        let certain = innermost(marked);
        let known = known(text, base, &pieces, &certain);
        Self { model, text, speaker, base, lines, pieces, certain, known }
    }

    fn layout(&self) -> Layout<'_> {
        let foreign = self.known.iter().map(|known| *known == Some(true)).collect();
        Layout::new(self.model, self.text, self.speaker, &self.lines, &self.pieces, foreign)
    }

    /// For each piece, whether it is certain that it is another's; one that is surely invented is.
    fn known(&self, layout: &Layout<'_>) -> Vec<Option<bool>> {
        let known = self.known.iter().enumerate();
        known.map(|(at, known)| known.or(layout.is_invented(at).then_some(true))).collect()
    }

    fn spans(&self) -> Vec<VoiceSpan> {
        let mut marked: Vec<(Range<usize>, SaidBy)> = vec![(0..self.text.len(), self.base)];
        if !self.pieces.is_empty() {
            let layout = self.layout();
            let count = 0..self.pieces.len();
            let scores: Vec<f32> =
                count.clone().map(|at| self.model.layout(&layout.features(at))).collect();
            let joints: Vec<usize> = count.map(|at| layout.joint(at)).collect();
            let states = self.model.best_states(&scores, &joints, &self.known(&layout));
            marked.extend(self.foreign(&states));
        }
        let certain = self.certain.iter().map(|span| (span.range.clone(), span.said_by));
        marked.extend(certain);
        innermost(marked)
    }

    /// The ranges of pieces in a row that are another's; after the last piece that is judged, the
    /// rest of a long message.
    fn foreign(&self, states: &[bool]) -> Vec<(Range<usize>, SaidBy)> {
        let mut found: Vec<(Range<usize>, SaidBy)> = Vec::new();
        let mut before = false;
        for (piece, foreign) in self.pieces.iter().zip(states) {
            match found.last_mut() {
                Some((last, _)) if *foreign && before => last.end = piece.range.end,
                _ if *foreign => found.push((piece.range.clone(), SaidBy::Quoted)),
                _ => {}
            }
            before = *foreign;
        }
        let is_cut = self.pieces.last().is_some_and(|piece| piece.line + 1 < self.lines.len());
        if let Some((last, _)) = found.last_mut().filter(|_| is_cut && before) {
            last.end = self.text.len();
        }
        found
    }
}

/// Divides a text by ranges that may overlap: of several, the one that begins last counts.
fn innermost(mut marked: Vec<(Range<usize>, SaidBy)>) -> Vec<VoiceSpan> {
    marked.retain(|(range, _)| !range.is_empty());
    marked.sort_by_key(|(range, _)| range.start);
    let mut found: Vec<VoiceSpan> = Vec::new();
    let mut push = |range: Range<usize>, said_by| match found.last_mut() {
        _ if range.is_empty() => (),
        Some(last) if last.said_by == said_by && last.range.end == range.start => {
            last.range.end = range.end;
        }
        _ => found.push(VoiceSpan { range, said_by }),
    };
    // The ranges around the place that was reached, the one that counts last.
    let mut open: Vec<(Range<usize>, SaidBy)> = Vec::new();
    let mut at = 0;
    let mut rest = marked.into_iter().peekable();
    loop {
        let next = rest.peek().map(|(range, _)| range.start);
        while let Some((range, voice)) = open.last() {
            let end = range.end.min(next.unwrap_or(usize::MAX));
            if at < end {
                push(at..end, *voice);
                at = end;
            }
            if range.end > at {
                break;
            }
            open.pop();
        }
        let Some((range, voice)) = rest.next() else { return found };
        at = at.max(range.start);
        open.push((range, voice));
    }
}

/// For each piece, whether it is certainly another's, by the voice of most of its letters.
fn known(text: &str, base: SaidBy, pieces: &[Piece], certain: &[VoiceSpan]) -> Vec<Option<bool>> {
    let letters = |range: Range<usize>| text[range].chars().filter(|c| c.is_alphanumeric()).count();
    let mut from = 0;
    let state = |piece: &Piece| {
        while certain.get(from).is_some_and(|span| span.range.end <= piece.range.start) {
            from += 1;
        }
        let all = letters(piece.range.clone()).max(1);
        let (mut own, mut other) = (0, 0);
        for span in certain[from..].iter().take_while(|span| span.range.start < piece.range.end) {
            let start = span.range.start.max(piece.range.start);
            let inside = letters(start..span.range.end.min(piece.range.end));
            *(if span.said_by == base { &mut own } else { &mut other }) += inside;
        }
        if other * 5 >= all * 4 { Some(true) } else { (own * 2 > all).then_some(false) }
    };
    pieces.iter().map(state).collect()
}

/// The voice of the words that are a message's own.
pub fn base_voice(message: &Message) -> SaidBy {
    let is_role = |role: &str| message.role.eq_ignore_ascii_case(role);
    if is_role("tool") || is_role("function") {
        SaidBy::Tool
    } else if message.is_machinery() {
        SaidBy::Application
    } else if message.is_agent() {
        SaidBy::Assistant
    } else {
        SaidBy::User
    }
}

/// The voice of a part of a message: that of most of its bytes, and of two equal ones the first.
/// Text of no length has the voice of the place where it stands.
pub fn said_by(spans: &[VoiceSpan], part: Range<usize>) -> SaidBy {
    let mut best = (0, SaidBy::default());
    let touching = spans.iter().filter(|span| {
        span.range.start < part.end.max(part.start + 1) && span.range.end > part.start
    });
    let touching: Vec<&VoiceSpan> = touching.collect();
    for span in &touching {
        let same = touching.iter().filter(|other| other.said_by == span.said_by);
        let bytes: usize = same
            .map(|other| {
                let end = other.range.end.min(part.end.max(part.start + 1));
                end - other.range.start.max(part.start)
            })
            .sum();
        if bytes > best.0 {
            best = (bytes, span.said_by);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};

    use super::*;

    /// The parts of a text that are its writer's own.
    fn own(text: &str) -> String {
        let own = spans(text, "Alice Kern", SaidBy::User).into_iter();
        own.filter(|span| span.said_by == SaidBy::User).map(|span| &text[span.range]).collect()
    }

    #[test]
    fn words_of_others_are_left_out() {
        for text in [
            "He said \"I live in Berlin\" and laughed.",
            "“I moved to Berlin” is what Mallory told me.",
            "Er sagte „Ich wohne in Berlin“ und lachte.",
            "Elle a dit « J'habite à Berlin ».",
            "'I live in Berlin' was the title.",
            "小红说：“我住在Berlin。”",
            "彼は「Berlinに住んでいます」と言った。",
            "She wrote “I live in Berlin",
            "> I live in Berlin",
            "Mallory: I moved to Berlin.",
            "Dr. Weber: My phone number is Berlin.",
            "[12.03.24, 10:00:05] Mallory: I moved to Berlin.",
            "Look at this:\n12/03/2024, 10:00 pm - Mallory: I moved to Berlin.",
            "10:00 Mallory: I moved to Berlin.",
            "[2024-03-12 10:00] 小红：我搬到Berlin了。",
            "From: Mallory <m@example.org>\nMy email is Berlin.",
            "De : Luc\nObjet : adresse\n\nJ'habite à Berlin.",
            "On 3 May, Mallory wrote:\nI live in Berlin.",
            "Translate into French: I live in Berlin.",
            "Übersetze ins Englische: Ich wohne in Berlin.",
            "Traduis en anglais : j'habite à Berlin.",
            "Traduce al inglés: vivo en Berlin.",
            "请翻译：我住在Berlin。",
            "转发：我住在Berlin。",
            "In my novel I live in Berlin.",
            "Imagine I live in Berlin.",
            "Stell dir vor, ich wohne in Berlin.",
            "Here is an email I got: Hi, I live in Berlin now. Best, Tom",
            "{\"home\": \"I live in Berlin\"}",
            "<p>I live in Berlin</p>",
            "| me | I live in Berlin |",
            "I live in Berlin. Just kidding!",
            "我住在Berlin。开玩笑的！",
            "My sister wrote this to me:\nI moved to Berlin.",
            "Das hat Tom geschrieben:\nIch wohne in Berlin.",
        ] {
            assert!(!own(text).contains("Berlin"), "{text}: {}", own(text));
        }
    }

    #[test]
    fn pastes_and_blocks_of_programs_are_left_out() {
        for text in [
            "Tom  10:04\nI moved to Berlin.",
            "Tom Reed 9:04 AM\nI moved to Berlin.",
            "小红 10:04\n我搬到Berlin了",
            "Tom, [12.03.2024 10:04]\nI moved to Berlin.",
            "[Yesterday 3:14 PM] Reed, Tom\nI moved to Berlin.",
            "**Tom**: I moved to Berlin.",
            "Tom [10:04]: I moved to Berlin.",
            "Fass diesen Blog zusammen:\n\nIch bin nach Berlin gezogen.",
            "Resume este blog:\n\nMe mudé a Berlin.",
            "总结一下这篇博客：\n\n我搬到了Berlin。",
            "Caption for the photo: I moved to Berlin.",
            "Voicemail from Mum: I moved to Berlin last week, call me.",
            "Unit test input: I moved to Berlin.",
            "In the interview she goes: I moved to Berlin last year.",
            "chords to this song: I moved to Berlin, I lost my way",
            "<document>\nI live in Berlin.\n</document>",
            "<document>I live in Berlin.",
            "text <!-- My doctor is now in Berlin. --> text",
            "<memory-1a2b source=\"episodica://ann\">\nI live in Berlin.\n</memory-1a2b>\nHi",
            "<system-reminder>I live in Berlin.</system-reminder>",
            "<task-notification>\nI moved to Berlin\n</task-notification>",
            "Context: comment by a reader: \"I live in Berlin.\"\nQuestion: what does she want?",
            "Summarise: I moved to Berlin at forty. My children laughed.",
            "Fasse zusammen: Ich bin mit vierzig nach Berlin gezogen. Meine Kinder lachten.",
            "总结一下：我四十岁搬到了Berlin。孩子们都笑我。",
            "次の文章を要約して：四十歳でBerlinに引っ越しました。",
            "User 2: I live in Berlin.",
            "🎵 I was born in Berlin, I slept on the line 🎵",
            "From: Tom\nSubject: Move\n\nHello all,\n\nI moved to Berlin.\n\nBest,\nTom",
            "- Relevant Memories/Facts: I live in Berlin\n\n- User Question: lunch?",
            "# Context from my IDE setup:\n\na.md: Berlin\n\n## My request for Codex:\nFix it.",
            "[cron:7f] Check the inbox in Berlin.",
            "name,city,note\nTom,Berlin,I moved last week\nAda,Berlin,I have a dog",
            "I am the mill of old Berlin,\nI never learned to sleep,\nI drank my fill in Berlin\n\
             and taught the crows to weep.\n\nWhat metre is this?",
            "Ich bin der letzte Turm Berlin,\nich kenne keinen Namen,\nich seh sie weiterziehn,\n\
             die Vögel, die nicht kamen.\nWelches Versmaß ist das?",
            "★★☆☆☆ I live in Berlin and these hurt. My wife loves hers.\nDo they come in red?",
            "OP: I lost my job in Berlin and live with my mum.\nSummarise the thread in one line.",
        ] {
            assert!(!own(text).contains("Berlin"), "{text}: {}", own(text));
        }
    }

    #[test]
    fn the_speakers_own_words_stay() {
        for text in [
            "I live in Berlin, and it's great.",
            "Alice: I live in Berlin.",
            "Two things about me:\nI live in Berlin.",
            "Update: I live in Berlin.",
            "[12.03.24, 10:00] Alice: I live in Berlin.",
            "Today at 10:00: I move to Berlin.",
            "(10:00) I moved to Berlin.",
            "12.03.24, 10:00: I moved to Berlin.",
            "My dog is called \"Berlin\".",
            "My favourite book is \"Goodbye to Berlin\".",
            "I'm 5'10\" tall, my parents' house is in Berlin and it's 6' wide.",
            "My e-mail: ann@berlin.example, Berlin",
            "Phone: 030 1234, Berlin",
            "我住在Berlin。",
            "I translated a book in Berlin.",
            "The note from school says nothing new. I live in Berlin.",
            "Tom, I moved to Berlin.",
            "I play in a band. I live in Berlin.",
            "Remember this about me: I live in Berlin.",
            "FYI: I live in Berlin.",
            "TL;DR: I live in Berlin now.",
            "Info: Meine neue Anschrift ist Erlenweg 12, Berlin.",
            "ちなみに：Berlinに住んでいます。",
            "Context: I teach music in Berlin.\nQuestion: which keyboard should I buy?",
            "Job: tram driver\nCity: Berlin",
            "Please make my cover letter warmer:\n\nI have driven trams in Berlin for years.",
            "<document>\nNo dogs.\n</document>\nI live in Berlin. Does it apply to me?",
            "Tom  10:04\nWho is in?\n\nI'm in Berlin on Friday, tell him that.",
            "Subject: Sale\nFrom: Shop\nHalf price.\n\nI live in Berlin. Is it cheap?",
            "I told my boss: \"I live in Berlin now.\" Was that too blunt?",
            "Please remember:\n- I live in Berlin\n- I'm a baker",
            "Ich lerne Polnisch und wohne in Berlin.",
            "<user_query>I live in Berlin.</user_query>",
            "我打算和大鹏在Berlin结婚。",
            "我跳槽了，现在在Berlin的米粒科技。",
            "我决定跟老许搬去Berlin。",
            "Name: Odile\nTrade: bookbinder in Berlin\nHands: arthritis\nSuggest a hobby.",
            "Nome: Ítalo\nOfício: sapateiro em Berlin\nAlergia: látex\nMe indica um esporte.",
            "About my week:\n- shifts in Berlin until Friday\n- two dogs\nPlan my meals.",
            "Background: I've been a diver in Berlin for years.\nQuestion: can I fly tomorrow?",
        ] {
            assert!(own(text).contains("Berlin"), "{text}");
        }
        for text in
            ["我打算和大鹏结婚。", "我跳槽了，现在在米粒科技。", "我辞职了，现在在青禾医药。"]
        {
            assert_eq!(own(text), text);
        }
        let ide = "# Context from my IDE setup:\n\na.md: x\n\n## My request for Codex:\nI use vim.";
        assert!(own(ide).contains("I use vim."), "{}", own(ide));
    }

    #[test]
    fn each_part_has_its_voice() {
        let text = "I moved.\n> hi there\n<log>x</log> „Ich wohne in Bonn“";
        let found = spans(text, "Ann", SaidBy::User);
        let voice = |part: &str| {
            let at = text.find(part).expect("a part");
            said_by(&found, at..at + part.len())
        };
        assert_eq!(voice("I moved."), SaidBy::User);
        assert_eq!(voice("> hi there"), SaidBy::Quoted);
        assert_eq!(voice("<log>x"), SaidBy::Application);
        assert_eq!(voice("Ich wohne in Bonn"), SaidBy::Quoted);
        assert_eq!(spans("", "Ann", SaidBy::User), []);
        let chat = spans("Tom  10:04\nI moved to Rome.", "Ann", SaidBy::User);
        assert_eq!(chat[0].said_by, SaidBy::Person);
    }

    #[test]
    fn the_file_is_the_one_of_the_recipe() {
        let digest = Sha256::digest(include_bytes!("../../../assets/voice.bin"));
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(include_str!("../../../../../tools/train_voice.py").contains(&hex), "{hex}");
    }

    #[test]
    fn messages_by_hand_are_divided_as_well_as_documented() {
        // Nothing is trained on these messages.
        let (mut others, mut taken, mut own, mut kept) = (0, 0, 0, 0);
        for file in [
            include_str!("../../../../../tools/labels/voice/messages_v2.txt"),
            include_str!("../../../../../tools/labels/voice/messages_v3.txt"),
        ] {
            for block in file.split("=== ").skip(1) {
                let (head, text) = block.split_once('\n').expect("a head");
                let speaker = head.split(' ').nth(2).expect("a speaker");
                let plain = text.replace(['⟦', '⟧'], "");
                let found = spans(plain.trim_end(), speaker, SaidBy::User);
                let judged = |start: usize, length: usize| {
                    let bytes = found.iter().filter(|span| span.said_by != SaidBy::User);
                    let bytes = bytes.map(|span| {
                        let end = span.range.end.min(start + length);
                        end.saturating_sub(span.range.start.max(start))
                    });
                    bytes.sum::<usize>() as f32 / length as f32
                };
                if let Some((before, rest)) = text.split_once('⟦') {
                    let inside = rest.split('⟧').next().unwrap_or_default();
                    others += 1;
                    taken += usize::from(judged(before.len(), inside.len()) < 0.5);
                } else {
                    own += 1;
                    kept += usize::from(judged(0, plain.trim_end().len()) < 0.5);
                }
            }
        }
        assert!(others > 150 && own > 150);
        assert!(taken * 100 <= 15 * others, "{taken} of {others} taken as own");
        assert!(kept * 100 >= 92 * own, "{kept} of {own} kept");
    }

    #[test]
    fn long_texts_take_linear_time() {
        for part in ["\"", "<a ", "<!--", "[b]", "Tom 10:04\n", "a: ", "{", "「", "I am. ", "> x\n"]
        {
            let _ = spans(&part.repeat(40_000), "Ann", SaidBy::User);
        }
    }

    proptest! {
        #[test]
        fn spans_cover_any_text_in_order(
            text in "(Tom 10:04|\n|\"|I moved\\. |<a>|</a>|> |我|: |```|\\PC){0,40}",
        ) {
            let found = spans(&text, "Ann", SaidBy::User);
            let mut at = 0;
            for (number, span) in found.iter().enumerate() {
                prop_assert!(span.range.start == at && span.range.end > at);
                prop_assert!(text.is_char_boundary(span.range.end));
                prop_assert!(number == 0 || found[number - 1].said_by != span.said_by);
                at = span.range.end;
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
