use std::collections::BTreeMap;

use super::cursor::FeedCursor;
use crate::store::{LogPlace, UserPlaces};

#[test]
fn cursors_come_back_from_their_text() {
    let place = |bytes, anchor| LogPlace { bytes, anchor };
    let places = UserPlaces {
        generation: 300,
        logs: [place(1 << 40, u32::MAX), LogPlace::default(), place(127, 7)],
    };
    let users = ["", "alice", "张伟", "a/b\0c"].map(|user| (user.to_owned(), places));
    for users in [BTreeMap::new(), BTreeMap::from(users)] {
        let cursor = FeedCursor { users };
        assert_eq!(FeedCursor::from_text(&cursor.to_text()).unwrap(), cursor);
    }
    for text in ["", "x", "e1-0", "e1-zz", "e1-05616c", "18f-3", "e1-\u{e9}\u{e9}"] {
        let error = FeedCursor::from_text(text).unwrap_err();
        assert_eq!(error.to_string(), format!("not a cursor: `{text}`"));
    }
}
