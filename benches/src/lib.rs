//! The kernels that speed depends on, each over the same small material: for criterion (times) and
//! for callgrind (instructions).

use std::sync::Arc;

use episodica_core::clock::{Moment, SystemClock};
use episodica_core::embed::{Embedder, StaticEmbedder, StaticTable};
use episodica_core::ids::Owner;
use episodica_core::index::{MessageIndex, Postings, for_each_term};
use episodica_core::model::Message;
use episodica_core::score::{
    BM25_B, MaxSim, ParsedQuery, WindowedWords, bm25, reciprocal_rank_fusion,
};
use episodica_core::store::{OpenMode, Store, UserStore};

/// Messages in the material.
pub const MESSAGES: usize = 2_000;
/// Messages in one durable append.
pub const APPENDED: usize = 16;

const QUESTION: &str = "When did Ann buy the copper kettle at the market in Lisbon?";
const NOUNS: [&str; 12] = [
    "kettle", "market", "garden", "bridge", "violin", "ticket", "harbour", "lantern", "recipe",
    "puzzle", "window", "orchard",
];
const VERBS: [&str; 8] =
    ["bought", "painted", "lost", "repaired", "visited", "planned", "photographed", "remembered"];

/// A kernel: a name, and what makes it ready to be run again and again.
pub type Kernel = (&'static str, fn() -> Box<dyn FnMut()>);

/// All of them.
pub const KERNELS: [Kernel; 9] = [
    ("terms", terms),
    ("tokenizer", tokenizer),
    ("embedder", embedder),
    ("bm25", plain_bm25),
    ("windowed_bm25", window_bm25),
    ("late_interaction", late_interaction),
    ("fusion", fusion),
    ("log_append", log_append),
    ("recovery", recovery),
];

fn text(number: usize) -> String {
    let (noun, other, verb) = (NOUNS[number % 12], NOUNS[number * 7 % 12], VERBS[number * 5 % 8]);
    format!(
        "I {verb} the {noun} number {number} near the {other} yesterday, and then we talked about \
         it for an hour, didn't we?"
    )
}

fn messages(count: usize) -> Vec<Arc<Message>> {
    let start = Moment::new(1_700_000_000_000_000, 0).expect("in range");
    let one = |number: usize| {
        Arc::new(Message {
            message_id: format!("m{number}"),
            seq: number as u64,
            role: "user".into(),
            name: Some(if number.is_multiple_of(2) { "Ann" } else { "Ben" }.into()),
            content: text(number),
            timestamp: start,
            session_id: Some(format!("s{}", number / 10).into()),
            agent_id: None,
            metadata: None,
            edited_at: None,
        })
    };
    (0..count).map(one).collect()
}

fn index() -> MessageIndex {
    let mut index = MessageIndex::default();
    for message in messages(MESSAGES) {
        let tokens = StaticTable::shared().token_ids(&message.content);
        index.add_message(message, &tokens);
    }
    index
}

fn terms() -> Box<dyn FnMut()> {
    let texts: Vec<String> = (0..100).map(text).collect();
    Box::new(move || {
        let mut bytes = 0;
        texts.iter().for_each(|text| for_each_term(text, |term| bytes += term.text.len()));
        std::hint::black_box(bytes);
    })
}

fn tokenizer() -> Box<dyn FnMut()> {
    let texts: Vec<String> = (0..100).map(text).collect();
    let table = StaticTable::shared();
    Box::new(move || {
        texts.iter().for_each(|text| drop(std::hint::black_box(table.token_ids(text))))
    })
}

fn embedder() -> Box<dyn FnMut()> {
    let texts: Vec<String> = (0..32).map(text).collect();
    Box::new(move || {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        std::hint::black_box(StaticEmbedder.embed_texts(&texts).expect("never fails"));
    })
}

fn plain_bm25() -> Box<dyn FnMut()> {
    let mut postings = Postings::default();
    (0..MESSAGES).for_each(|number| postings.add_record(number as u32, &text(number)));
    let query = ParsedQuery::new(QUESTION, &MessageIndex::default(), StaticTable::shared());
    Box::new(move || {
        (0..50).for_each(|_| drop(std::hint::black_box(bm25(&postings, &query.all_terms, BM25_B))))
    })
}

fn window_bm25() -> Box<dyn FnMut()> {
    let index = index();
    let query = ParsedQuery::new(QUESTION, &index, StaticTable::shared());
    Box::new(move || drop(std::hint::black_box(WindowedWords::of_all(&index, &query.terms))))
}

fn late_interaction() -> Box<dyn FnMut()> {
    let index = index();
    Box::new(move || {
        let mut question = MaxSim::new(StaticTable::shared(), QUESTION);
        let sum: f32 = (0..512).map(|slot| question.score(index.token_ids(slot))).sum();
        std::hint::black_box(sum);
    })
}

fn fusion() -> Box<dyn FnMut()> {
    let lists =
        vec![(0..100).collect::<Vec<u32>>(), (0..100).map(|slot| slot * 37 % 150).collect()];
    Box::new(move || drop(std::hint::black_box(reciprocal_rank_fusion(&lists, 60.0))))
}

fn opened(folder: &std::path::Path) -> UserStore {
    let store = Store::open(folder, OpenMode::ReadWrite, &SystemClock).expect("opens");
    store.open_user(&Owner::new("default", "ann").expect("valid")).expect("opens").0
}

fn log_append() -> Box<dyn FnMut()> {
    let folder = tempfile::tempdir().expect("a folder");
    let user = opened(folder.path());
    let messages = messages(APPENDED);
    Box::new(move || {
        let _keep = &folder;
        user.append_messages(&messages, &[]).expect("appends");
    })
}

fn recovery() -> Box<dyn FnMut()> {
    let folder = tempfile::tempdir().expect("a folder");
    opened(folder.path()).append_messages(&messages(MESSAGES), &[]).expect("appends");
    Box::new(move || drop(std::hint::black_box(opened(folder.path()))))
}
