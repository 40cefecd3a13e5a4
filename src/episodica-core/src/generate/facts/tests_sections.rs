//! What is quoted without a model, and in which section of a profile.

use crate::config::MemoryConfig;
use crate::generate::facts::extract_quotes;
use crate::model::MemoryKind::{self, Event, PersonalInfo, Preference, Relationship, WorkHistory};
use crate::model::testing::said;

/// The sections of what is quoted of a text.
fn sections(text: &str) -> Vec<MemoryKind> {
    let message = said(0, "user", Some("Mira"), "2024-03-11T09:30:00+01:00", text);
    let found = extract_quotes(&[message], &MemoryConfig::default());
    found.candidates.iter().map(|one| one.kind).collect()
}

#[test]
fn a_profile_takes_health_rules_and_events_of_life_whatever_their_length_and_date() {
    for (text, section) in [
        ("I have been allergic to nuts since 2009.", PersonalInfo),
        ("I got married in June 2023.", PersonalInfo),
        ("I was diagnosed with coeliac disease on 10 June 2023.", PersonalInfo),
        ("We moved to Turku at the end of April.", PersonalInfo),
        ("My birthday is on 19 November.", PersonalInfo),
        ("Meine neue Telefonnummer ist 0155 240 771.", PersonalInfo),
        ("Ich wohne jetzt in Husum.", PersonalInfo),
        ("Always answer me in Finnish.", PersonalInfo),
        ("Ich bin schwanger.", PersonalInfo),
        ("我们上个月搬到温州了。", PersonalInfo),
        ("Je suis née le 3 avril 1980.", PersonalInfo),
        ("我对青霉素过敏。", PersonalInfo),
        (
            "I have had a severe allergy to sesame ever since a kebab put me in hospital for \
             three nights in 2014, so please check every single sauce.",
            PersonalInfo,
        ),
        ("My daughter was born on 9 January 2024.", Relationship),
        ("Unser Sohn heißt Jasper.", Relationship),
        ("I work as a nurse in Leeds.", WorkHistory),
        ("I started as a porter at the hospital on Monday.", WorkHistory),
        ("Soy enfermera en Burgos.", WorkHistory),
        ("I love sea swimming.", Preference),
    ] {
        assert_eq!(sections(text), [section], "{text}");
    }
    for text in [
        "We moved the call to Thursday.",
        "My appointment at the optician is on Friday at ten.",
        "The roof of the shed leaks again.",
    ] {
        assert!(sections(text).iter().all(|kind| *kind == Event), "{text}: {:?}", sections(text));
    }
}

#[test]
fn emoji_and_tildes_at_the_end_move_no_line() {
    for text in [
        "我对花生过敏",
        "我不吃香菜",
        "I'm allergic to walnuts",
        "Ich vertrage keine Milch",
        "猫アレルギーです",
        "Soy celíaca",
        "Je suis diabétique",
    ] {
        for end in ["~", "～", "😭", " 😭😭", "❤️", " 🙏🏽", "~☺️", "⭐"] {
            assert_eq!(sections(&format!("{text}{end}")), [PersonalInfo], "{text}{end}");
        }
    }
}

#[test]
fn rules_for_the_assistant_stand_in_the_profile() {
    for text in [
        "Always answer in Danish.",
        "Don't ask me about my thesis.",
        "Don't talk to me about my cousin's wedding any more.",
        "Please leave my boss out of this from now on.",
        "Stop offering me recipes with meat.",
        "Keep all replies below five lines.",
        "Sprich mich bitte nie auf mein Gewicht an.",
        "Hör auf, mir Filme zu empfehlen.",
        "No me hables nunca de política.",
        "Deja de sugerirme hoteles.",
        "Ne me parle plus de mon poids.",
        "Arrête de me suggérer des restaurants.",
        "以后别再跟我提减肥的事。",
        "别给我推荐餐馆了。",
        "仕事の話は二度としないでください。",
        "元カノの話はしないで。",
    ] {
        let message = said(0, "user", Some("Mira"), "2024-03-11T09:30:00+01:00", text);
        let found = extract_quotes(&[message], &MemoryConfig::default()).candidates;
        let [one] = &found[..] else { panic!("{text}: {found:?}") };
        assert_eq!(one.kind, PersonalInfo, "{text}");
        assert_eq!(one.quote.as_ref().map(|quote| &*quote.text), Some(text));
        // Full profiles keep them.
        assert!(one.importance > 0.95, "{text}: {}", one.importance);
    }
    for text in [
        "Stop the recording now.",
        "Keep this text under three sentences.",
        "Please don't ask him about work today.",
        "Suggest a restaurant near the station.",
        "Kürze den Absatz auf drei Sätze.",
        "这段别用列表。",
        "Recuérdame mañana la cita.",
        "Rappelle-moi demain le rendez-vous.",
        "明日の会議を思い出させて。",
    ] {
        assert!(sections(text).iter().all(|kind| *kind == Event), "{text}: {:?}", sections(text));
    }
}

/// The words that are quoted of a text.
fn quoted_words(text: &str) -> Vec<String> {
    let message = said(0, "user", Some("Mira"), "2024-03-11T09:30:00+01:00", text);
    let found = extract_quotes(&[message], &MemoryConfig::default()).candidates;
    found.into_iter().filter_map(|one| Some(one.quote?.text)).collect()
}

#[test]
fn a_number_or_name_after_a_line_is_quoted_with_it() {
    for text in [
        "My emergency contact is my cousin. The number is 020 7946 0018.",
        "My sister works as a nurse in Leeds. Her number is 020 7946 0018.",
        "Meine Schwester ist Tierärztin. Die Nummer ist 030 5550 19.",
        "Mi hermana es veterinaria. Su teléfono es el 91 555 77 01.",
    ] {
        assert_eq!(quoted_words(text), [text], "{text}");
    }
    // Words that tell nothing are left out, and no line begins with them.
    for (text, line) in [
        ("I live in Leeds. It was 5 degrees, haha!", "I live in Leeds."),
        ("I get it, Sam. I moved there in 2019.", "I moved there in 2019."),
    ] {
        assert_eq!(quoted_words(text), [line], "{text}");
    }
    let joined = "I have two cats. I've had them since 2019.";
    assert_eq!(quoted_words(joined), [joined]);
}

#[test]
fn lines_about_others_stand_under_people_and_those_about_anybody_nowhere() {
    for text in [
        "My sister is a vet and lives in Graz.",
        "My husband works as a plumber.",
        "Meine Schwester ist Tierärztin.",
        "我姐姐是兽医，住在杭州。",
        "我家有只猫。叫年糕，今年三岁。",
        "Meine Mutter verträgt keinen Fisch.",
        "My aunt is allergic to penicillin.",
        "Mi hermano es diabético.",
        "Mon mari ne mange pas de gluten.",
        "我爸对海鲜过敏。",
    ] {
        assert_eq!(sections(text), [Relationship], "{text}");
    }
    for text in [
        "My mother and I are both allergic to fish.",
        "Mi hermano y yo somos diabéticos.",
        "我和我爸都对海鲜过敏。",
    ] {
        assert_eq!(sections(text), [PersonalInfo], "{text}");
    }
    // Each on its own line of the profile.
    assert_eq!(
        sections("Ayer me mudé a Vigo. Mi hermana es veterinaria."),
        [PersonalInfo, Relationship],
        "not in the section of the sentence before"
    );
    for text in [
        "Tenemos un perro. Se llama Rex y tiene tres años.",
        "We have a dog. Named Rex.",
        "Nous avons un chien. Il s'appelle Rex.",
        "猫を飼っています。名前はモチで、三歳です。",
    ] {
        assert_eq!(sections(text).len(), 1, "{text}: with the sentence that says about whom");
    }
    let alone =
        ["叫年糕，今年三岁。", "Se llama Rex y tiene tres años.", "Heißt Rex und ist drei."];
    for text in alone {
        assert!(sections(text).iter().all(|kind| *kind == Event), "{text}: {:?}", sections(text));
    }
}

#[test]
fn a_scrap_is_quoted_only_as_an_answer() {
    let scraps =
        ["The 20th.", "Yes, on Tuesday.", "42.", "Am Dienstag.", "二十号。", "Le 20.", "In Leeds."];
    for text in scraps {
        assert_eq!(sections(text), [], "{text}");
    }
    let told = ["Allergic to nuts.", "Moved to Bergen yesterday.", "Vegetarian since 2012."];
    for text in told {
        assert_eq!(sections(text).len(), 1, "{text}");
    }
    let day = "2024-03-11T09:30:00+01:00";
    let asked = said(0, "user", Some("Tom"), day, "When do you come?");
    for text in ["The 20th.", "Yes, on Tuesday."] {
        let answer = said(1, "user", Some("Mira"), day, text);
        let found = extract_quotes(&[asked.clone(), answer], &MemoryConfig::default());
        let [one] = &found.candidates[..] else { panic!("{text}: {found:?}") };
        assert_eq!(one.quote.as_ref().and_then(|quote| quote.asked.as_deref()), Some("m0"));
    }
}

#[test]
fn requests_to_forget_and_words_that_tell_nothing_are_not_quoted() {
    for text in [
        "Please forget what I said about my illness.",
        "Please forget that I have asthma.",
        "Vergiss bitte meine Telefonnummer.",
        "Oublie mon adresse, s'il te plaît.",
        "Olvida lo de mi alergia, por favor.",
        "请忘掉我的电话号码。",
        "Please don't keep the information about Nora Feld on file.",
        "I don't want any record of Nora Feld.",
        "I'd prefer you not to remember my salary.",
        "Bitte speichere nichts über Nora Feld.",
        "No guardes nada sobre Nora.",
        "Ne garde rien sur Nora.",
        "请不要保存蒂姆的电话。",
        "ティムの番号を消してください。",
        "Never mind.",
        "I'm home.",
        "我到家了。",
        "You can do it, I believe in you!",
        "Congrats, Lena!",
        "Your kind words mean so much to me.",
        "I'm excited as well!",
        "I've got some news for you!",
        "Something funny happened at work today.",
        "Ich muss dir unbedingt was erzählen!",
        "我有个好消息！",
        "You already know that about me.",
        "Das hab ich dir doch schon gesagt.",
        "Reminder: Beech and Beechwood are two sites, don't mix them up.",
        "Status note for Beech: nothing new, the rules stay as they are.",
    ] {
        assert_eq!(sections(text), [], "{text}");
    }
}
