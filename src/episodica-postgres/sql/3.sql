-- Version 3: the view of messages shows of each message the version that holds.
CREATE OR REPLACE VIEW {s}.messages WITH (security_invoker = true) AS
    SELECT tenant, user_id, (j->>'seq')::int8 AS seq, id AS message_id,
        j->>'role' AS role, j->>'name' AS name, j->>'content' AS content,
        (j->>'timestamp')::timestamptz AS timestamp, j->>'session_id' AS session_id,
        j->>'agent_id' AS agent_id, j AS record
    FROM (SELECT DISTINCT ON (u.uid, id) u.tenant, u.user_id, id, j
        FROM {s}.users u JOIN {s}.log l ON l.uid = u.uid AND l.kind = 0
            CROSS JOIN LATERAL (SELECT {s}.record(l.line)) AS r (j)
            CROSS JOIN LATERAL (SELECT j->>'message_id') AS i (id)
        -- Without the time of an edit, a later line repeats the first.
        WHERE id IS NOT NULL
        ORDER BY u.uid, id, j->>'edited_at' IS NULL, l.number DESC) AS latest;
