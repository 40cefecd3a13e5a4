-- Version 1. docs/format.md, "In PostgreSQL", says what each column means.
CREATE SCHEMA IF NOT EXISTS {s};
CREATE TABLE {s}.meta (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version int4 NOT NULL,
    identity text NOT NULL DEFAULT gen_random_uuid()::text,
    created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO {s}.meta (version) VALUES (1);
CREATE SEQUENCE {s}.generations;
CREATE SEQUENCE {s}.epochs;
CREATE TABLE {s}.users (
    uid int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    generation int8 NOT NULL,
    fence int8 NOT NULL DEFAULT 0,
    message_bytes int8 NOT NULL DEFAULT 0,
    message_lines int8 NOT NULL DEFAULT 0,
    message_crc int8 NOT NULL DEFAULT 0,
    episode_bytes int8 NOT NULL DEFAULT 0,
    episode_lines int8 NOT NULL DEFAULT 0,
    episode_crc int8 NOT NULL DEFAULT 0,
    fact_bytes int8 NOT NULL DEFAULT 0,
    fact_lines int8 NOT NULL DEFAULT 0,
    fact_crc int8 NOT NULL DEFAULT 0,
    batch_epoch int8,
    batch_number int8,
    UNIQUE (tenant, user_id)
) WITH (fillfactor = 70);
CREATE TABLE {s}.log (
    uid int8 NOT NULL,
    kind int2 NOT NULL,
    upto int8 NOT NULL,
    number int8 NOT NULL,
    crc int8 NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (uid, kind, upto)
) PARTITION BY HASH (uid);
DO $$ BEGIN
    FOR part IN 0..63 LOOP
        EXECUTE format('CREATE TABLE {s}.%I PARTITION OF {s}.log FOR VALUES WITH (MODULUS 64, REMAINDER %s)',
            'log_' || lpad(part::text, 2, '0'), part);
    END LOOP;
END $$;
CREATE TABLE {s}.uses (
    uid int8 PRIMARY KEY,
    body bytea NOT NULL,
    number int8 NOT NULL
);
CREATE TABLE {s}.turns (
    uid int8 PRIMARY KEY,
    holder text NOT NULL,
    until timestamptz NOT NULL
);
CREATE TABLE {s}.nodes (
    node text PRIMARY KEY DEFAULT gen_random_uuid()::text,
    holder text NOT NULL,
    version text NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE {s}.readers (
    role name NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    PRIMARY KEY (role, tenant)
);
-- JSON allows a zero character, PostgreSQL's text does not.
CREATE FUNCTION {s}.record(line text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN replace(line, '\u0000', '\ufffd')::json;

-- The current records of the logs, for people and their SQL. Each role sees the rows that it may
-- read.
CREATE VIEW {s}.messages WITH (security_invoker = true) AS
    SELECT u.tenant, u.user_id, (j->>'seq')::int8 AS seq, j->>'message_id' AS message_id,
        j->>'role' AS role, j->>'name' AS name, j->>'content' AS content,
        (j->>'timestamp')::timestamptz AS timestamp, j->>'session_id' AS session_id,
        j->>'agent_id' AS agent_id, j AS record
    FROM {s}.users u JOIN {s}.log l ON l.uid = u.uid AND l.kind = 0
        CROSS JOIN LATERAL (SELECT {s}.record(l.line)) AS r (j)
    WHERE j->>'message_id' IS NOT NULL;
CREATE VIEW {s}.episodes WITH (security_invoker = true) AS
    SELECT tenant, user_id, id AS episode_id, j->>'title' AS title, j->>'summary' AS summary,
        j->>'content' AS content, (j->>'timestamp')::timestamptz AS started_at,
        (j->>'ended_at')::timestamptz AS ended_at, (j->>'message_count')::int4 AS message_count,
        j->>'session_id' AS session_id, (j->>'archived_at')::timestamptz AS archived_at, j AS record
    FROM (SELECT DISTINCT ON (u.uid, id) u.tenant, u.user_id, id, j
        FROM {s}.users u JOIN {s}.log l ON l.uid = u.uid AND l.kind = 1
            CROSS JOIN LATERAL (SELECT {s}.record(l.line)) AS r (j)
            CROSS JOIN LATERAL (SELECT coalesce(j->>'episode_id', j->>'deleted')) AS i (id)
        WHERE id IS NOT NULL ORDER BY u.uid, id, l.number DESC) AS latest
    WHERE j->>'episode_id' IS NOT NULL;
CREATE VIEW {s}.facts WITH (security_invoker = true) AS
    SELECT tenant, user_id, id AS memory_id, j->>'kind' AS kind, j->>'content' AS content,
        j->>'subject' AS subject, j->>'attribute' AS attribute,
        (j->>'confidence')::float8 AS confidence, (j->>'importance')::float8 AS importance,
        (j->>'valid_from')::timestamptz AS valid_from, (j->>'valid_to')::timestamptz AS valid_to,
        j->>'superseded_by' AS superseded_by, (j->>'archived_at')::timestamptz AS archived_at,
        j AS record
    FROM (SELECT DISTINCT ON (u.uid, id) u.tenant, u.user_id, id, j
        FROM {s}.users u JOIN {s}.log l ON l.uid = u.uid AND l.kind = 2
            CROSS JOIN LATERAL (SELECT {s}.record(l.line)) AS r (j)
            CROSS JOIN LATERAL (SELECT coalesce(j->>'memory_id', j->>'deleted')) AS i (id)
        WHERE id IS NOT NULL AND l.line NOT LIKE '{"type":%'
        ORDER BY u.uid, id, l.number DESC) AS latest
    WHERE j->>'memory_id' IS NOT NULL;

-- The owner of the tables sees all; another role sees the tenants that it was granted.
ALTER TABLE {s}.users ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.log ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.uses ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.readers ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rights ON {s}.readers FOR SELECT
    USING (role IN (SELECT rolname FROM pg_roles WHERE pg_has_role(oid, 'MEMBER')));
CREATE POLICY own_tenants ON {s}.users FOR SELECT
    USING (tenant IN (SELECT r.tenant FROM {s}.readers r));
CREATE POLICY own_tenants ON {s}.log FOR SELECT
    USING (uid IN (SELECT u.uid FROM {s}.users u));
CREATE POLICY own_tenants ON {s}.uses FOR SELECT
    USING (uid IN (SELECT u.uid FROM {s}.users u));
