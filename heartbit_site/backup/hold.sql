-- Statements in the transaction of a restore, after the dump's. They know only tables and columns of
-- version 0.1.0, because the dump may be of any version since.
-- Variables: made_at, the time of the backup; sentence, for messages that are not sent; goes_on, true
-- if nothing has run since the backup.

SET search_path = public;

-- Until the restore has ended nothing is claimed or fired, even if a worker is started meanwhile.
INSERT INTO agents_pause (kind, queue, tool, reason, by, by_operator, at)
VALUES ('all', '', '', 'a restore has not ended', 'heartbit restore', true, clock_timestamp())
ON CONFLICT DO NOTHING;

-- The workers of the backup are not here.
UPDATE agents_workerheartbeat SET left_at = clock_timestamp() WHERE left_at IS NULL;

-- A tree is at rest if each of its live runs waits for a person, without a time limit, or for its
-- children. The others would continue by themselves, with calls that may have been made since the
-- backup: no one executes them until a person releases them.
CREATE TEMPORARY TABLE heartbit_moving ON COMMIT DROP AS
SELECT DISTINCT r.root_id AS id FROM agents_run r
WHERE NOT :'goes_on'::boolean AND r.finished_at IS NULL AND r.home = 'fleet'
      AND (r.status <> 'waiting' OR EXISTS (
          SELECT FROM agents_wait w
          WHERE w.run_id = r.id AND w.resolved_at IS NULL AND w.child_id IS NULL
                AND NOT (w.asks_person AND w.expires_at IS NULL)));

INSERT INTO agents_runevent (run_id, seq, type, payload, at)
SELECT id, last_seq + 1, 'run.requeued', '{"reason": "restored from a backup"}', clock_timestamp()
FROM agents_run WHERE status = 'running';
UPDATE agents_run SET status = 'queued', worker_id = NULL, woken_at = NULL, last_seq = last_seq + 1
WHERE status = 'running';

INSERT INTO agents_runevent (run_id, seq, type, payload, at)
SELECT id, last_seq + 1, 'run.restored',
       jsonb_build_object('made_at', :'made_at'::timestamptz), clock_timestamp()
FROM agents_run
WHERE finished_at IS NULL AND home = 'fleet' AND root_id IN (SELECT id FROM heartbit_moving);
UPDATE agents_run SET home = 'restored', woken_at = NULL, last_seq = last_seq + 1
WHERE finished_at IS NULL AND home = 'fleet' AND root_id IN (SELECT id FROM heartbit_moving);

-- The clock of time limits stood still.
UPDATE agents_wait
SET expires_at = expires_at + (clock_timestamp() - :'made_at'::timestamptz),
    escalates_at = escalates_at + (clock_timestamp() - :'made_at'::timestamptz)
WHERE resolved_at IS NULL;

-- Results of ended runs, and webhook messages, may have been sent. Results of live runs are sent when
-- these end.
UPDATE agents_delivery d SET status = 'failed', error = :'sentence'
WHERE NOT :'goes_on'::boolean AND d.status = 'pending'
      AND NOT EXISTS (SELECT FROM agents_run r WHERE r.id = d.run_id AND r.finished_at IS NULL);
UPDATE agents_webhookdelivery SET status = 'failed', error = :'sentence'
WHERE NOT :'goes_on'::boolean AND status = 'pending';
UPDATE agents_webhookendpoint SET events_from = clock_timestamp(), read_from = NULL
WHERE NOT :'goes_on'::boolean;

-- Mails since the backup may have been answered: their mailboxes would be read from there again.
UPDATE agents_channel SET enabled = false, last_error = :'sentence'
WHERE NOT :'goes_on'::boolean AND enabled AND kind = 'email' AND imap_host <> '';

