//! SQL statements, with the names of the tables inserted. None depends on an earlier statement.

use episodica_core::store::LogKind;

/// The columns for a log's end in the table `users`: bytes, lines, checksum.
pub(crate) fn end_columns(kind: LogKind) -> [&'static str; 3] {
    match kind {
        LogKind::Messages => ["message_bytes", "message_lines", "message_crc"],
        LogKind::Episodes => ["episode_bytes", "episode_lines", "episode_crc"],
        LogKind::Semantic => ["fact_bytes", "fact_lines", "fact_crc"],
    }
}

/// The columns of a head, in the order that `SeenLogs::from_row` expects.
const HEAD: &str = "u.uid, u.generation, u.fence, \
    u.message_bytes, u.message_lines, u.message_crc, \
    u.episode_bytes, u.episode_lines, u.episode_crc, \
    u.fact_bytes, u.fact_lines, u.fact_crc, u.batch_epoch, u.batch_number";

/// The lines of a batch.
const LINES: &str = "unnest($1::int8[], $2::int8[], $3::int8[], $4::text[]) \
    AS l(upto, number, crc, line)";

// `{s}` stands for the schema.
const READ_HEAD: &str = "SELECT {HEAD} FROM {s}.users u WHERE u.tenant = $1 AND u.user_id = $2";
const OPEN: &str = "SELECT nextval('{s}.epochs'), {HEAD} FROM (SELECT) one \
    LEFT JOIN {s}.users u ON u.tenant = $1 AND u.user_id = $2";
const CHUNK: &str = "SELECT l.upto, l.number, l.crc, l.line FROM {s}.log l WHERE l.uid = $1 AND \
    l.kind = $2 AND l.upto >= $3 AND l.upto <= $4 AND EXISTS (SELECT FROM {s}.users u \
    WHERE u.uid = $1 AND u.generation = $5) ORDER BY l.upto LIMIT $6";
const SLICE: &str = "SELECT l.upto, l.line FROM {s}.log l WHERE l.uid = (SELECT uid FROM {s}.users \
    WHERE tenant = $1 AND user_id = $2) AND l.kind = $3 AND l.upto > $4 \
    ORDER BY l.upto LIMIT $5";
const FENCE: &str = "INSERT INTO {s}.users AS u (tenant, user_id, generation) VALUES ($1, $2, \
    nextval('{s}.generations')) ON CONFLICT (tenant, user_id) \
    DO UPDATE SET fence = u.fence + 1 RETURNING {HEAD}";
const LINE_AT: &str = "SELECT l.crc, l.line FROM {s}.log l WHERE l.uid = $1 AND l.kind = $2 AND \
    l.upto = $3";
const USERS: &str = "SELECT user_id FROM {s}.users WHERE tenant = $1 AND user_id > $2 AND \
    message_bytes + episode_bytes + fact_bytes > 0 ORDER BY user_id LIMIT $3";
const TENANTS: &str = "SELECT DISTINCT tenant FROM {s}.users ORDER BY tenant";
const GENERATIONS: &str = "\
    SELECT asked.place, u.generation FROM {s}.users u JOIN unnest($2::text[]) \
    WITH ORDINALITY AS asked (user_id, place) USING (user_id) WHERE u.tenant = $1 AND \
    u.message_bytes + u.episode_bytes + u.fact_bytes > 0";
const USES: &str = "SELECT n.body, n.number FROM {s}.uses n JOIN {s}.users u USING (uid) \
    WHERE u.tenant = $1 AND u.user_id = $2";
const PUT_USES: &str = "INSERT INTO {s}.uses AS n (uid, body, number) SELECT uid, $3, $4 + 1 FROM \
    {s}.users WHERE tenant = $1 AND user_id = $2 ON CONFLICT (uid) DO UPDATE SET \
    body = excluded.body, number = excluded.number WHERE n.number = $4";
const DROP_USES: &str = "DELETE FROM {s}.uses WHERE uid = $1";
const TAKE_TURN: &str = "INSERT INTO {s}.turns AS t (uid, holder, until) VALUES ($1, $2, now() + \
    make_interval(secs => $3)) ON CONFLICT (uid) DO UPDATE SET \
    holder = excluded.holder, until = excluded.until WHERE t.until < now()";
const KEEP_TURN: &str = "\
    UPDATE {s}.turns SET until = now() + make_interval(secs => $3::text::float8) \
    WHERE uid = $1::text::int8 AND holder = $2";
const GIVE_TURN: &str = "DELETE FROM {s}.turns WHERE uid = $1 AND holder = $2";
const TURN: &str = "SELECT holder FROM {s}.turns WHERE uid = $1";
const CUT: &str = "DELETE FROM {s}.log WHERE uid = $1 AND kind = $2 AND number >= $3";
const INSERT: &str = "INSERT INTO {s}.log (uid, kind, upto, number, crc, line) \
    SELECT $5, $6, l.upto, l.number, l.crc, l.line FROM {lines}";
const FORGET_USER: &str = "DELETE FROM {s}.users WHERE tenant = $1 AND user_id = $2 RETURNING uid";
const REQUEST_DONE: &str = "\
    INSERT INTO {s}.requests AS r (name, body, outcome) VALUES ($1, $2, $3) \
    ON CONFLICT (name) DO UPDATE SET outcome = excluded.outcome, \
    body = excluded.body WHERE r.outcome IS NULL";
const REQUEST_REFUSED: &str = "DELETE FROM {s}.requests WHERE name = $1 AND outcome IS NULL";
const REQUEST: &str = "SELECT encode(body, 'hex'), outcome FROM {s}.requests WHERE name = $1";

/// Sets a column of a request that was noted more than a day ago, and leaves that of a newer one.
fn expiring_value(column: &str, value: &str) -> String {
    format!("{column} = CASE WHEN r.at < now() - interval '1 day' THEN {value} ELSE r.{column} END")
}

#[derive(Debug)]
pub(crate) struct SqlTexts {
    pub schema: String,
    pub open: String,
    pub head: String,
    pub chunk: String,
    pub slice: String,
    pub fence: String,
    pub append: [String; 3],
    pub create: [String; 3],
    pub line_at: String,
    pub users: String,
    pub tenants: String,
    pub generations: String,
    pub uses: String,
    pub put_uses: String,
    pub drop_uses: String,
    pub take_turn: String,
    pub keep_turn: String,
    pub give_turn: String,
    pub turn: String,
    pub rewrite: String,
    pub cut: String,
    pub insert: String,
    pub forget_user: String,
    pub forget: [String; 3],
    pub request_begun: String,
    pub request_done: String,
    pub request_refused: String,
    pub request: String,
}

impl SqlTexts {
    pub fn new(s: &str) -> Self {
        let of =
            |text: &str| text.replace("{HEAD}", HEAD).replace("{lines}", LINES).replace("{s}", s);
        Self {
            head: of(READ_HEAD),
            append: append_statements(s),
            create: create_statements(s),
            rewrite: rewrite_statement(s),
            request_begun: beginning_request(s),
            forget: ["log", "uses", "turns"]
                .map(|table| format!("DELETE FROM {s}.{table} WHERE uid = $1")),
            schema: s.to_owned(),
            open: of(OPEN),
            chunk: of(CHUNK),
            slice: of(SLICE),
            fence: of(FENCE),
            line_at: of(LINE_AT),
            users: of(USERS),
            tenants: of(TENANTS),
            generations: of(GENERATIONS),
            uses: of(USES),
            put_uses: of(PUT_USES),
            drop_uses: of(DROP_USES),
            take_turn: of(TAKE_TURN),
            keep_turn: of(KEEP_TURN),
            give_turn: of(GIVE_TURN),
            turn: of(TURN),
            cut: of(CUT),
            insert: of(INSERT),
            forget_user: of(FORGET_USER),
            request_done: of(REQUEST_DONE),
            request_refused: of(REQUEST_REFUSED),
            request: of(REQUEST),
        }
    }
}

/// Appends lines to the log of each kind, if its end is the known one.
fn append_statements(s: &str) -> [String; 3] {
    LogKind::ALL.map(|kind| {
        let [bytes, count, crc] = end_columns(kind);
        let number = kind as usize;
        format!(
            "WITH mine AS (UPDATE {s}.users SET {bytes} = $5, {count} = $6, {crc} = $7, \
             batch_epoch = $8, batch_number = $9 WHERE uid = $10 AND generation = $11 AND \
             fence = $12 AND {bytes} = $13 AND {crc} = $14 RETURNING uid) \
             INSERT INTO {s}.log (uid, kind, upto, number, crc, line) \
             SELECT mine.uid, {number}, l.upto, l.number, l.crc, l.line FROM mine, {LINES}"
        )
    })
}

/// Creates a user with the first lines of the log of each kind.
fn create_statements(s: &str) -> [String; 3] {
    LogKind::ALL.map(|kind| {
        let [bytes, count, crc] = end_columns(kind);
        let number = kind as usize;
        format!(
            "WITH mine AS (INSERT INTO {s}.users (tenant, user_id, generation, {bytes}, \
             {count}, {crc}, batch_epoch, batch_number) VALUES ($10, $11, \
             nextval('{s}.generations'), $5, $6, $7, $8, $9) \
             ON CONFLICT (tenant, user_id) DO NOTHING RETURNING uid, generation), \
             put AS (INSERT INTO {s}.log (uid, kind, upto, number, crc, line) \
             SELECT mine.uid, {number}, l.upto, l.number, l.crc, l.line FROM mine, {LINES}) \
             SELECT uid, generation FROM mine"
        )
    })
}

fn rewrite_statement(s: &str) -> String {
    let ends = LogKind::ALL.map(end_columns);
    let set_ends: Vec<String> = ends
        .iter()
        .flatten()
        .enumerate()
        .map(|(at, column)| format!("{column} = ${}", at + 1))
        .collect();
    let same_ends: Vec<String> = ends
        .iter()
        .enumerate()
        .map(|(at, [bytes, _, crc])| {
            format!("{bytes} = ${} AND {crc} = ${}", 14 + 2 * at, 15 + 2 * at)
        })
        .collect();
    format!(
        "UPDATE {s}.users SET {}, generation = $10 WHERE uid = $11 AND generation = $12 \
         AND fence = $13 AND {}",
        set_ends.join(", "),
        same_ends.join(" AND ")
    )
}

fn beginning_request(s: &str) -> String {
    format!(
        "WITH gone AS (DELETE FROM {s}.requests WHERE name IN (SELECT name FROM \
         {s}.requests WHERE at < now() - interval '1 day' AND name <> $1 ORDER BY at \
         LIMIT 100 FOR UPDATE SKIP LOCKED)) \
         INSERT INTO {s}.requests AS r (name, body) VALUES ($1, $2) ON CONFLICT (name) \
         DO UPDATE SET {}, {}, {} RETURNING encode(r.body, 'hex'), r.outcome",
        expiring_value("body", "excluded.body"),
        expiring_value("outcome", "NULL"),
        expiring_value("at", "now()")
    )
}
