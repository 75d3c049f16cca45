-- What the sweepers find: dead workers, waits whose time is up, lost doorbells.

-- Requeue what a dead worker held. A run whose slices died p_max_attempts times without progress is
-- quarantined, but only when it was alone: otherwise a neighbour may have done it. Returns the
-- fleet's runs to ring.
CREATE OR REPLACE FUNCTION heartbit_recover(p_worker bigint, p_max_attempts int)
RETURNS TABLE (ring uuid) LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    c record;
    v_ring uuid;
    v_attempts int;
    v_alone boolean;
BEGIN
    SELECT count(*) = 1 INTO v_alone FROM agents_run WHERE worker_id = p_worker AND status = 'running';
    UPDATE agents_workerheartbeat SET gone_at = clock_timestamp() WHERE id = p_worker AND gone_at IS NULL;
    FOR c IN SELECT id, parent_id FROM agents_run
             WHERE worker_id = p_worker AND status = 'running' ORDER BY root_id, id LOOP
        IF c.parent_id IS NOT NULL THEN
            PERFORM 1 FROM agents_run WHERE id = c.parent_id FOR NO KEY UPDATE;
        END IF;
        SELECT * INTO r FROM agents_run
        WHERE id = c.id AND worker_id = p_worker AND status = 'running' FOR NO KEY UPDATE;
        CONTINUE WHEN NOT FOUND;
        v_attempts := CASE WHEN r.last_seq > r.claimed_seq THEN 0 ELSE r.attempts + 1 END;
        IF v_attempts >= p_max_attempts AND v_alone THEN
            v_ring := heartbit_end(r, 'quarantined', NULL, jsonb_build_object(
                'kind', 'internal', 'message', format(
                    'Its worker died %s times without progress; the run is quarantined.', v_attempts)),
                jsonb_build_array(jsonb_build_object('type', 'run.quarantined',
                    'payload', jsonb_build_object('attempts', v_attempts))));
        ELSE
            UPDATE agents_run
            SET status = 'queued', worker_id = NULL, attempts = v_attempts, last_seq = r.last_seq + 1,
                rung_at = CASE WHEN r.home = 'fleet' THEN clock_timestamp() END
            WHERE id = r.id;
            PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq, jsonb_build_array(
                jsonb_build_object('type', 'run.requeued',
                                   'payload', jsonb_build_object('reason', 'worker lost'))));
            v_ring := CASE WHEN r.home = 'fleet' THEN r.id END;
        END IF;
        IF v_ring IS NOT NULL THEN ring := v_ring; RETURN NEXT; END IF;
    END LOOP;
END $$;

-- Resolve waits whose time is up and cancel the children they waited for. Returns runs to ring.
CREATE OR REPLACE FUNCTION heartbit_expire_waits(p_limit int)
RETURNS TABLE (ring uuid) LANGUAGE plpgsql AS $$
DECLARE
    w record;
    v_ring uuid;
BEGIN
    FOR w IN SELECT t.run_id, t.key, t.kind, c.id AS child, c.agent FROM agents_wait t
             LEFT JOIN agents_run c
                 ON c.id = CASE WHEN t.kind = 'child' THEN split_part(t.key, ':', 2)::uuid END
             WHERE t.resolved_at IS NULL AND t.expires_at <= clock_timestamp()
                   -- While a sub-agent waits for a person its orchestrator's patience stands still.
                   AND NOT EXISTS (SELECT 1 FROM agents_wait a WHERE a.run_id = c.id
                                   AND a.kind = 'approval' AND a.resolved_at IS NULL)
             ORDER BY t.run_id, t.id LIMIT p_limit LOOP
        v_ring := heartbit_resolve_wait(w.run_id, w.key, jsonb_build_object(
            'subject', coalesce(w.agent, w.key), 'run', w.child, 'status', 'expired'));
        IF w.child IS NOT NULL THEN
            PERFORM heartbit_cancel(w.child, 'its orchestrator stopped waiting');
        END IF;
        IF v_ring IS NOT NULL THEN ring := v_ring; RETURN NEXT; END IF;
    END LOOP;
END $$;

-- Runs whose doorbell was lost: queued and due, but not claimed. The caller has p_limit free slots,
-- so what comes back can start at once.
CREATE OR REPLACE FUNCTION heartbit_unanswered(p_queues text[], p_limit int, p_older_seconds float)
RETURNS TABLE (ring uuid) LANGUAGE sql AS $$
    UPDATE agents_run SET rung_at = clock_timestamp()
    WHERE id IN (
        SELECT id FROM agents_run
        WHERE status = 'queued' AND home = 'fleet' AND queue = ANY (p_queues)
              AND available_at <= clock_timestamp()
              AND (rung_at IS NULL OR rung_at < clock_timestamp() - make_interval(secs => p_older_seconds))
        ORDER BY priority DESC, available_at LIMIT p_limit FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING id
$$;
