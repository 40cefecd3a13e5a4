//! Forms of secrets that must be found, and texts that hold none.

use super::{masked, secrets};

/// The example with random characters in place of its braces.
fn filled(example: &str, state: &mut u64) -> String {
    let mut out = String::new();
    let mut rest = example;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((place, after)) = after.split_once('}').filter(|(place, _)| is_place(place))
        else {
            out.push('{');
            rest = after;
            continue;
        };
        let letters = match &place[..1] {
            "h" => "0123456789abcdef",
            "u" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
            "b" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            "x" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
            "k" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            "l" => "abcdefghijklmnopqrstuvwxyz0123456789",
            "s" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            "d" => "123456789",
            _ => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        };
        for _ in 0..place[1..].parse().expect("a number") {
            // The multiplier of Knuth's MMIX.
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            out.push(char::from(letters.as_bytes()[(*state >> 33) as usize % letters.len()]));
        }
        rest = after;
    }
    out.push_str(rest);
    out.replace("\\n", "\n").replace("\\\n", "\\n")
}

fn is_place(place: &str) -> bool {
    place.len() > 1 && place.is_char_boundary(1) && place[1..].parse::<usize>().is_ok()
}

#[test]
fn every_form_is_found_whole_in_every_place() {
    let mut state = 7;
    for row in include_str!("cases.txt").lines().filter(|row| !row.starts_with('#')) {
        let (kind, example) = row.split_once('\t').expect("a kind and an example");
        for frame in [("", ""), ("it is ", " for now."), ("> ", "\n"), ("我的：", "。"), ("(", ")")]
        {
            let secret = filled(example, &mut state);
            let text = format!("{}{secret}{}", frame.0, frame.1);
            let found = secrets(&text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].kind, kind, "{text}");
            // Nothing random of the secret is left.
            let (shown, number) = masked(&text).expect("a secret");
            assert_eq!(number, 1);
            let left = shown.replace(&format!("[secret: {kind}]"), "");
            for piece in secret.split(|c: char| !c.is_ascii_alphanumeric()) {
                let names = [
                    "EndpointSuffix",
                    "SharedAccessKeyName",
                    "registry",
                    "authToken",
                    "authorization",
                ];
                let is_random =
                    piece.len() >= 12 && piece.bytes().any(|byte| byte.is_ascii_digit());
                assert!(!is_random || names.contains(&piece) || !left.contains(piece), "{shown}");
            }
        }
    }
}

#[test]
fn a_few_words_may_lead_to_a_password() {
    for (before, secret, after) in [
        ("Das neue Passwort vom WLAN ist ", "tulpe42x", ""),
        ("the new password for the wifi is ", "tulip42x", ", right?"),
        ("Passwort fürs Gäste-WLAN: ", "tulpe42x", "\n"),
        ("the password is now ", "tulip42x", "."),
        ("The password was changed to ", "tulip-9x42", " today"),
        ("I changed the wifi password to ", "tulip42x", "."),
        ("Hab das Passwort auf ", "tulpe42x", "!"),
        ("la contraseña del wifi de casa es ", "tulipan42", ""),
        ("le mot de passe du wifi est ", "tulipe42x", ""),
        ("the password of the door is ", "887766", "."),
        ("门锁密码改成 ", "887766", " 了"),
        ("门锁密码改成", "887766", "了"),
        ("密码现在是「", "tulip42x", "」"),
        ("密码：", "887766", ""),
        ("Wifiのパスワードは", "tulip42x", "です"),
        ("password: ", "887766", ""),
    ] {
        let text = format!("{before}{secret}{after}");
        let (shown, kinds) = super::mask_secrets(&text);
        assert_eq!((shown, kinds.len()), (format!("{before}[secret: password]{after}"), 1));
    }
}

#[test]
fn talk_and_code_and_ids_hold_no_secrets() {
    for text in [
        "I forgot my password again, can you reset it?",
        "The password must be at least 8 characters.",
        "My password is case-sensitive.",
        "Password: ********",
        "password = os.environ[\"DB_PASSWORD\"]",
        "password: FilterOrBool = False",
        "def getpass(prompt='Password: ', stream=None):",
        "api_key: ${OPENAI_API_KEY}",
        "token = get_token(user, scope)",
        "Set OPENAI_API_KEY=your-key-here and run it.",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "max_tokens=4096, \"next_page_token\": \"CAUQAA7f3kLmN0pQrStUvWxYz012\"",
        "postgres://localhost:5432/app and postgres://user:password@localhost/db",
        "Authorization: Bearer <token>",
        "Bearer tokens are sent in the Authorization header.",
        "密码是什么来着？",
        "Das Passwort ist falsch.",
        "Card ending in 4242",
        "order 1000123412341234 and 1234 5678 9012 3456",
        "ISBN 978-3-16-148410-0, 9783161484100",
        "+49 151 23456789, (415) 555-0132, 0033 6 12 34 56 78",
        "DE00370400440532013000",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "request 123e4567-e89b-42d3-a456-426614174000 took 31 ms",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n\
         -----END PUBLIC KEY-----",
        "const key = settings.api_key; apiKey: process.env.API_KEY,",
        "--password-file /run/secrets/db",
        "secret_santa_2024_planning_document_v2",
        "sk-learn, key-value, pat-down, SG.1",
        "The password for the test account is password123",
        "The password is 20 characters, and the code of the door is on page 12",
        "I forgot the password of the printer in room 204b, ask Ida2024",
        "Password length: 12chars8, password hash is 5f4dcc3b5aa7",
        "Can you send me the password to server01?",
        "The password for 2024 was changed by Tom in week 12",
        "Das neue Passwort vom WLAN ist wirklich lang",
        "Ruf an, wenn du das Passwort vergisst: 0151 23456789",
        "密码忘了，iPhone15 打不开",
        "密码是6位数字，密码改了3次，密码发给13800001111",
        "password: 123456, password: 111111",
    ] {
        assert_eq!(masked(text), None, "{text}");
    }
}

#[test]
fn reading_is_linear_in_the_length() {
    for piece in [
        "password=",
        "-----BEGIN PRIVATE KEY-----\n",
        "eyJ",
        "://a:b",
        "sk-",
        "4111 ",
        "DE89 ",
        "token:",
    ] {
        let text = piece.repeat(400_000 / piece.len());
        assert!(secrets(&text).len() <= text.len());
    }
}
