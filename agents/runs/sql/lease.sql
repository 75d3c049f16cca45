-- Writes of a lease's holder, and the end of waits and runs.

-- Lock a run whose lease the caller holds, or raise HB001.
CREATE OR REPLACE FUNCTION heartbit_lock_held(p_run uuid, p_token bigint)
RETURNS agents_run LANGUAGE plpgsql AS $$
DECLARE r agents_run;
BEGIN
    SELECT * INTO r FROM agents_run WHERE id = p_run FOR NO KEY UPDATE;
    IF r.id IS NULL OR r.status <> 'running' OR r.lease_token <> p_token THEN
        RAISE EXCEPTION 'the lease of run % is lost', p_run USING ERRCODE = 'HB001';
    END IF;
    RETURN r;
END $$;

-- Return true if a slice made progress with these events. An intent is no progress: the call may crash
-- the worker each time.
CREATE OR REPLACE FUNCTION heartbit_is_progress(p_events jsonb)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT EXISTS (SELECT 1 FROM jsonb_array_elements(p_events) e WHERE e ->> 'type' <> 'tool.started')
$$;

-- Append events; return the events of other writers that the caller has not folded yet.
CREATE OR REPLACE FUNCTION heartbit_record(p_run uuid, p_token bigint, p_folded int, p_events jsonb)
RETURNS TABLE (last_seq int, now timestamptz, tail jsonb) LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    n int := jsonb_array_length(p_events);
BEGIN
    UPDATE agents_run t
    SET last_seq = t.last_seq + n,
        crashes = CASE WHEN heartbit_is_progress(p_events) THEN 0 ELSE t.crashes END,
        input_tokens = t.input_tokens + heartbit_tokens(p_events, 'input_tokens'),
        output_tokens = t.output_tokens + heartbit_tokens(p_events, 'output_tokens')
    WHERE t.id = p_run AND t.lease_token = p_token AND t.status = 'running'
          AND NOT (t.cancel_requested AND p_events @> '[{"type": "tool.started"}]') RETURNING * INTO r;
    IF NOT FOUND THEN
        r := heartbit_lock_held(p_run, p_token);
        -- The lease is held, so the run is being cancelled: no call may begin, and the tail gives the
        -- reason.
        RETURN QUERY SELECT r.last_seq, clock_timestamp(), heartbit_events(p_run, p_folded, r.last_seq);
        RETURN;
    END IF;
    PERFORM heartbit_journal(p_run, r.workspace_id, r.last_seq - n, p_events);
    RETURN QUERY SELECT r.last_seq, clock_timestamp(), heartbit_events(p_run, p_folded, r.last_seq - n);
END $$;

-- Renew the token of a held lease: writes with the old token are rejected from here on.
CREATE OR REPLACE FUNCTION heartbit_renew(p_run uuid, p_token bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v_token bigint;
BEGIN
    UPDATE agents_run SET lease_token = lease_token + 1
    WHERE id = p_run AND lease_token = p_token AND status = 'running' RETURNING lease_token INTO v_token;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease of run % is lost', p_run USING ERRCODE = 'HB001';
    END IF;
    RETURN v_token;
END $$;

-- Resolve one wait and decrement the run's count of open waits; the call that brings it down to wake_at
-- queues the run. Return the run to wake, or null.
CREATE OR REPLACE FUNCTION heartbit_resolve_wait(p_run uuid, p_key text, p_value jsonb)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    w agents_wait;
BEGIN
    SELECT * INTO r FROM agents_run WHERE id = p_run FOR NO KEY UPDATE;
    UPDATE agents_wait SET value = p_value, resolved_at = clock_timestamp()
    WHERE run_id = p_run AND key = p_key AND resolved_at IS NULL RETURNING * INTO w;
    IF NOT FOUND OR r.finished_at IS NOT NULL THEN
        RETURN NULL; -- late, or the run has ended: a wait of a terminal run never queues it
    END IF;
    PERFORM heartbit_journal(p_run, r.workspace_id, r.last_seq, jsonb_build_array(jsonb_build_object(
        'type', 'wait.resolved', 'payload', jsonb_build_object(
            'key', p_key, 'value', p_value, 'kind', w.kind, 'call_id', w.call_id))));
    UPDATE agents_run
    SET last_seq = last_seq + 1, open_waits = open_waits - 1,
        -- A workflow may end with the first of its children that fails.
        status = CASE WHEN status = 'waiting' AND (open_waits - 1 <= wake_at OR (
                               kind = 'workflow' AND w.child_id IS NOT NULL
                               AND p_value ->> 'status' <> 'succeeded'))
                      THEN 'queued' ELSE status END,
        available_at = clock_timestamp(),
        woken_at = CASE WHEN home = 'fleet' THEN clock_timestamp() END
    WHERE id = p_run RETURNING * INTO r;
    IF r.status <> 'queued' THEN RETURN NULL; END IF;
    IF r.home = 'local' THEN
        PERFORM pg_notify('heartbit', 'ring:' || r.id || ':' || r.root_id); -- possibly another process's run
    END IF;
    RETURN r.id;
END $$;

-- End a run whose row and whose parent's row the caller has locked. Return the run to wake, or null:
-- its parent, or the next run of its conversation.
CREATE OR REPLACE FUNCTION heartbit_end(
    r agents_run, p_status text, p_output text, p_error jsonb, p_events jsonb,
    p_structured jsonb DEFAULT NULL)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    n int := jsonb_array_length(p_events);
    v_next agents_run;
    v_key text;
BEGIN
    UPDATE agents_run
    SET status = p_status, output = p_output, structured = p_structured, error = p_error, finished_at = clock_timestamp(),
        worker_id = NULL, open_waits = 0, last_seq = last_seq + n,
        input_tokens = input_tokens + heartbit_tokens(p_events, 'input_tokens'),
        output_tokens = output_tokens + heartbit_tokens(p_events, 'output_tokens')
    WHERE id = r.id;
    PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq, p_events);
    IF r.open_waits > 0 THEN
        UPDATE agents_wait SET value = '{"status": "void"}', resolved_at = clock_timestamp()
        WHERE run_id = r.id AND resolved_at IS NULL;
    END IF;
    IF p_status <> 'succeeded' THEN
        UPDATE agents_toolcall
        SET status = CASE WHEN status = 'started' THEN 'uncertain' ELSE 'cancelled' END,
            finished_at = clock_timestamp()
        WHERE run_id = r.id AND finished_at IS NULL;
    END IF;
    IF p_status = 'succeeded' AND r.kind = 'agent' AND r.parent_id IS NULL AND r.forked_seq = 0 THEN
        PERFORM heartbit_follow_up(r);
    END IF;
    IF r.parent_id IS NULL THEN
        IF r.conversation_id IS NULL OR r.available_at = heartbit_held() THEN RETURN NULL; END IF;
        -- Choose and lock in one statement: a run that is cancelled meanwhile is checked again and
        -- skipped.
        SELECT t.* INTO v_next FROM agents_run t
        WHERE t.conversation_id = r.conversation_id AND t.status = 'queued'
              AND t.available_at = heartbit_held()
        ORDER BY t.created_at LIMIT 1 FOR NO KEY UPDATE;
        IF NOT FOUND THEN RETURN NULL; END IF;
        UPDATE agents_run
        SET available_at = clock_timestamp(),
            woken_at = CASE WHEN home = 'fleet' THEN clock_timestamp() END
        WHERE id = v_next.id RETURNING * INTO v_next;
        IF v_next.home = 'local' THEN
            PERFORM pg_notify('heartbit', 'ring:' || v_next.id || ':' || v_next.root_id);
        END IF;
        RETURN v_next.id;
    END IF;
    IF p_status = 'succeeded' AND NOT EXISTS (
            SELECT FROM agents_run t WHERE t.id = r.parent_id AND t.kind = 'workflow') THEN
        INSERT INTO agents_blackboardentry (root_id, key, value, author, updated_at)
        VALUES (r.root_id, 'agent:' || r.agent, coalesce(p_structured, to_jsonb(p_output)), r.agent,
                clock_timestamp())
        ON CONFLICT (root_id, key) DO UPDATE
        SET value = excluded.value, author = excluded.author, updated_at = excluded.updated_at;
    END IF;
    SELECT w.key INTO v_key FROM agents_wait w WHERE w.child_id = r.id;
    RETURN heartbit_resolve_wait(r.parent_id, v_key, jsonb_build_object(
        'subject', r.agent, 'run', r.id, 'status', p_status, 'output', p_output,
        'structured', p_structured, 'error', p_error, 'usage', heartbit_usage(r.id)));
END $$;

-- Cancel the children of a run that has ended.
CREATE OR REPLACE FUNCTION heartbit_cancel_children(p_run uuid)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM heartbit_cancel(c.id, 'The run that waited for it has ended.')
    FROM (SELECT t.id FROM agents_run t
          WHERE t.parent_id = p_run AND t.finished_at IS NULL ORDER BY t.id) c;
END $$;

-- Finish a held run. If its journal has grown since p_folded, write nothing and return the tail, to be
-- folded first.
CREATE OR REPLACE FUNCTION heartbit_finish(
    p_run uuid, p_token bigint, p_folded int, p_status text, p_output text, p_error jsonb,
    p_events jsonb, p_structured jsonb DEFAULT NULL)
RETURNS TABLE (moved boolean, last_seq int, tail jsonb, ring uuid, ring_queue text)
LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    v_parent uuid;
    v_queue text;
    v_ring uuid;
BEGIN
    SELECT t.parent_id INTO v_parent FROM agents_run t WHERE t.id = p_run;
    IF v_parent IS NOT NULL THEN
        SELECT t.queue INTO v_queue FROM agents_run t WHERE t.id = v_parent FOR NO KEY UPDATE;
    END IF;
    r := heartbit_lock_held(p_run, p_token);
    IF r.last_seq <> p_folded THEN
        RETURN QUERY SELECT true, r.last_seq, heartbit_events(p_run, p_folded, r.last_seq),
            NULL::uuid, NULL::text;
        RETURN;
    END IF;
    v_ring := heartbit_end(r, p_status, p_output, p_error, p_events, p_structured);
    -- A workflow may end while some of its children still run.
    IF r.open_waits > 0 THEN PERFORM heartbit_cancel_children(r.id); END IF;
    IF v_parent IS NULL AND v_ring IS NOT NULL THEN
        SELECT t.queue INTO v_queue FROM agents_run t WHERE t.id = v_ring;
    END IF;
    RETURN QUERY SELECT false, r.last_seq + jsonb_array_length(p_events), '[]'::jsonb, v_ring, v_queue;
END $$;

-- Suspend a held run: create its waits, and the child runs of those that wait for one, and release the
-- worker. If the journal has grown since p_folded, write nothing. A wait is {kind, asks_person, key,
-- call_id, timeout_seconds, escalate_seconds} as its kind declares it (agents/journal/waits.py), for a
-- child with {id, agent, task} too; the first version of Heartbit sends neither kind nor key for a
-- child. A child runs the version of its agent with this hash, else the current one, and with `strong`
-- that version's stronger model, if it has one. A workflow's child may delegate to its team.
-- p_keep: the run keeps its worker, and does other work while the waits are open; `tail` is what was
-- written then.
-- `queues`: the queues of the children.
CREATE OR REPLACE FUNCTION heartbit_suspend(
    p_run uuid, p_token bigint, p_folded int, p_events jsonb, p_waits jsonb,
    p_wake_at int DEFAULT 0, p_keep boolean DEFAULT false)
RETURNS TABLE (moved boolean, last_seq int, tail jsonb, queues text[]) LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    a agents_agent;
    w jsonb;
    v_version agents_agentversion;
    n int := jsonb_array_length(p_events);
BEGIN
    r := heartbit_lock_held(p_run, p_token);
    IF r.last_seq <> p_folded THEN
        RETURN QUERY SELECT true, r.last_seq, heartbit_events(p_run, p_folded, r.last_seq), NULL::text[];
        RETURN;
    END IF;
    IF r.open_waits > 0 AND p_waits @> '[{"kind": "review"}]' THEN
        -- A workflow has its result although others of its waits are open: they are over, as at its end.
        UPDATE agents_wait SET value = '{"status": "void"}', resolved_at = clock_timestamp()
        WHERE run_id = r.id AND resolved_at IS NULL;
        UPDATE agents_run SET open_waits = 0 WHERE id = r.id;
        PERFORM heartbit_cancel_children(r.id);
    END IF;
    FOR w IN SELECT value FROM jsonb_array_elements(p_waits) LOOP
        IF w ? 'agent' THEN
            SELECT t.* INTO a FROM agents_agent t
            WHERE t.workspace_id = r.workspace_id AND t.name = w ->> 'agent' AND t.origin = (
                      -- A draft has the agent's team, which is published.
                      SELECT CASE WHEN o.origin = 'draft' THEN '' ELSE o.origin END
                      FROM agents_agentversion v JOIN agents_agent o ON o.id = v.agent_id
                      WHERE v.id = r.version_id)
                  AND t.enabled AND t.current_version_id IS NOT NULL;
            SELECT t.* INTO v_version FROM agents_agentversion t
            WHERE t.agent_id = a.id
                  AND CASE WHEN w ? 'version' THEN t.hash = w ->> 'version'
                           ELSE t.id = a.current_version_id END;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'The agent % is gone or stopped: go on without it, or ask another one.',
                    w ->> 'agent' USING ERRCODE = 'HB004', DETAIL = w ->> 'agent';
            END IF;
            PERFORM heartbit_create_run(
                (w ->> 'id')::uuid, r.workspace_id,
                v_version.id, a.name::text, w ->> 'task',
                r.id, r.root_id, r.home, coalesce(w ->> 'queue', a.queue::text), r.priority,
                r.model::text, coalesce(
                    w ->> 'model',
                    CASE WHEN w ? 'strong' THEN nullif(v_version.snapshot ->> 'strong_model', '') END,
                    r.model_override::text), NULL, r.approve,
                w -> 'payload', (w ->> 'conversation')::uuid, p_call => w -> 'call',
                p_more => jsonb_strip_nulls(jsonb_build_object(
                    'may_delegate', CASE WHEN r.kind = 'workflow' THEN true END))
                    || CASE WHEN w ? 'response_schema'
                            THEN jsonb_build_object('response_schema', w -> 'response_schema')
                            ELSE '{}' END);
            queues := array_append(queues, coalesce(w ->> 'queue', a.queue::text));
        END IF;
        INSERT INTO agents_wait
            (run_id, key, kind, asks_person, child_id, call_id, timeout_seconds, expires_at,
             escalates_at, created_at)
        VALUES (r.id, coalesce(w ->> 'key', 'child:' || (w ->> 'id')), coalesce(w ->> 'kind', 'child'),
                coalesce((w ->> 'asks_person')::boolean, false), (w ->> 'id')::uuid, w ->> 'call_id', (w ->> 'timeout_seconds')::float,
                clock_timestamp() + make_interval(secs => (w ->> 'timeout_seconds')::float),
                clock_timestamp() + make_interval(secs => (w ->> 'escalate_seconds')::float),
                clock_timestamp());
    END LOOP;
    UPDATE agents_run
    SET status = CASE WHEN p_keep THEN status ELSE 'waiting' END,
        worker_id = CASE WHEN p_keep THEN worker_id END,
        crashes = CASE WHEN p_keep THEN crashes ELSE 0 END,
        last_seq = agents_run.last_seq + n,
        wake_at = p_wake_at,
        open_waits = agents_run.open_waits + jsonb_array_length(p_waits),
        input_tokens = agents_run.input_tokens + heartbit_tokens(p_events, 'input_tokens'),
        output_tokens = agents_run.output_tokens + heartbit_tokens(p_events, 'output_tokens')
    WHERE id = r.id;
    PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq, p_events);
    RETURN QUERY SELECT false, r.last_seq + n,
        CASE WHEN p_keep THEN heartbit_events(r.id, r.last_seq, r.last_seq + n) ELSE '[]' END, queues;
END $$;

-- Requeue a held run (for a drain, or after a database outage). Return false if the lease was lost.
CREATE OR REPLACE FUNCTION heartbit_release(
    p_run uuid, p_token bigint, p_reason text, p_delay_seconds float)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE r agents_run;
BEGIN
    UPDATE agents_run t
    SET status = 'queued', worker_id = NULL, last_seq = t.last_seq + 1,
        available_at = clock_timestamp() + make_interval(secs => p_delay_seconds),
        woken_at = CASE WHEN t.home = 'fleet' THEN clock_timestamp() END
    WHERE t.id = p_run AND t.lease_token = p_token AND t.status = 'running' RETURNING * INTO r;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM heartbit_journal(p_run, r.workspace_id, r.last_seq - 1, jsonb_build_array(
        jsonb_build_object('type', 'run.requeued', 'payload', jsonb_build_object('reason', p_reason))));
    RETURN true;
END $$;
