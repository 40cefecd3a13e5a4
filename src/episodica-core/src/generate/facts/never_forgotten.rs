//! Facts that are never proposed for forgetting: names, birthdays and allergies. They are needed
//! rarely, but then they matter.

use crate::fork::ForkLazy;
use crate::model::SemanticMemory;
use crate::text::PhraseTable;

/// The attribute of a fact that states a name.
const NAME: &str = "name";

/// Phrases of such facts, in lower case: of names, birthdays and allergies.
const SAYS: &str = "my name is|name is|is called|is named|are called|goes by\
    |heißt|se llama|me llamo|s'appelle|m'appelle|我叫|名叫|名字|姓名|birthday|birth date\
    |date of birth|born on|born in|was born|geburtstag|geboren|cumpleaños|nacimiento|nací|nació\
    |anniversaire de naissance|date de naissance|né le|née le|né en|née en|生日|出生|生于|allerg\
    |alergi|alérgic|anaphyla|epipen|过敏|過敏|アレルギー";

static PHRASES: ForkLazy<PhraseTable<()>> =
    ForkLazy::new(|| PhraseTable::new(SAYS.split('|').map(|phrase| (phrase, ()))));

/// True if a fact states a name, a birthday or an allergy.
pub fn is_vital(fact: &SemanticMemory) -> bool {
    let text = fact.content.to_lowercase().replace('’', "'");
    fact.attribute == NAME || PHRASES.are_in(&text)
}
