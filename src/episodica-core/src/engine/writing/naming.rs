//! Names the subject of a statement that does not name it, so that one about another person never
//! reads as one about the user.

use std::borrow::Cow;

use crate::engine::memory::main_speaker::main_speaker;
use crate::engine::memory::view::UserView;
use crate::generate::facts::model::UNNAMED_USER;
use crate::ids::Owner;
use crate::model::clean_name;
use crate::text::words::has_words;

/// The attribute by which the application states how the user is called.
const NAME: &str = "name";

/// The statement, after the name of its subject if the subject is not the user and the statement
/// does not name it: "Tobi: Allergic to hazelnuts."
pub(crate) fn named_statement<'a>(
    view: &UserView,
    owner: &Owner,
    subject: &str,
    statement: &'a str,
) -> Cow<'a, str> {
    let Some(name) = clean_name(subject) else { return Cow::Borrowed(statement) };
    if has_words(statement, &name) || is_user(view, owner, &name) {
        return Cow::Borrowed(statement);
    }
    Cow::Owned(format!("{name}: {statement}"))
}

/// True if a name is the user's: the id, a name that was stated, else that of the main speaker.
fn is_user(view: &UserView, owner: &Owner, name: &str) -> bool {
    let name = name.to_lowercase();
    let user = owner.user.to_lowercase();
    if name == user || UNNAMED_USER.contains(&&*name) {
        return true;
    }
    let current = view.facts.current_slots().filter(|slot| view.is_current(*slot));
    let stated: Vec<String> = current
        .filter_map(|slot| view.facts.get(slot))
        .filter(|fact| fact.attribute == NAME && fact.quote.is_none() && !fact.value.is_empty())
        .filter(|fact| fact.subject.to_lowercase() == user)
        .map(|fact| fact.value.to_lowercase())
        .collect();
    if stated.is_empty() {
        main_speaker(view).is_some_and(|speaker| speaker.to_lowercase() == name)
    } else {
        stated.contains(&name)
    }
}
