//! Statements by table: what a sentence gives, and which sentences give nothing.

use crate::generate::facts::tests::statements;

/// Said on Monday, 11 March 2024, by Alice to Bob.
fn check(rows: &[(&str, &[(&str, &str)])]) {
    for (sentence, expected) in rows {
        let got = statements("Alice", "Bob", "2024-03-11T09:30:00+01:00", sentence);
        let got: Vec<(&str, &str)> =
            got.iter().map(|(kind, content)| (*kind, content.as_str())).collect();
        assert_eq!(got, *expected, "{sentence}");
    }
}

#[test]
fn who_somebody_is() {
    check(&[
        (
            "I moved to Lyon last Friday.",
            &[("personal_info", "Alice moved to Lyon on 8 March 2024.")],
        ),
        (
            "I live in Lisbon and work at Harbour Press.",
            &[
                ("personal_info", "Alice lives in Lisbon."),
                ("work_history", "Alice works at Harbour Press."),
            ],
        ),
        ("I'm from Ghent.", &[("personal_info", "Alice is from Ghent.")]),
        ("I'm 34 years old.", &[("personal_info", "Alice is 34 years old.")]),
        ("I'm 41.", &[("personal_info", "Alice is 41.")]),
        ("My birthday is on 18 March.", &[("personal_info", "Alice's birthday is on 18 March.")]),
        (
            "My phone number is 07700 900141.",
            &[("personal_info", "Alice's phone number is 07700 900141.")],
        ),
        ("My email is ana@example.org.", &[("personal_info", "Alice's email is ana@example.org.")]),
        (
            "My address is 5 Quillfeather Lane.",
            &[("personal_info", "Alice's address is 5 Quillfeather Lane.")],
        ),
        ("I was born in Porto in 1987.", &[("personal_info", "Alice was born in Porto in 1987.")]),
        ("I'm allergic to walnuts.", &[("personal_info", "Alice is allergic to walnuts.")]),
        ("I'm lactose intolerant.", &[("personal_info", "Alice is lactose intolerant.")]),
        ("I'm left-handed.", &[("personal_info", "Alice is left-handed.")]),
        ("I have asthma.", &[("personal_info", "Alice has asthma.")]),
        (
            "I was diagnosed with diabetes last month.",
            &[("personal_info", "Alice was diagnosed with diabetes in February 2024.")],
        ),
        ("My name is Carlos Ortega.", &[("personal_info", "Alice's name is Carlos Ortega.")]),
        (
            "I've got a new number, 07700 900882.",
            &[("personal_info", "Alice has a new number, 07700 900882.")],
        ),
        (
            "I'm still at 12 Marlow Street for now.",
            &[("personal_info", "Alice is still at 12 Marlow Street for now.")],
        ),
        ("I used to live in Bremen.", &[("personal_info", "Alice used to live in Bremen.")]),
        (
            "I've lived in Utrecht since 2019.",
            &[("personal_info", "Alice has lived in Utrecht since 2019.")],
        ),
        (
            "I grew up in a small village near Cork.",
            &[("personal_info", "Alice grew up in a small village near Cork.")],
        ),
        (
            "Moved to Lyon last week.",
            &[("personal_info", "Alice moved to Lyon in the week of 4 March 2024.")],
        ),
        (
            "Hey Bob, I moved to Lyon last Friday, it's lovely here.",
            &[("personal_info", "Alice moved to Lyon on 8 March 2024.")],
        ),
        (
            "I think I'm allergic to penicillin.",
            &[("personal_info", "Alice is allergic to penicillin.")],
        ),
        ("I speak Dutch and Russian.", &[("personal_info", "Alice speaks Dutch and Russian.")]),
        ("In 2019 I moved to Oslo.", &[("personal_info", "Alice moved to Oslo in 2019.")]),
        ("Since 2020 I live in Bergen.", &[("personal_info", "Alice lives in Bergen since 2020.")]),
        ("My blood type is AB.", &[("personal_info", "Alice's blood type is AB.")]),
    ]);
}

#[test]
fn work_and_study() {
    check(&[
        (
            "I work at Siemens as an engineer.",
            &[("work_history", "Alice works at Siemens as an engineer.")],
        ),
        ("I work as a nurse.", &[("work_history", "Alice works as a nurse.")]),
        (
            "I'm a nurse at St Mary's hospital.",
            &[("work_history", "Alice is a nurse at St Mary's hospital.")],
        ),
        (
            "I've been working at the museum since May.",
            &[("work_history", "Alice has been working at the museum since May.")],
        ),
        (
            "I'm working on a book about tides.",
            &[("work_history", "Alice is working on a book about tides.")],
        ),
        (
            "I worked at Bellwether Mutual for six years.",
            &[("work_history", "Alice worked at Bellwether Mutual for six years.")],
        ),
        ("I got promoted yesterday!", &[("work_history", "Alice got promoted on 10 March 2024.")]),
        (
            "I was laid off last week.",
            &[("work_history", "Alice was laid off in the week of 4 March 2024.")],
        ),
        (
            "I quit my job at Bellwether.",
            &[("work_history", "Alice quit their job at Bellwether.")],
        ),
        ("I just quit my job.", &[("work_history", "Alice quit their job.")]),
        ("I study marine biology.", &[("work_history", "Alice studies marine biology.")]),
        ("I'm studying law in Leiden.", &[("work_history", "Alice is studying law in Leiden.")]),
        (
            "I graduated from the University of Oslo in 2015.",
            &[("work_history", "Alice graduated from the University of Oslo in 2015.")],
        ),
        ("I retired last year.", &[("work_history", "Alice retired in 2023.")]),
        ("I teach geography.", &[("work_history", "Alice teaches geography.")]),
        (
            "I started at Thornbury's on Monday.",
            &[("work_history", "Alice started at Thornbury's on 4 March 2024.")],
        ),
        (
            "I run a small bakery by the canal.",
            &[("work_history", "Alice runs a small bakery by the canal.")],
        ),
        (
            "Still a claims adjuster at Bellwether Mutual, still dreaming.",
            &[("work_history", "Alice is still a claims adjuster at Bellwether Mutual.")],
        ),
        ("By the way, I work at Meta now.", &[("work_history", "Alice works at Meta now.")]),
        (
            "I don't work at Google anymore.",
            &[("work_history", "Alice doesn't work at Google anymore.")],
        ),
    ]);
}

#[test]
fn likes_and_habits() {
    check(&[
        ("I love hiking.", &[("preference", "Alice loves hiking.")]),
        ("I really love dark chocolate.", &[("preference", "Alice loves dark chocolate.")]),
        ("I hate cilantro.", &[("preference", "Alice hates cilantro.")]),
        ("I can't stand loud music.", &[("preference", "Alice can't stand loud music.")]),
        ("I prefer tea to coffee.", &[("preference", "Alice prefers tea to coffee.")]),
        ("I don't eat meat.", &[("preference", "Alice doesn't eat meat.")]),
        ("I never drink coffee.", &[("preference", "Alice never drinks coffee.")]),
        ("I'm vegetarian.", &[("preference", "Alice is vegetarian.")]),
        ("I'm a vegan, so no cheese for me.", &[("preference", "Alice is a vegan.")]),
        ("My favourite colour is green.", &[("preference", "Alice's favourite colour is green.")]),
        (
            "My favorite band is Blue Lagoon.",
            &[("preference", "Alice's favorite band is Blue Lagoon.")],
        ),
        ("Dune is my favourite book.", &[("preference", "Dune is Alice's favourite book.")]),
        ("I'm a huge fan of jazz.", &[("preference", "Alice is a huge fan of jazz.")]),
        ("I'm into bouldering.", &[("preference", "Alice is into bouldering.")]),
        ("I'm afraid of heights.", &[("preference", "Alice is afraid of heights.")]),
        ("I'm a morning person.", &[("preference", "Alice is a morning person.")]),
        (
            "I like reading, swimming, and long walks.",
            &[("preference", "Alice likes reading, swimming, and long walks.")],
        ),
        ("I play the cello.", &[("preference", "Alice plays the cello.")]),
        ("I've stopped eating sugar.", &[("preference", "Alice has stopped eating sugar.")]),
        ("I don't like horror films.", &[("preference", "Alice doesn't like horror films.")]),
        (
            "I volunteer at a homeless shelter.",
            &[("preference", "Alice volunteers at a homeless shelter.")],
        ),
        ("I collect old maps.", &[("preference", "Alice collects old maps.")]),
        (
            "Honestly I can't stand crowded trains, they make me dizzy.",
            &[("preference", "Alice can't stand crowded trains.")],
        ),
    ]);
}

#[test]
fn kin_friends_and_pets() {
    check(&[
        (
            "I met my sister Anna at the station.",
            &[
                ("relationship", "Anna is Alice's sister."),
                ("event", "Alice met their sister Anna at the station."),
            ],
        ),
        (
            "My sister Anna works at Siemens.",
            &[
                ("relationship", "Anna is Alice's sister."),
                ("relationship", "Alice's sister Anna works at Siemens."),
            ],
        ),
        (
            "My dog Rex hates thunder.",
            &[
                ("relationship", "Rex is Alice's dog."),
                ("preference", "Alice's dog Rex hates thunder."),
            ],
        ),
        ("My cat's name is Captain.", &[("relationship", "Captain is Alice's cat.")]),
        (
            "My dog is called Bobbin.",
            &[
                ("relationship", "Bobbin is Alice's dog."),
                ("relationship", "Alice's dog is called Bobbin."),
            ],
        ),
        ("I have two kids.", &[("relationship", "Alice has two kids.")]),
        ("I have a twin brother.", &[("relationship", "Alice has a twin brother.")]),
        ("I've got a dog now!", &[("relationship", "Alice has a dog now.")]),
        ("I got married in June.", &[("relationship", "Alice got married in June 2023.")]),
        ("I got engaged on Sunday!", &[("relationship", "Alice got engaged on 10 March 2024.")]),
        ("I'm divorced.", &[("relationship", "Alice is divorced.")]),
        ("I'm single.", &[("relationship", "Alice is single.")]),
        ("My wife is a doctor.", &[("relationship", "Alice's wife is a doctor.")]),
        ("My mum lives in Leeds.", &[("relationship", "Alice's mum lives in Leeds.")]),
        (
            "Leopold and I broke up last Sunday.",
            &[("relationship", "Leopold and Alice broke up on 10 March 2024.")],
        ),
        (
            "My grandma passed away last week.",
            &[("relationship", "Alice's grandma passed away in the week of 4 March 2024.")],
        ),
        ("My partner is pregnant.", &[("relationship", "Alice's partner is pregnant.")]),
        (
            "My neighbour Mrs Adeyemi walks the dog.",
            &[("relationship", "Mrs Adeyemi is Alice's neighbour.")],
        ),
        ("I live with my brother.", &[("relationship", "Alice lives with their brother.")]),
        ("My son is six.", &[("relationship", "Alice's son is six.")]),
        ("My brother is a firefighter.", &[("relationship", "Alice's brother is a firefighter.")]),
        ("My parents live in Cork.", &[("relationship", "Alice's parents live in Cork.")]),
        ("I'm married.", &[("relationship", "Alice is married.")]),
        ("I'm a single mum of two.", &[("relationship", "Alice is a single mum of two.")]),
        (
            "I became a grandmother in April.",
            &[("relationship", "Alice became a grandmother in April 2023.")],
        ),
        (
            "Well, my brother Tom moved to Canada in January.",
            &[
                ("relationship", "Tom is Alice's brother."),
                ("relationship", "Alice's brother Tom moved to Canada in January 2024."),
            ],
        ),
        ("My boss, Teresa, smokes on the roof.", &[("relationship", "Teresa is Alice's boss.")]),
        (
            "I've known my friend Paula since school.",
            &[("relationship", "Paula is Alice's friend.")],
        ),
        ("I don't have any pets.", &[("relationship", "Alice doesn't have any pets.")]),
        ("I'm not married.", &[("relationship", "Alice is not married.")]),
    ]);
}

#[test]
fn what_is_wanted() {
    check(&[
        ("I want to learn Italian.", &[("goal", "Alice wants to learn Italian.")]),
        (
            "I plan to open a bookshop next year.",
            &[("goal", "Alice plans to open a bookshop in 2025.")],
        ),
        (
            "I'm going to run a marathon in October.",
            &[("goal", "Alice is going to run a marathon in October 2024.")],
        ),
        ("I'm saving up for a camper van.", &[("goal", "Alice is saving up for a camper van.")]),
        (
            "I'm training for a half marathon.",
            &[("goal", "Alice is training for a half marathon.")],
        ),
        ("I hope to visit Iceland one day.", &[("goal", "Alice hopes to visit Iceland one day.")]),
        ("I'm learning to play the piano.", &[("goal", "Alice is learning to play the piano.")]),
        (
            "I've applied for a placement in Bergen.",
            &[("goal", "Alice has applied for a placement in Bergen.")],
        ),
        (
            "My goal is to read fifty books this year.",
            &[("goal", "Alice's goal is to read fifty books in 2024.")],
        ),
        ("I'm moving to Madrid in May.", &[("goal", "Alice is moving to Madrid in May 2024.")]),
        ("We're planning a trip to Japan.", &[("goal", "Alice is planning a trip to Japan.")]),
        (
            "I'm flying to Vienna on Saturday.",
            &[("goal", "Alice is flying to Vienna on 16 March 2024.")],
        ),
    ]);
}

#[test]
fn what_took_place() {
    check(&[
        (
            "I went to Rome last week.",
            &[("event", "Alice went to Rome in the week of 4 March 2024.")],
        ),
        (
            "I visited my aunt in Turin yesterday.",
            &[("event", "Alice visited their aunt in Turin on 10 March 2024.")],
        ),
        (
            "I attended a lecture on volcanoes on Monday.",
            &[("event", "Alice attended a lecture on volcanoes on 4 March 2024.")],
        ),
        ("I bought a second-hand bike.", &[("event", "Alice bought a second-hand bike.")]),
        (
            "I adopted a greyhound last Saturday.",
            &[("event", "Alice adopted a greyhound on 9 March 2024.")],
        ),
        (
            "I won second prize at the village show!",
            &[("event", "Alice won second prize at the village show.")],
        ),
        ("I broke my left ankle.", &[("event", "Alice broke their left ankle.")]),
        (
            "I've booked a painting course in Tuscany.",
            &[("event", "Alice has booked a painting course in Tuscany.")],
        ),
        (
            "I signed up for a diving course last week.",
            &[("event", "Alice signed up for a diving course in the week of 4 March 2024.")],
        ),
        ("I joined a choir.", &[("event", "Alice joined a choir.")]),
        (
            "I missed a step last Thursday and broke my ankle.",
            &[("event", "Alice broke their ankle on 7 March 2024.")],
        ),
        (
            "Last night I watched The Godfather.",
            &[("event", "Alice watched The Godfather on 10 March 2024.")],
        ),
        (
            "On Monday I handed in the last chapter.",
            &[("event", "Alice handed in the last chapter on 4 March 2024.")],
        ),
        (
            "I ran a charity race two weeks ago.",
            &[("event", "Alice ran a charity race in the week of 26 February 2024.")],
        ),
        ("Just bought a piano!", &[("event", "Alice bought a piano.")]),
        ("I've been to Iceland.", &[("event", "Alice has been to Iceland.")]),
        ("I sold seven of the nine bowls.", &[("event", "Alice sold seven of the nine bowls.")]),
        ("I lost my wallet in Prague.", &[("event", "Alice lost their wallet in Prague.")]),
        (
            "I had an interview at the city library yesterday.",
            &[("event", "Alice had an interview at the city library on 10 March 2024.")],
        ),
        ("I gave Bob a book about bees.", &[("event", "Alice gave Bob a book about bees.")]),
        (
            "A few weeks ago I started a pottery class.",
            &[("event", "Alice started a pottery class around 5 February 2024 to 3 March 2024.")],
        ),
        (
            "I left the gym last week.",
            &[("event", "Alice left the gym in the week of 4 March 2024.")],
        ),
        (
            "I'd been to Norway twice before the move.",
            &[("event", "Alice had been to Norway twice before the move.")],
        ),
    ]);
}

#[test]
fn what_was_decided() {
    check(&[
        ("I've decided to sell the car.", &[("decision", "Alice has decided to sell the car.")]),
        ("We decided to use rustls.", &[("decision", "Alice decided to use rustls.")]),
        ("We agreed on Tuesday meetings.", &[("decision", "Alice agreed on Tuesday meetings.")]),
        (
            "Let's go with the blue tiles.",
            &[("decision", "Alice decided to go with the blue tiles.")],
        ),
        (
            "Decision: rustls 0.22, no OpenSSL.",
            &[("decision", "Alice decided: rustls 0.22, no OpenSSL.")],
        ),
    ]);
}

#[test]
fn how_something_is_done() {
    check(&[
        (
            "To deploy, run `make ship` on the staging host.",
            &[("procedure", "To deploy, run `make ship` on the staging host.")],
        ),
        (
            "Run `make clean` before the build.",
            &[("procedure", "Run `make clean` before the build.")],
        ),
    ]);
}

#[test]
fn things() {
    check(&[("I own a sailing boat.", &[("entity", "Alice owns a sailing boat.")])]);
}

#[test]
fn small_talk_questions_and_suppositions_give_nothing() {
    for sentence in [
        "I'm thinking of adopting a cat.",
        "I visited you in Ghent last summer.",
        "I have an exam on Friday.",
        "Hi Bob!",
        "How are you?",
        "Thanks, that's so sweet of you!",
        "I'm so happy for you!",
        "I love it!",
        "I love that idea.",
        "I love your new haircut!",
        "I agree with you.",
        "I know what you mean.",
        "I think so too.",
        "I can't wait!",
        "I'm fine.",
        "I'm good, thanks.",
        "I'm so tired.",
        "I had a great time.",
        "I have no idea.",
        "I'll let you know.",
        "I'll think about it.",
        "If I move to Lyon, I'll call you.",
        "I wish I lived in Lyon.",
        "Maybe I'll move to Lyon.",
        "I would move to Lyon for that.",
        "I might quit my job.",
        "Do you think I should move to Lyon?",
        "Did I tell you I moved to Lyon?",
        "You should visit Lyon!",
        "It was great.",
        "She moved to Lyon.",
        "He said \"I moved to Lyon\".",
        "I told her that.",
        "I want to help.",
        "I hope you feel better soon.",
        "I need to go now.",
        "I hear you.",
        "I got it.",
        "I did.",
        "I'll be there.",
        "Let's do that.",
        "Let's talk tomorrow.",
        "I'm sorry to hear that.",
        "I like how you think.",
        "I'm proud of you.",
        "I guess.",
        "My pleasure!",
        "My bad.",
        "Wow, I love the colors in your painting!",
        "I appreciate your support.",
        "I was thinking the same thing.",
        "I'm not sure.",
        "I don't know.",
        "Oh my god, I can't believe it.",
        "I'm going to bed.",
        "I'd love to see it.",
        "I wonder if I should study law.",
        "Good night, sleep well!",
        "Haha, I knew it.",
        "That sounds like something I would do.",
        "The book I read was long.",
        "I wanted it to work.",
        "I'm glad you like it!",
        "I want to visit you.",
        "I got it on sale.",
        "My car broke down.",
        "So proud of you!",
        "I'm off skiing from tomorrow until Monday.",
        "I can bake you a cake.",
        "I feel great about it.",
        "We had so much fun together!",
        "I miss you.",
        "I've never been there.",
        "I told you so.",
        "I'd say no.",
        "I'm kidding, I never quit my job.",
    ] {
        let got = statements("Alice", "Bob", "2024-03-11T09:30:00+01:00", sentence);
        assert!(got.is_empty(), "{sentence}: {got:?}");
    }
}
