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
CREATE TABLE {s}.readers (
    role name NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    PRIMARY KEY (role, tenant)
);
-- JSON allows a zero character, PostgreSQL's text does not.
CREATE FUNCTION {s}.record(line text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN replace(line, '\u0000', '\ufffd')::json;
ALTER TABLE {s}.users ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.log ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.uses ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.readers ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rights ON {s}.readers FOR SELECT USING (role = current_user);
CREATE POLICY own_tenants ON {s}.users FOR SELECT
    USING (tenant IN (SELECT r.tenant FROM {s}.readers r));
CREATE POLICY own_tenants ON {s}.log FOR SELECT
    USING (uid IN (SELECT u.uid FROM {s}.users u));
CREATE POLICY own_tenants ON {s}.uses FOR SELECT
    USING (uid IN (SELECT u.uid FROM {s}.users u));
