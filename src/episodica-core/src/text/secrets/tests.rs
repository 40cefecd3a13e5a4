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

/// The lines of a private key, made up.
fn key_lines() -> Vec<String> {
    let mut state = 11;
    let label = |sign: &str| format!("-----{sign} OPENSSH PRIVATE KEY-----");
    let code = ["{b70}", "{b70}", "{b70}", "{b26}=="].map(|line| filled(line, &mut state));
    [label("BEGIN")].into_iter().chain(code).chain([label("END")]).collect()
}

#[test]
fn a_private_key_is_found_behind_the_marks_of_its_lines() {
    let key = key_lines();
    let numbered = |sign: &'static str| move |at: usize, line: &str| format!("{at:6}{sign}{line}");
    type Mark = Box<dyn Fn(usize, &str) -> String>;
    let marks: [(&str, Mark); 12] = [
        ("arrow", Box::new(numbered("→"))),
        ("tab", Box::new(numbered("\t"))),
        ("bar", Box::new(numbered(" | "))),
        ("grep", Box::new(|at, line| format!("id_ed25519:{at}:{line}"))),
        ("colon", Box::new(|at, line| format!("{}: {line}", at + 6))),
        ("comment", Box::new(|_, line| format!("# {line}"))),
        ("slashes", Box::new(|_, line| format!("// {line}"))),
        ("table", Box::new(|_, line| format!("| {line} |"))),
        ("quote", Box::new(|_, line| format!("> {line}"))),
        ("diff", Box::new(|_, line| format!("-{line}"))),
        ("code", Box::new(|_, line| format!("    \"{line}\\n\" +"))),
        ("crlf", Box::new(|_, line| format!("{line}\r"))),
    ];
    for (name, mark) in &marks {
        let shown: Vec<String> = (1..).zip(&key).map(|(at, line)| mark(at, line)).collect();
        // The whole, its beginning, its end, a part of its lines.
        for part in [0..6, 0..3, 0..5, 2..6, 4..6] {
            let text = format!("It is:\n{}\n\nThere are 7 lines.", shown[part.clone()].join("\n"));
            let (masked, kinds) = super::mask_secrets(&text);
            let has_code = key[1..5].iter().any(|line| masked.contains(line.as_str()));
            assert!(!has_code && kinds == ["private key"], "{name} {part:?}: {masked}");
            assert!(masked.starts_with("It is:\n") && masked.ends_with("\n\nThere are 7 lines."));
        }
    }
    // In JSON, and JSON in JSON.
    for end in ["\\n", "\\\\n", "\\r\\n"] {
        for part in [0..6, 0..3, 2..6] {
            let text = format!("{{\"key\": \"{}\"}}", key[part].join(end));
            let (masked, kinds) = super::mask_secrets(&text);
            assert_eq!((masked.as_str(), kinds.len()), ("{\"key\": \"[secret: private key]\"}", 1));
        }
    }
}

#[test]
fn values_of_kubernetes_secrets_are_masked() {
    let shown = |text: &str| super::mask_secrets(text).0.replace("[secret: secret key]", "#");
    let yaml = "apiVersion: v1\nkind: Secret\ntype: Opaque\ndata:\n  \
        signing.key: V2ludGVyLTQyNDI=\n  \
        tls.crt: LS0tLS1CRUdJTg==\n  host: {{ .Values.host }}\nstringData:\n  smtp: kestrelmoor\n  \
        app.conf: |\n    a = 1\n    b = kestrel\n  last: moor7hen\nmetadata:\n  \
        name: shop-db\n---\n\
        kind: ConfigMap\ndata:\n  page: V2ludGVyLTQyNDI=\n";
    let left = yaml
        .replacen("V2ludGVyLTQyNDI=", "#", 1)
        .replace("kestrelmoor", "#")
        .replace("a = 1\n    b = kestrel", "#")
        .replace("moor7hen", "#");
    assert_eq!(shown(yaml), left);
    let numbered = |text: &str| -> String {
        (1..).zip(text.lines()).map(|(at, line)| format!("{at:6}→{line}\n")).collect()
    };
    let masked = shown(&numbered(yaml));
    assert!(!masked.contains("moor") && masked.matches('#').count() == 4, "{masked}");
    let list = "items:\n- apiVersion: v1\n  data:\n    page: V2ludGVyLTQyNDI=\n  kind: ConfigMap\n\
        - apiVersion: v1\n  data:\n    k: V2ludGVyLTQyNDI=\n  kind: Secret\n  \
        metadata:\n    name: x\n";
    assert_eq!(shown(list), list.replace("k: V2ludGVyLTQyNDI=", "k: #"));
    let json = "{\n  \"data\": {\n    \"k\": \"V2ludGVyLTQyNDI=\",\n    \"l\": \
        \"a2VzdHJlbA==\"\n  },\n  \
        \"kind\": \"Secret\",\n  \"metadata\": {\n    \"name\": \"shop-db\"\n  }\n}";
    assert_eq!(shown(json), json.replace("V2ludGVyLTQyNDI=", "#").replace("a2VzdHJlbA==", "#"));
    for quote in ["\"", "\\\""] {
        let line = "{'apiVersion':'v1','data':{'k':'V2ludGVyLTQyNDI=','username':'YWRtaW4='},\
            'kind':'Secret','metadata':{'name':'shop-db'}}"
            .replace('\'', quote);
        assert_eq!(shown(&line), line.replace("V2ludGVyLTQyNDI=", "#"));
    }
}

#[test]
fn logins_in_base64_are_masked() {
    // "ci:kestrelmoor"
    let login = "Y2k6a2VzdHJlbG1vb3I=";
    for text in [
        format!("{{\"auths\": {{\"host.net\": {{\"auth\": \"{login}\"}}}}}}"),
        format!("{{\\\"auths\\\":{{\\\"host.net\\\":{{\\\"auth\\\":\\\"{login}\\\"}}}}}}"),
        format!("_auth={login}"),
        format!("//registry.host.net/:_auth={}", login.trim_end_matches('=')),
        format!("npmAuthIdent: x\n_auth = \"{login}\""),
    ] {
        let (masked, kinds) = super::mask_secrets(&text);
        assert!(!masked.contains("a2VzdHJl") && kinds == ["authorization"], "{masked}");
    }
}

#[test]
fn passwords_in_lines_of_pgpass_are_masked() {
    for line in [
        "localhost:5432:shop:ida:kestrel99x",
        "db.host.net:15432:*:ida:kestrelmoor",
        "*:*:*:postgres:kestrel99x",
        "     3→10.0.0.7:5433:shop:ida@host:kestrel99x",
        "# localhost:5432:shop:ida:kestrel99x",
    ] {
        let (masked, kinds) = super::mask_secrets(&format!("$ cat .pgpass\r\n{line}\r\n"));
        assert!(!masked.contains("kestrel") && kinds == ["password"], "{masked}");
        assert!(masked.ends_with(":[secret: password]\r\n"));
    }
}

#[test]
fn colours_may_stand_between_a_name_and_its_value() {
    for text in [
        "\u{1b}[36mdb_password\u{1b}[0m: \u{1b}[33mkestrel99x\u{1b}[0m",
        "\u{1b}[1mdb_password\u{1b}[22m\u{1b}[2m:\u{1b}[0m \u{1b}[36m'kestrel99x'\u{1b}[0m",
        "\u{1b}[32mDB_PASSWORD\u{1b}[0m=\u{1b}[38;5;11mkestrel99x\u{1b}[m",
        "\u{1b}[34;1m\"password\"\u{1b}[0m\u{1b}[39m:\u{1b}[0m \u{1b}[32m\"kestrel99x\"\u{1b}[0m",
        "\u{1b}[1mpass\u{1b}[31mword\u{1b}[0m: kestrel\u{1b}[7m99\u{1b}[0mx",
    ] {
        let (masked, kinds) = super::mask_secrets(text);
        assert!(!masked.contains("kestrel") && kinds == ["password"], "{masked}");
        assert!(masked.starts_with("\u{1b}["));
    }
    let text = "\u{1b}[1mé: \u{1b}[31m4111 1111 1111 1111\u{1b}[0m, \u{1b}[ü";
    let left = "\u{1b}[1mé: \u{1b}[31m[secret: card number]\u{1b}[0m, \u{1b}[ü";
    assert_eq!(masked_text(text), Some((left.to_owned(), 1)));
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
fn what_looks_like_a_card_a_key_or_a_file_of_logins_stays() {
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    for text in [
        // Numbers that no issuer has, that fail the check, or in other groups.
        "4111.1111.1111.1112 and ４１１１１１１１１１１１１１１２",
        "6222 0240 6935 9594 373, 1234.5678.9012.3456",
        "4111 1111 1111 1111 1111, 2024.1111.1111.1111",
        "4 111 111 111 111 111 or 41 11 11 11 11 11 11 11",
        "10.0.0.1, 192.168.100.100, 4.1.1.1, v4111.1111.1111.1111",
        "+49 30 9018 2000, (030) 9018-2000, 0049.30.9018.2000",
        "order 302-8827164-5519302, parcel 0034 0434 1610 9404 2557",
        "IMEI 356938035643809, ICCID 8949 0200 0010 1234 5678",
        "ISBN 978-3-16-148410-0, EAN 4006381333931, GTIN 04006381333931",
        "1.2.840.113549.1.1.11, 2024.11.29.4111, 4111 files, 6222 lines, 372 words",
        // Words that begin as accounts do.
        "de12ab34cd56ef78ab90 and es9121000418450200051333",
        "be0123456789abcd0123, gb82western, at2024, it60x, de-89, no93 in stock",
        "gb82WEST12345698765433",
        "DE89.3704.0044.0532.0130.01",
        // Labels without a key, other blocks.
        "It looks for \"-----BEGIN RSA PRIVATE KEY-----\" and \"-----END RSA PRIVATE KEY-----\".",
        "if line.startswith('-----BEGIN OPENSSH PRIVATE KEY-----'):\n    return True\n",
        "the file begins with\n-----BEGIN PRIVATE KEY-----\nand it ends with\n\
            -----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n<your key here>\n-----END PRIVATE KEY-----",
        "     1→-----BEGIN PUBLIC KEY-----\n     \
            2→MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEMFkwEwYHKoZIzj0\n\
             3→-----END PUBLIC KEY-----",
        // Prose and addresses with colons.
        "machine learning\npassword reset now",
        "The machine password policy: login first, then password rules follow.",
        "src/main.rs:5432:12:warning:unused, 10:30:45:123:done, a:b:c:d:e",
        "# hostname:port:database:username:password\n*:*:*:*:*\ncpe:2.3:a:b:c",
        "arn:aws:iam::123456789012:user/ida, localhost:5432:shop",
        "{\"auth\": \"oauth2\"}, auth: required, _auth=${NPM_AUTH}, \
            \"auth\": \"dXNlcjpwYXNzd29yZA==\"",
        "auth: aGVsbG8gd29ybGQ=",
        // Names without a value.
        "Private key: /etc/ssl/private/host.pem, private key: see the vault",
        "Private key: SHA256:Lx0RrqDRr3GpcG3FrmqbHjHZ9fC1hVpLgD8y6Wn3kTs",
        "kind: SecretStore\ndata:\n  name: V2ludGVyLTQyNDI=",
        "kind: ConfigMap\ndata:\n  name: V2ludGVyLTQyNDI=\n---\nkind: Secret\nmetadata:\n  name: x",
        "kind: Secret\ndata:\n  username: YWRtaW4=\n  tls.crt: LS0tLS1CRUdJTg==\n  \
            k: {{ .Values.k }}",
        "env:\n- name: KEY\n  valueFrom:\n    secretKeyRef:\n      name: shop\n      \
            key: signing.key",
        "{\"kind\":\"ConfigMap\",\"data\":{\"k\":\"V2ludGVyLTQyNDI=\"},\
            \"for\":{\"kind\":\"Secret\"}}",
        "xprv is the beginning of a key, \
            xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJ",
        "\u{1b}[36mpassword\u{1b}[0m: \u{1b}[33mrequired\u{1b}[0m",
        "\u{1b}[33mcommit 3f786850e387550fdab836ed7e6dc881de23001b\u{1b}[m",
    ] {
        assert_eq!(masked_text(text), None, "{text}");
    }
    for before in ["sha256: ", "Private key fingerprint: ", "tx 0x", "Address: 0x", "digest "] {
        assert_eq!(masked_text(&format!("{before}{hash}")), None);
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
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----\n",
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEMFkwEwYHKo\n-----END PRIVATE KEY-----\n",
        "\\",
        "de89 ",
        "4111.",
        "machine a login b\n",
        "kind: Secret\n",
        "- kind: Secret\n  data:\n",
        "kind: Secret\n a: b\n",
        "{\"kind\":\"Secret\",\"data\":{",
        "auth=YWE6",
        "a:5432:",
        "\u{1b}[1m",
        "private key: ",
    ] {
        let text = piece.repeat(400_000 / piece.len());
        assert!(find_secrets(&text).len() <= text.len());
    }
}
