-- Sweeps: lost workers, expired waits and lost wake-ups; operations on quarantined runs.

-- Requeue the runs of a lost worker. A run whose workers crashed p_max_attempts times since its last
-- progress is quarantined, but only if it was the worker's only run: otherwise another run may have
-- caused the crash. Return the fleet's runs to wake, and the quarantined runs.
CREATE OR REPLACE FUNCTION heartbit_recover(p_worker bigint, p_max_attempts int)
RETURNS TABLE (ring uuid, quarantined uuid) LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    c record;
    v_ring uuid;
    v_attempts int;
    v_alone boolean;
    v_left boolean;
    v_queues jsonb;
BEGIN
    SELECT count(*) = 1 INTO v_alone FROM agents_run WHERE worker_id = p_worker AND status = 'running';
    UPDATE agents_workerheartbeat w SET left_at = clock_timestamp(), lost = true
    WHERE w.id = p_worker AND w.left_at IS NULL
    RETURNING w.queues, w.beat_at < pg_postmaster_start_time() INTO v_queues, v_left;
    IF NOT FOUND THEN
        -- No run is to blame if the worker had left before, for a reason of its own, or (see v_left
        -- above) if its last heartbeat is older than the start of the database.
        v_left := true;
        v_queues := NULL;
    END IF;
    FOR c IN SELECT id, parent_id FROM agents_run
             WHERE worker_id = p_worker AND status = 'running' ORDER BY root_id, id LOOP
        IF c.parent_id IS NOT NULL THEN
            PERFORM 1 FROM agents_run WHERE id = c.parent_id FOR NO KEY UPDATE;
        END IF;
        SELECT * INTO r FROM agents_run
        WHERE id = c.id AND worker_id = p_worker AND status = 'running' FOR NO KEY UPDATE;
        CONTINUE WHEN NOT FOUND;
        v_attempts := r.crashes + CASE WHEN v_left THEN 0 ELSE 1 END;
        IF v_attempts >= p_max_attempts AND v_alone AND NOT v_left THEN
            v_ring := heartbit_end(r, 'quarantined', NULL, jsonb_build_object(
                'kind', 'internal', 'message', format(
                    'Its worker died %s times without progress; the run is quarantined.', v_attempts)),
                jsonb_build_array(jsonb_build_object('type', 'run.quarantined',
                    'payload', jsonb_build_object('attempts', v_attempts))));
            PERFORM heartbit_cancel_children(r.id);
            quarantined := r.id;
        ELSE
            UPDATE agents_run
            SET status = 'queued', worker_id = NULL, crashes = v_attempts, last_seq = r.last_seq + 1,
                woken_at = CASE WHEN r.home = 'fleet' THEN clock_timestamp() END
            WHERE id = r.id;
            PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq, jsonb_build_array(
                jsonb_build_object('type', 'run.requeued',
                                   'payload', jsonb_build_object('reason', 'worker lost'))));
            v_ring := CASE WHEN r.home = 'fleet' THEN r.id END;
        END IF;
        ring := v_ring;
        IF ring IS NOT NULL OR quarantined IS NOT NULL THEN RETURN NEXT; END IF;
        quarantined := NULL;
    END LOOP;
    -- The worker may have consumed wake-ups without serving them. Recent wake-ups count as lost; older
    -- ones are repeated anyway. Do this last and skip locked rows: these runs may be children of other
    -- runs.
    UPDATE agents_run SET woken_at = NULL
    WHERE id IN (SELECT t.id FROM agents_run t
                 WHERE t.status = 'queued' AND t.home = 'fleet'
                       AND t.woken_at > clock_timestamp() - interval '10 seconds'
                       AND t.queue IN (SELECT jsonb_array_elements_text(v_queues))
                 FOR NO KEY UPDATE SKIP LOCKED);
END $$;

-- Return the run whose pause also stops a wait's timeout: the child itself, or for a question the run
-- of the asker, which was promised to continue in time without an answer. Null: none.
CREATE OR REPLACE FUNCTION heartbit_paced_by(p_waiting uuid, p_child uuid)
RETURNS uuid LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM 1 FROM agents_message m WHERE m.run_id = p_child AND m.kind = 'request';
    RETURN CASE WHEN FOUND THEN p_waiting ELSE p_child END;
END $$;

-- Restart the timeouts of waits paced by runs that are resumed, each with its full length.
CREATE OR REPLACE FUNCTION heartbit_renew_patience(p_agent bigint, p_queue text, p_workspace bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE agents_wait t SET expires_at = clock_timestamp() + make_interval(secs => t.timeout_seconds)
    WHERE t.id IN (SELECT w.id FROM agents_wait w
                   JOIN agents_run c ON c.id = w.child_id
                   JOIN agents_run p ON p.id = heartbit_paced_by(w.run_id, c.id)
                   JOIN agents_agentversion v ON v.id = p.version_id
                   WHERE w.resolved_at IS NULL AND w.timeout_seconds IS NOT NULL
                         AND c.finished_at IS NULL AND (p_agent IS NULL OR v.agent_id = p_agent)
                         AND (p_queue IS NULL OR p.queue = p_queue)
                         AND (p_workspace IS NULL OR p.workspace_id = p_workspace)
                   FOR NO KEY UPDATE OF w SKIP LOCKED);
END $$;

-- Resolve expired waits and cancel the children that they waited for. Return the runs to wake, and the
-- waits whose calls are refused by the expiry, which the caller records in the audit.
CREATE OR REPLACE FUNCTION heartbit_expire_waits(p_limit int)
RETURNS TABLE (ring uuid, refused bigint) LANGUAGE plpgsql AS $$
DECLARE
    w record;
BEGIN
    FOR w IN SELECT t.id, t.run_id, t.key, t.kind, t.asks_person, c.id AS child, c.agent
             FROM agents_wait t
             LEFT JOIN agents_run c ON c.id = t.child_id
             LEFT JOIN agents_run p ON p.id = heartbit_paced_by(t.run_id, c.id)
             -- Stable within the statement, so that the index on the times can be used.
             WHERE t.resolved_at IS NULL AND t.expires_at <= statement_timestamp()
                   -- While a sub-agent waits for a person, its orchestrator's timeout does not expire.
                   AND NOT EXISTS (SELECT 1 FROM agents_wait a WHERE a.run_id = c.id
                                   AND a.asks_person AND a.resolved_at IS NULL)
                   AND NOT heartbit_is_stopped(p)
             -- Waits for people come last: they take no lock that they would have to wait for.
             ORDER BY t.asks_person, t.run_id, t.id LIMIT p_limit LOOP
        IF w.asks_person THEN
            SELECT x.ring, CASE WHEN x.done AND w.kind = 'approval' THEN w.id END INTO ring, refused
            FROM heartbit_expire_asked(w.run_id, w.key) x;
        ELSE
            ring := heartbit_resolve_wait(w.run_id, w.key, jsonb_build_object(
                'subject', coalesce(w.agent, w.key), 'run', w.child, 'status', 'expired'));
            IF w.child IS NOT NULL THEN
                PERFORM heartbit_cancel(w.child, 'its orchestrator stopped waiting');
            END IF;
        END IF;
        IF ring IS NOT NULL OR refused IS NOT NULL THEN RETURN NEXT; END IF;
    END LOOP;
END $$;

-- End the queued and waiting runs whose max_wall_seconds is over, with their descendants; a running one
-- ends itself. Return the runs that have ended, each with the run to wake.
CREATE OR REPLACE FUNCTION heartbit_end_overdue(p_limit int)
RETURNS TABLE (ended uuid, ring uuid) LANGUAGE plpgsql AS $$
DECLARE
    c record;
    r agents_run;
    v_error jsonb;
BEGIN
    FOR c IN SELECT t.id, t.parent_id, (v.snapshot #>> '{limits,max_wall_seconds}')::float AS most
             FROM agents_run t JOIN agents_agentversion v ON v.id = t.version_id
             WHERE t.finished_at IS NULL AND t.status IN ('queued', 'waiting')
                   AND (v.snapshot -> 'limits') ? 'max_wall_seconds'
                   AND t.created_at <= statement_timestamp()
                       - make_interval(secs => (v.snapshot #>> '{limits,max_wall_seconds}')::float)
             ORDER BY t.root_id, t.id LIMIT p_limit LOOP
        IF c.parent_id IS NOT NULL THEN
            PERFORM 1 FROM agents_run WHERE id = c.parent_id FOR NO KEY UPDATE;
        END IF;
        SELECT * INTO r FROM agents_run t
        WHERE t.id = c.id AND t.status IN ('queued', 'waiting') FOR NO KEY UPDATE;
        CONTINUE WHEN NOT FOUND; -- a worker or a person was faster
        v_error := jsonb_build_object('kind', 'limit', 'limit', 'max_wall_seconds', 'message', format(
            'Stopped %s s after it was accepted, waits included (max_wall_seconds).', c.most));
        ring := heartbit_end(r, 'failed', NULL, v_error, jsonb_build_array(jsonb_build_object(
            'type', 'run.failed', 'payload', v_error || '{"partial": ""}')));
        PERFORM heartbit_cancel_children(r.id);
        ended := r.id;
        RETURN NEXT;
    END LOOP;
END $$;

-- Escalate the undecided calls of one placement's runs to their escalation group, once each. Return
-- their waits, which the caller records in the audit.
CREATE OR REPLACE FUNCTION heartbit_escalate_approvals(p_home text, p_limit int)
RETURNS TABLE (escalated bigint) LANGUAGE plpgsql AS $$
DECLARE
    w record;
    r agents_run;
BEGIN
    FOR w IN SELECT t.id, t.run_id, t.key, t.call_id, c.approval_view ->> 'escalate_group' AS more
             FROM agents_wait t
             JOIN agents_run o ON o.id = t.run_id AND o.home = p_home
             LEFT JOIN agents_toolcall c ON c.run_id = t.run_id AND c.call_id = t.call_id
             -- Stable within the statement, so that the index on the times can be used.
             WHERE t.escalates_at <= statement_timestamp() AND t.escalated_at IS NULL
                   AND t.resolved_at IS NULL
             ORDER BY t.run_id, t.id LIMIT p_limit LOOP
        -- Leave a run that another transaction has locked to the next sweep: this function never waits.
        SELECT * INTO r FROM agents_run t
        WHERE t.id = w.run_id AND t.finished_at IS NULL FOR NO KEY UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        UPDATE agents_wait t SET escalated_at = clock_timestamp()
        WHERE t.id = w.id AND t.escalated_at IS NULL AND t.resolved_at IS NULL
              AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
        CONTINUE WHEN NOT FOUND; -- another sweeper or a person was faster, or the wait has expired
        PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq, jsonb_build_array(jsonb_build_object(
            'type', 'approval.escalated', 'payload', jsonb_build_object(
                'call_id', w.call_id, 'key', w.key, 'group', coalesce(w.more, '')))));
        UPDATE agents_run t SET last_seq = t.last_seq + 1 WHERE t.id = r.id;
        escalated := w.id;
        RETURN NEXT;
    END LOOP;
END $$;

-- Return runs whose wake-up was lost: queued and due, but not claimed. The caller has p_limit free
-- slots, so the returned runs can start at once; a limited workspace gets no more than it has room for.
-- Take one run of each workspace, then a second one of each, and so on, whatever their priorities, so
-- that no workspace takes all slots.
CREATE OR REPLACE FUNCTION heartbit_unanswered(p_queues text[], p_limit int, p_older_seconds float)
RETURNS TABLE (ring uuid) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off
SET random_page_cost = 0 SET seq_page_cost = 0 AS $$
DECLARE
    w bigint := -1;
    v_more uuid[];
    v_ids uuid[] := '{}';
    v_turns int[] := '{}';
    v_served int := 0;
    v_now timestamptz := clock_timestamp();
    v_before timestamptz := v_now - make_interval(secs => p_older_seconds);
    v_stopped bigint[] := heartbit_stopped();
    v_halted bigint[] := heartbit_halted();
    v_paused text[] := heartbit_paused();
BEGIN
    WHILE v_served < p_limit LOOP
        w := heartbit_next_waiting(p_queues, w);
        EXIT WHEN w IS NULL;
        CONTINUE WHEN heartbit_halts(w, v_halted);
        v_more := ARRAY(
            SELECT t.id FROM unnest(p_queues) u(queue) CROSS JOIN LATERAL (
                SELECT x.id, x.priority, x.available_at FROM agents_run x
                WHERE x.status = 'queued' AND x.home = 'fleet' AND x.queue = u.queue
                      AND x.workspace_id = w
                      AND x.available_at <= v_now AND x.version_id <> ALL (v_stopped)
                      AND (x.woken_at IS NULL OR x.woken_at < v_before)
                ORDER BY x.priority DESC, x.available_at LIMIT p_limit - v_served) t
            WHERE u.queue <> ALL (v_paused)
            ORDER BY t.priority DESC, t.available_at
            LIMIT greatest(least(p_limit - v_served, heartbit_room(w)), 0));
        CONTINUE WHEN v_more = '{}';
        v_served := v_served + 1;
        v_ids := v_ids || v_more;
        v_turns := v_turns || ARRAY(SELECT generate_subscripts(v_more, 1));
    END LOOP;
    RETURN QUERY UPDATE agents_run SET woken_at = clock_timestamp()
        WHERE id IN (SELECT t.id FROM agents_run t
                     WHERE t.status = 'queued' AND t.id IN (
                         SELECT x.id FROM unnest(v_ids, v_turns) x(id, turn)
                         ORDER BY x.turn LIMIT p_limit)
                     FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING id;
END $$;

-- Lock a quarantined run, its parent first, or raise HB005.
CREATE OR REPLACE FUNCTION heartbit_lock_quarantined(p_run uuid)
RETURNS agents_run LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    v_parent uuid;
BEGIN
    SELECT t.parent_id INTO v_parent FROM agents_run t WHERE t.id = p_run;
    IF v_parent IS NOT NULL THEN
        PERFORM 1 FROM agents_run t WHERE t.id = v_parent FOR NO KEY UPDATE;
    END IF;
    SELECT * INTO r FROM agents_run WHERE id = p_run FOR NO KEY UPDATE;
    IF r.id IS NULL OR r.status <> 'quarantined' THEN
        RAISE EXCEPTION 'The run is not in quarantine: it has %.', coalesce(r.status, 'gone')
            USING ERRCODE = 'HB005';
    END IF;
    RETURN r;
END $$;

-- Unquarantine a run: it continues where it stopped, in isolation. Return the run to wake.
CREATE OR REPLACE FUNCTION heartbit_revive(p_run uuid, p_by text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE r agents_run;
BEGIN
    -- Lock the conversation before the run, as everywhere, so that no message arrives in between.
    PERFORM 1 FROM agents_conversation v JOIN agents_run t ON t.conversation_id = v.id
    WHERE t.id = p_run FOR NO KEY UPDATE OF v;
    r := heartbit_lock_quarantined(p_run);
    IF r.parent_id IS NOT NULL THEN
        RAISE EXCEPTION 'Its orchestrator has gone on without it: retry its task as a new run.'
            USING ERRCODE = 'HB005';
    END IF;
    -- A workflow may have been quarantined while earlier calls of it waited. Their waits are void.
    PERFORM 1 FROM agents_wait w JOIN agents_toolcall c ON c.run_id = w.run_id AND c.call_id = w.call_id
    WHERE r.kind = 'workflow' AND w.run_id = r.id AND w.value = '{"status": "void"}'
          AND NOT EXISTS (SELECT FROM agents_runevent e
                          WHERE e.run_id = r.id AND e.type = 'graph.committed'
                                AND e.payload -> 'cancelled' ? w.call_id);
    IF FOUND THEN
        RAISE EXCEPTION 'Calls that waited have ended with it: fork it from its last superstep.'
            USING ERRCODE = 'HB005';
    END IF;
    PERFORM 1 FROM agents_run t
    WHERE t.conversation_id = r.conversation_id AND t.created_at > r.created_at
          AND (t.started_at IS NOT NULL OR t.finished_at IS NULL);
    IF FOUND THEN
        RAISE EXCEPTION 'Its conversation has gone on without it: retry its task as a new run.'
            USING ERRCODE = 'HB005';
    END IF;
    UPDATE agents_run
    SET status = 'queued', finished_at = NULL, error = NULL, crashes = heartbit_suspicious(),
        cancel_requested = false, available_at = clock_timestamp(), last_seq = last_seq + 1,
        woken_at = CASE WHEN home = 'fleet' THEN clock_timestamp() END
    WHERE id = p_run;
    PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq, jsonb_build_array(jsonb_build_object(
        'type', 'run.unquarantined', 'payload', jsonb_build_object('by', p_by))));
    -- Quarantine closed the run's calls; reopen those without a result.
    UPDATE agents_toolcall c
    SET status = CASE c.status WHEN 'uncertain' THEN 'started' ELSE 'pending' END, finished_at = NULL
    WHERE c.run_id = p_run AND c.status IN ('uncertain', 'cancelled')
          AND NOT EXISTS (SELECT 1 FROM agents_runevent e WHERE e.run_id = p_run
                          AND (e.type = 'tool.finished' AND e.payload ->> 'call_id' = c.call_id
                               OR e.type = 'graph.committed' AND e.payload -> 'cancelled' ? c.call_id));
    RETURN CASE WHEN r.home = 'fleet' THEN r.id END;
END $$;

-- Discard a quarantined run.
CREATE OR REPLACE FUNCTION heartbit_discard(p_run uuid, p_by text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE r agents_run;
BEGIN
    r := heartbit_lock_quarantined(p_run);
    UPDATE agents_run SET status = 'cancelled', last_seq = last_seq + 1 WHERE id = p_run;
    PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq, jsonb_build_array(jsonb_build_object(
        'type', 'run.discarded', 'payload', jsonb_build_object('by', p_by))));
END $$;
