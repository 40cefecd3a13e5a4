-- Version 2: the record of requests that may be sent again.
CREATE TABLE {s}.requests (
    name bytea PRIMARY KEY,
    body bytea NOT NULL,
    outcome text,
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX requests_at ON {s}.requests (at);
ALTER TABLE {s}.requests ENABLE ROW LEVEL SECURITY;
