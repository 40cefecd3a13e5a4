//! Forms of secrets that must be found, and texts that hold none.

use super::{find_secrets, masked_text};

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
        for frame in [
            ("", ""),
            ("it is ", " for now."),
            ("> ", "\n"),
            ("我的：", "。"),
            ("(", ")"),
            ("\u{1b}[1;32m", "\u{1b}[0m"),
        ] {
            let secret = filled(example, &mut state);
            let text = format!("{}{secret}{}", frame.0, frame.1);
            let found = find_secrets(&text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].kind, kind, "{text}");
            // Nothing random of the secret is left.
            let (shown, number) = masked_text(&text).expect("a secret");
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
        ("the wifi password is ", "Tulip42x!", ""),
        ("my password is ", "Tulip42#", ", ok?"),
        ("Passwort: ", "Tulpe-42!!", "\n"),
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
fn a_word_is_a_password_by_its_place() {
    for (before, secret, after) in [
        ("password: ", "kestrelmoor", "\nuser: ida"),
        ("db:\n  user: app\n  pass: ", "moorhen12", "\n"),
        ("Server=tcp:db;User Id=ida;Password=", "kestrelmoor", ";"),
        ("host=db user=ida password=", "kestrelmoor", " dbname=x"),
        ("jdbc:mysql://db/app?user=ida&password=", "kestrelmoor", "&ssl=1"),
        ("environment:\n  - POSTGRES_PASSWORD=", "kestrelmoor", "\n"),
        ("das WLAN-Passwort lautet ", "Reiherteich", ""),
        ("Benutzer: ida\nPasswort: ", "Reiherteich", "\n"),
        ("账号：ida 密码：", "kestrelmoor", ""),
        ("ID: ida\nPW: ", "kestrelmoor", ""),
        ("wifi password: ", "kestrelmoor", ""),
        ("Password → ", "kestrel99", ""),
        ("Password:\n", "kestrel99", ""),
        ("<Password>", "kestrelmoor", "</Password>"),
        ("wget --http-password=", "kestrelmoor", " https://host.net"),
        ("密码是", "482193", ""),
        ("password: ", "4821", "."),
    ] {
        let text = format!("{before}{secret}{after}");
        let (shown, kinds) = super::mask_secrets(&text);
        assert_eq!((shown, kinds.len()), (format!("{before}[secret: password]{after}"), 1));
    }
}

#[test]
fn columns_of_passwords_are_masked() {
    for (table, left) in [
        (
            "| user | password |\n|---|---|\n| ida | moorhen |\n| tom | `kestrel9` |\n\nmoorhen",
            "| user | password |\n|---|---|\n| ida | # |\n| tom | `#` |\n\nmoorhen",
        ),
        (
            "Konto;Passwort;Notiz\nmail;reiher77;neu\nbank;;alt\n",
            "Konto;Passwort;Notiz\nmail;#;neu\nbank;;alt\n",
        ),
        (
            "name,url,username,password\nx,https://x.net,ida,moor-hen\n",
            "name,url,username,password\nx,https://x.net,ida,#\n",
        ),
    ] {
        let (shown, _) = super::mask_secrets(table);
        assert_eq!(shown.replace("[secret: password]", "#"), left);
    }
}

#[test]
fn words_of_a_wallet_and_codes_are_masked_as_a_whole() {
    let words = "witch collapse practice feed shame open despair creek road again ice least";
    let numbered: Vec<String> =
        words.split(' ').enumerate().map(|(at, word)| format!("{}. {word}", at + 1)).collect();
    for (before, secret, kind) in [
        ("my seed phrase is ", words.to_owned(), "seed phrase"),
        ("wallet words: ", words.to_owned(), "seed phrase"),
        ("助记词：", words.to_owned(), "seed phrase"),
        ("Recovery phrase:\n1. ", numbered.join("\n")[3..].to_owned(), "seed phrase"),
        ("backup codes: ", "8342-1123, 9921-5543, 1042-7719".to_owned(), "backup codes"),
    ] {
        let (shown, _) = super::mask_secrets(&format!("{before}{secret}. More"));
        assert_eq!(shown, format!("{before}[secret: {kind}]. More"));
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
        "PASS: test_login_2 and FAIL: test_login_3",
        "first-pass: results2",
        "user: str\npassword: FilterOrBool\nhost: str",
        "\"password\": \"required\", \"password\": \"Passwort\", password: \"string\"",
        "connect(user=user, password=db_password)",
        "The seed phrase is something that nobody should ever see, so keep it in a drawer.",
        "I have a pin with 12 teeth, pin = 4821, and the PIN is 0000",
        "the door code is on page 12, my pin is wrong",
        "| user | password |\n|---|---|\n| ida | ***** |\n| tom | changeme |",
        "Bring your name, password, and ID.\nThen wait, please, here.",
        "mysql -u root -p app, mysql -p$PASS, curl -u ida: https://x, cp -p file",
        "session_id: 4f9c1e7a-8b2d-4603-95f1-e2aa4f9c1e7a, sessionid=abc",
        "docker run -p 8080:80 nginx, mkdir -p kestrelmoor",
        "password: Reset your password by mail",
    ] {
        assert_eq!(masked_text(text), None, "{text}");
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
        "pw ",
        "pass: a\n",
        "curl -u a:b ",
        "mysql -p",
        "a|password|",
        "a,password\n",
        "seed phrase word ",
        "backup codes: 12345678 ",
        "user=a password=kestrelmoor;",
    ] {
        let text = piece.repeat(400_000 / piece.len());
        assert!(find_secrets(&text).len() <= text.len());
    }
}
