-- The journal's writes. Each function is one transaction's worth of work in one round trip, so that
-- a rule such as "resolve the wait and count it down under the parent's lock" stands in one place
-- for every caller: the async runtime, Django's connections and the sweeper.
--
-- Lock order everywhere: parent before child, siblings by id. Row locks are FOR NO KEY UPDATE: no
-- key ever changes, and a foreign key's check at commit must not wait for a run that is being moved.
-- Errors: HB001 = the lease is lost (another claim, or the run is no longer running);
--         HB004 = a definition that the run needs is gone;
--         HB005 = what was to be decided, or steered, is no longer open; the message says why.
--
-- New parameters come last and have defaults: in a rolling deploy the former version calls too.

-- ---------------------------------------------------------------------------------------- journal

-- A count of tokens as its columns can hold it.
CREATE OR REPLACE FUNCTION heartbit_count(p_text text)
RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT least(greatest(coalesce(p_text, '0')::numeric, 0), 2147483647)::int
$$;

-- Insert events after sequence number p_after and project them onto calls and the usage ledger.
CREATE OR REPLACE FUNCTION heartbit_journal(p_run uuid, p_workspace bigint, p_after int, p_events jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_seq int := p_after;
    v_event jsonb;
    p jsonb;
BEGIN
    FOR v_event IN SELECT value FROM jsonb_array_elements(p_events) LOOP
        v_seq := v_seq + 1;
        p := v_event -> 'payload';
        INSERT INTO agents_runevent (run_id, seq, type, payload, at)
        VALUES (p_run, v_seq, v_event ->> 'type', p, v_now);
        CASE v_event ->> 'type'
        WHEN 'model.answered', 'context.summarized' THEN
            INSERT INTO base_usageentry
                (workspace_id, run_id, turn, model, input_tokens, output_tokens,
                 cached_input_tokens, cost_usd, at)
            -- The figures are the provider's: out of range, they must not refuse the answer.
            VALUES (p_workspace, p_run, (p ->> 'turn')::int, left(p ->> 'model', 200),
                    heartbit_count(p #>> '{usage,input_tokens}'),
                    heartbit_count(p #>> '{usage,output_tokens}'),
                    heartbit_count(p #>> '{usage,cached_input_tokens}'),
                    CASE WHEN (p ->> 'cost_usd')::numeric BETWEEN 0 AND 999999
                         THEN (p ->> 'cost_usd')::numeric END, v_now);
            IF coalesce(jsonb_array_length(p #> '{message,tool_calls}'), 0) > 0 THEN
                INSERT INTO agents_toolcall
                    (run_id, call_id, provider_id, tool, arguments, effect, status, digest,
                     idempotency_key)
                SELECT p_run, (p ->> 'turn') || '.' || (n - 1), left(c ->> 'id', 200),
                       left(c ->> 'name', 200), c ->> 'arguments', '', 'pending', '',
                       p_run || ':' || (p ->> 'turn') || '.' || (n - 1)
                FROM jsonb_array_elements(p #> '{message,tool_calls}') WITH ORDINALITY AS t(c, n);
            END IF;
        WHEN 'tool.started' THEN
            UPDATE agents_toolcall SET status = 'started', effect = p ->> 'effect', started_at = v_now
            WHERE run_id = p_run AND call_id = p ->> 'call_id';
        WHEN 'tool.finished' THEN
            UPDATE agents_toolcall
            SET status = p ->> 'status', effect = p ->> 'effect', result = p ->> 'content',
                started_at = coalesce(
                    started_at, v_now - make_interval(secs => (p ->> 'duration_ms')::int / 1000.0)),
                finished_at = v_now
            WHERE run_id = p_run AND call_id = p ->> 'call_id';
        WHEN 'approval.requested' THEN
            UPDATE agents_toolcall
            SET status = 'waiting', effect = p ->> 'effect', digest = p ->> 'digest',
                shown = jsonb_build_object(
                    'tool', p -> 'tool', 'arguments', p -> 'arguments', 'reason', p -> 'reason')
            WHERE run_id = p_run AND call_id = p ->> 'call_id';
        WHEN 'call.waiting' THEN
            UPDATE agents_toolcall SET status = 'waiting', started_at = v_now
            WHERE run_id = p_run AND call_id = p ->> 'call_id';
        ELSE
            NULL;
        END CASE;
    END LOOP;
END $$;

-- Tokens that a batch of events adds to the run's row.
CREATE OR REPLACE FUNCTION heartbit_tokens(p_events jsonb, p_field text)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(sum(heartbit_count(e #>> ARRAY['payload', 'usage', p_field])), 0)
    FROM jsonb_array_elements(p_events) AS e
    WHERE e ->> 'type' IN ('model.answered', 'context.summarized')
$$;

-- Events p_after < seq <= p_upto in the form agents.events.decode_row reads.
CREATE OR REPLACE FUNCTION heartbit_events(p_run uuid, p_after int, p_upto int)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object(
               'seq', seq, 'type', type, 'payload', payload, 'at', at) ORDER BY seq), '[]')
    FROM agents_runevent WHERE run_id = p_run AND seq > p_after AND seq <= p_upto
$$;

-- ----------------------------------------------------------------------------------------- create

-- When a run may start that waits for the run before it on its conversation: not before that ends.
CREATE OR REPLACE FUNCTION heartbit_held()
RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT timestamptz '9999-01-01 00:00:00+00' $$;

-- Its model: asked for with the run, else the agent's own, else p_fallback (its parent's); still
-- empty, the first claim settles it.
CREATE OR REPLACE FUNCTION heartbit_create_run(
    p_id uuid, p_workspace bigint, p_version bigint, p_agent text, p_task text, p_parent uuid,
    p_root uuid, p_home text, p_queue text, p_priority int, p_fallback text, p_override text, p_key text,
    p_approve boolean DEFAULT false, p_payload jsonb DEFAULT NULL, p_conversation uuid DEFAULT NULL,
    p_held boolean DEFAULT false)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE v_id uuid;
BEGIN
    INSERT INTO agents_run
        (id, workspace_id, kind, version_id, agent, parent_id, root_id, status, task, model,
         model_override, input_tokens, output_tokens, priority, queue, home, lease_token, attempts,
         claimed_seq, last_seq, open_waits, rung_at, cancel_requested, idempotency_key,
         approve, payload, conversation_id, created_at, available_at)
    VALUES (p_id, p_workspace, 'agent', p_version, p_agent, p_parent, p_root, 'queued', p_task,
            coalesce(nullif(p_override, ''), nullif((
                SELECT snapshot ->> 'model' FROM agents_agentversion WHERE id = p_version), ''),
                p_fallback),
            p_override, 0, 0, p_priority, p_queue, p_home, 0, 0,
            0, 1, 0, CASE WHEN p_home = 'fleet' AND NOT p_held THEN clock_timestamp() END, false, p_key,
            p_approve, p_payload, p_conversation, clock_timestamp(),
            CASE WHEN p_held THEN heartbit_held() ELSE clock_timestamp() END)
    ON CONFLICT (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id INTO v_id;
    IF v_id IS NULL THEN
        SELECT id INTO v_id FROM agents_run WHERE workspace_id = p_workspace AND idempotency_key = p_key;
        RETURN v_id;
    END IF;
    PERFORM heartbit_journal(v_id, p_workspace, 0, jsonb_build_array(jsonb_build_object(
        'type', 'run.created', 'payload', jsonb_build_object('task', p_task, 'agent', p_agent))));
    RETURN v_id;
END $$;

-- Accept a root run of a published agent. No row: the workspace has no such agent.
-- is_new is false when the idempotency key had been used: then run_id is the earlier run's.
CREATE OR REPLACE FUNCTION heartbit_submit(
    p_id uuid, p_workspace bigint, p_agent text, p_task text, p_home text, p_priority int,
    p_override text, p_key text, p_origin text DEFAULT '', p_approve boolean DEFAULT false,
    p_payload jsonb DEFAULT NULL, p_conversation uuid DEFAULT NULL, p_held boolean DEFAULT false)
RETURNS TABLE (run_id uuid, queue text, is_new boolean) LANGUAGE plpgsql AS $$
DECLARE a agents_agent;
BEGIN
    SELECT t.* INTO a FROM agents_agent t
    WHERE t.workspace_id = p_workspace AND t.origin = p_origin AND t.name = p_agent
          AND t.enabled AND t.current_version_id IS NOT NULL;
    IF NOT FOUND THEN RETURN; END IF;
    run_id := heartbit_create_run(
        p_id, p_workspace, a.current_version_id, a.name::text, p_task, NULL, p_id, p_home,
        a.queue::text, p_priority, '', p_override, p_key, p_approve, p_payload, p_conversation, p_held);
    queue := a.queue;
    is_new := run_id = p_id;
    RETURN NEXT;
END $$;

-- A message to a conversation. `outcome` is new, held (it starts when the run before it ends),
-- steered (given to the run under way, whose id comes back) or refused (likewise). No row: the
-- workspace has no such agent.
CREATE OR REPLACE FUNCTION heartbit_converse(
    p_conversation uuid, p_policy text, p_id uuid, p_workspace bigint, p_agent text, p_task text,
    p_home text, p_priority int, p_override text, p_key text, p_origin text, p_approve boolean,
    p_payload jsonb, p_by text)
RETURNS TABLE (run_id uuid, queue text, is_new boolean, outcome text) LANGUAGE plpgsql AS $$
DECLARE
    l agents_run;
    v_live uuid;
    v_held boolean;
BEGIN
    -- Messages one after the other; and none while the run under way is ending, which would leave
    -- a held run that nobody starts.
    PERFORM 1 FROM agents_conversation WHERE id = p_conversation FOR NO KEY UPDATE;
    SELECT t.id INTO v_live FROM agents_run t
    WHERE t.workspace_id = p_workspace AND t.idempotency_key = p_key;
    IF FOUND THEN
        RETURN QUERY SELECT v_live, t.queue::text, false, 'new' FROM agents_run t WHERE t.id = v_live;
        RETURN;
    END IF;
    IF p_key IS NOT NULL THEN
        SELECT e.run_id INTO v_live FROM agents_runevent e JOIN agents_run t ON t.id = e.run_id
        WHERE t.conversation_id = p_conversation AND e.type = 'run.steered'
              AND e.payload ->> 'key' = p_key LIMIT 1;
        IF FOUND THEN
            RETURN QUERY SELECT v_live, ''::text, false, 'steered';
            RETURN;
        END IF;
    END IF;
    SELECT t.* INTO l FROM agents_run t
    WHERE t.conversation_id = p_conversation AND t.finished_at IS NULL
    ORDER BY t.created_at LIMIT 1 FOR NO KEY UPDATE;
    v_held := FOUND;
    IF v_held AND p_policy = 'reject' THEN
        RETURN QUERY SELECT l.id, ''::text, false, 'refused';
        RETURN;
    -- A run that is being cancelled hears nothing any more, and one that asks nobody must not act
    -- on a message whose sender wants to be asked: these are answered afterwards.
    ELSIF v_held AND p_policy = 'steer' AND NOT l.cancel_requested AND (l.approve OR NOT p_approve) THEN
        PERFORM heartbit_steer(l.id, p_task, p_by, p_key);
        RETURN QUERY SELECT l.id, ''::text, false, 'steered';
        RETURN;
    END IF;
    RETURN QUERY SELECT s.run_id, s.queue, s.is_new, CASE WHEN v_held THEN 'held' ELSE 'new' END
        FROM heartbit_submit(p_id, p_workspace, p_agent, p_task, p_home, p_priority, p_override,
                             p_key, p_origin, p_approve, p_payload, p_conversation, v_held) s;
    IF FOUND AND v_held AND p_policy = 'interrupt' THEN
        -- After the new run exists: what ends here and now starts it, and the caller rings it.
        PERFORM heartbit_cancel(t.id, 'interrupted by a new message') FROM agents_run t
        WHERE t.conversation_id = p_conversation AND t.finished_at IS NULL AND t.id <> p_id;
    END IF;
END $$;

-- What was said on a conversation before this run: its earlier runs, if they ever began.
CREATE OR REPLACE FUNCTION heartbit_history(r agents_run)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF r.conversation_id IS NULL OR r.parent_id IS NOT NULL THEN RETURN '[]'; END IF;
    RETURN (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'task', h.task, 'output', h.output, 'steers', (
                       SELECT jsonb_agg(e.payload ->> 'text' ORDER BY e.seq) FROM agents_runevent e
                       WHERE e.run_id = h.id AND e.type = 'run.steered')) ORDER BY h.created_at), '[]')
        FROM agents_run h
        WHERE h.conversation_id = r.conversation_id AND h.created_at < r.created_at
              AND h.finished_at IS NOT NULL AND h.started_at IS NOT NULL);
END $$;

-- ------------------------------------------------------------------------------------------ claim

-- Whether a worker of this generation understands a run. The first one knows no approvals, no
-- conversations and no snapshots of the second format: it would run a call that nobody approved.
CREATE OR REPLACE FUNCTION heartbit_is_for(r agents_run, p_knows int)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_knows >= 2 OR (NOT r.approve AND r.conversation_id IS NULL AND (
        SELECT v.snapshot ->> 'format' FROM agents_agentversion v WHERE v.id = r.version_id) = '1');
END $$;

-- Take the named run if it is queued and due (waiting for its row lock), else the next eligible run
-- of these queues. No row: nothing to do.
CREATE OR REPLACE FUNCTION heartbit_claim(
    p_run uuid, p_home text, p_queues text[], p_worker bigint, p_worker_name text, p_task_id text,
    p_default_model text, p_explicit_model text DEFAULT '', p_knows int DEFAULT 1)
RETURNS TABLE (run_id uuid, workspace_id bigint, version_id bigint, agent text, parent_id uuid,
               root_id uuid, queue text, model text, model_override text, lease_token bigint,
               last_seq int, events jsonb, approve boolean, history jsonb) LANGUAGE plpgsql AS $$
DECLARE r agents_run;
BEGIN
    SELECT * INTO r FROM agents_run t
    WHERE t.id = p_run AND t.status = 'queued' AND t.home = p_home
          AND t.available_at <= clock_timestamp() AND heartbit_is_for(t, p_knows) FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        IF p_home <> 'fleet' THEN RETURN; END IF;
        SELECT * INTO r FROM agents_run t
        WHERE t.status = 'queued' AND t.home = 'fleet' AND t.queue = ANY (p_queues)
              AND t.available_at <= clock_timestamp() AND heartbit_is_for(t, p_knows)
        ORDER BY t.priority DESC, t.available_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN RETURN; END IF;
    END IF;
    UPDATE agents_run t
    SET status = 'running', worker_id = p_worker, lease_token = t.lease_token + 1,
        last_seq = t.last_seq + 1, claimed_seq = t.last_seq + 1,
        started_at = coalesce(t.started_at, clock_timestamp()),
        model = CASE WHEN t.model <> '' THEN t.model ELSE coalesce(
            nullif(p_explicit_model, ''),
            (SELECT nullif(w.default_model, '') FROM base_workspace w WHERE w.id = t.workspace_id),
            p_default_model) END
    WHERE t.id = r.id RETURNING * INTO r;
    PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq - 1, jsonb_build_array(jsonb_build_object(
        'type', 'run.started', 'payload', jsonb_build_object(
            'worker', p_worker_name, 'task_id', p_task_id, 'model', r.model))));
    RETURN QUERY SELECT r.id, r.workspace_id, r.version_id, r.agent::text, r.parent_id, r.root_id,
        r.queue::text, r.model::text, r.model_override::text, r.lease_token, r.last_seq,
        heartbit_events(r.id, 0, r.last_seq), r.approve, heartbit_history(r);
END $$;

-- ---------------------------------------------------------------------------- the lease's own writes

-- Lock a run that its caller holds, or raise HB001.
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

-- Append events; return those of other writers that the caller had not folded yet.
CREATE OR REPLACE FUNCTION heartbit_record(p_run uuid, p_token bigint, p_folded int, p_events jsonb)
RETURNS TABLE (last_seq int, now timestamptz, tail jsonb) LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    n int := jsonb_array_length(p_events);
BEGIN
    UPDATE agents_run t
    SET last_seq = t.last_seq + n,
        input_tokens = t.input_tokens + heartbit_tokens(p_events, 'input_tokens'),
        output_tokens = t.output_tokens + heartbit_tokens(p_events, 'output_tokens')
    WHERE t.id = p_run AND t.lease_token = p_token AND t.status = 'running' RETURNING * INTO r;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease of run % is lost', p_run USING ERRCODE = 'HB001';
    END IF;
    PERFORM heartbit_journal(p_run, r.workspace_id, r.last_seq - n, p_events);
    RETURN QUERY SELECT r.last_seq, clock_timestamp(), heartbit_events(p_run, p_folded, r.last_seq - n);
END $$;

-- A new token for a lease that is still held: whatever still writes with the old one is refused.
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

-- Resolve one wait and count it down; whoever brings the count to zero queues the run.
-- Returns the run to ring, or null.
CREATE OR REPLACE FUNCTION heartbit_resolve_wait(p_run uuid, p_key text, p_value jsonb)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE r agents_run;
BEGIN
    SELECT * INTO r FROM agents_run WHERE id = p_run FOR NO KEY UPDATE;
    UPDATE agents_wait SET value = p_value, resolved_at = clock_timestamp()
    WHERE run_id = p_run AND key = p_key AND resolved_at IS NULL;
    IF NOT FOUND OR r.finished_at IS NOT NULL THEN
        RETURN NULL; -- late, or the run has ended: a wait of a terminal run never queues it
    END IF;
    PERFORM heartbit_journal(p_run, r.workspace_id, r.last_seq, jsonb_build_array(jsonb_build_object(
        'type', 'wait.resolved', 'payload', jsonb_build_object('key', p_key, 'value', p_value))));
    UPDATE agents_run
    SET last_seq = last_seq + 1, open_waits = open_waits - 1,
        status = CASE WHEN open_waits = 1 AND status = 'waiting' THEN 'queued' ELSE status END,
        available_at = clock_timestamp(),
        rung_at = CASE WHEN home = 'fleet' THEN clock_timestamp() END
    WHERE id = p_run RETURNING * INTO r;
    IF r.status <> 'queued' THEN RETURN NULL; END IF;
    IF r.home = 'local' THEN
        PERFORM pg_notify('heartbit', 'ring:' || r.id || ':' || r.root_id); -- it may be another process's
    END IF;
    RETURN r.id;
END $$;

-- End a run whose row, and whose parent's row, the caller has locked. Returns the run to ring: its
-- parent, or the one that waited for it on its conversation.
CREATE OR REPLACE FUNCTION heartbit_end(
    r agents_run, p_status text, p_output text, p_error jsonb, p_events jsonb,
    p_structured jsonb DEFAULT NULL)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    n int := jsonb_array_length(p_events);
    v_next agents_run;
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
    IF r.parent_id IS NULL THEN
        IF r.conversation_id IS NULL OR r.available_at = heartbit_held() THEN RETURN NULL; END IF;
        -- Locked as it is chosen: one that is being cancelled meanwhile is looked at again, and
        -- passed over.
        SELECT t.* INTO v_next FROM agents_run t
        WHERE t.conversation_id = r.conversation_id AND t.status = 'queued'
              AND t.available_at = heartbit_held()
        ORDER BY t.created_at LIMIT 1 FOR NO KEY UPDATE;
        IF NOT FOUND THEN RETURN NULL; END IF;
        UPDATE agents_run
        SET available_at = clock_timestamp(),
            rung_at = CASE WHEN home = 'fleet' THEN clock_timestamp() END
        WHERE id = v_next.id RETURNING * INTO v_next;
        IF v_next.home = 'local' THEN
            PERFORM pg_notify('heartbit', 'ring:' || v_next.id || ':' || v_next.root_id);
        END IF;
        RETURN v_next.id;
    END IF;
    IF p_status = 'succeeded' THEN
        INSERT INTO agents_blackboardentry (root_id, key, value, author, updated_at)
        VALUES (r.root_id, 'agent:' || r.agent, coalesce(p_structured, to_jsonb(p_output)), r.agent,
                clock_timestamp())
        ON CONFLICT (root_id, key) DO UPDATE
        SET value = excluded.value, author = excluded.author, updated_at = excluded.updated_at;
    END IF;
    RETURN heartbit_resolve_wait(r.parent_id, 'child:' || r.id, jsonb_build_object(
        'subject', r.agent, 'run', r.id, 'status', p_status, 'output', p_output,
        'structured', p_structured, 'error', p_error));
END $$;

-- Finish a held run, unless its journal moved since p_folded: then nothing is written and the tail
-- comes back to be folded first.
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
    IF v_parent IS NULL AND v_ring IS NOT NULL THEN
        SELECT t.queue INTO v_queue FROM agents_run t WHERE t.id = v_ring;
    END IF;
    RETURN QUERY SELECT false, r.last_seq + jsonb_array_length(p_events), '[]'::jsonb, v_ring, v_queue;
END $$;

-- Suspend a held run: create its waits (with the children of those that wait for one), and give the
-- worker back; nothing is written when the journal moved since p_folded. A wait is {kind, key,
-- call_id, timeout_seconds}, a child's without key but with {id, agent, task}. `queues`: the children's.
CREATE OR REPLACE FUNCTION heartbit_suspend(
    p_run uuid, p_token bigint, p_folded int, p_events jsonb, p_waits jsonb)
RETURNS TABLE (moved boolean, last_seq int, tail jsonb, queues text[]) LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    a agents_agent;
    w jsonb;
    n int := jsonb_array_length(p_events);
BEGIN
    r := heartbit_lock_held(p_run, p_token);
    IF r.last_seq <> p_folded THEN
        RETURN QUERY SELECT true, r.last_seq, heartbit_events(p_run, p_folded, r.last_seq), NULL::text[];
        RETURN;
    END IF;
    FOR w IN SELECT value FROM jsonb_array_elements(p_waits) LOOP
        IF coalesce(w ->> 'kind', 'child') = 'child' THEN
            SELECT t.* INTO a FROM agents_agent t
            WHERE t.workspace_id = r.workspace_id AND t.name = w ->> 'agent' AND t.origin = (
                      SELECT o.origin FROM agents_agentversion v JOIN agents_agent o ON o.id = v.agent_id
                      WHERE v.id = r.version_id)
                  AND t.enabled AND t.current_version_id IS NOT NULL;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'The agent % is gone or stopped: delegate to another one.', w ->> 'agent'
                    USING ERRCODE = 'HB004';
            END IF;
            PERFORM heartbit_create_run(
                (w ->> 'id')::uuid, r.workspace_id, a.current_version_id, a.name::text, w ->> 'task',
                r.id, r.root_id, r.home, a.queue::text, r.priority, r.model::text,
                r.model_override::text, NULL, r.approve);
            queues := array_append(queues, a.queue::text);
        END IF;
        INSERT INTO agents_wait (run_id, key, kind, call_id, expires_at, created_at)
        VALUES (r.id, coalesce(w ->> 'key', 'child:' || (w ->> 'id')), coalesce(w ->> 'kind', 'child'),
                w ->> 'call_id',
                clock_timestamp() + make_interval(secs => (w ->> 'timeout_seconds')::float),
                clock_timestamp());
    END LOOP;
    UPDATE agents_run
    SET status = 'waiting', worker_id = NULL, last_seq = agents_run.last_seq + n,
        open_waits = jsonb_array_length(p_waits)
    WHERE id = r.id;
    PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq, p_events);
    RETURN QUERY SELECT false, r.last_seq + n, '[]'::jsonb, queues;
END $$;

-- Hand a held run back to the queue (a drain, a database that was away). Returns false if it was lost.
CREATE OR REPLACE FUNCTION heartbit_release(
    p_run uuid, p_token bigint, p_reason text, p_delay_seconds float)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE r agents_run;
BEGIN
    UPDATE agents_run t
    SET status = 'queued', worker_id = NULL, last_seq = t.last_seq + 1,
        available_at = clock_timestamp() + make_interval(secs => p_delay_seconds),
        rung_at = CASE WHEN t.home = 'fleet' THEN clock_timestamp() END
    WHERE t.id = p_run AND t.lease_token = p_token AND t.status = 'running' RETURNING * INTO r;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM heartbit_journal(p_run, r.workspace_id, r.last_seq - 1, jsonb_build_array(
        jsonb_build_object('type', 'run.requeued', 'payload', jsonb_build_object('reason', p_reason))));
    RETURN true;
END $$;

-- ----------------------------------------------------------------------------------------- cancel

-- Cancel a run and everything below it. Queued and waiting runs end here; running ones are told and
-- end themselves. Returns the parent to ring, or null.
CREATE OR REPLACE FUNCTION heartbit_cancel(p_run uuid, p_reason text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    v_parent uuid;
    v_ring uuid;
    v_child uuid;
BEGIN
    SELECT t.parent_id INTO v_parent FROM agents_run t WHERE t.id = p_run;
    IF v_parent IS NOT NULL THEN
        PERFORM 1 FROM agents_run t WHERE t.id = v_parent FOR NO KEY UPDATE;
    END IF;
    SELECT * INTO r FROM agents_run WHERE id = p_run FOR NO KEY UPDATE;
    IF r.id IS NULL OR r.finished_at IS NOT NULL THEN RETURN NULL; END IF;
    IF r.status = 'running' THEN
        IF NOT r.cancel_requested THEN
            PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq, jsonb_build_array(
                jsonb_build_object('type', 'run.cancel_requested',
                                   'payload', jsonb_build_object('reason', p_reason))));
            UPDATE agents_run SET cancel_requested = true, last_seq = last_seq + 1 WHERE id = r.id;
        END IF;
        PERFORM pg_notify('heartbit', 'cancel:' || r.id);
    ELSE
        v_ring := heartbit_end(r, 'cancelled', NULL, NULL, jsonb_build_array(jsonb_build_object(
            'type', 'run.cancelled', 'payload', jsonb_build_object('reason', p_reason, 'partial', ''))));
    END IF;
    FOR v_child IN SELECT id FROM agents_run WHERE parent_id = p_run AND finished_at IS NULL ORDER BY id
    LOOP
        PERFORM heartbit_cancel(v_child, p_reason);
    END LOOP;
    RETURN v_ring;
END $$;

-- ----------------------------------------------------------------------------------------- people

-- Tell a live run something; its next model call sees it.
CREATE OR REPLACE FUNCTION heartbit_steer(p_run uuid, p_text text, p_by text, p_key text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE r agents_run;
BEGIN
    SELECT * INTO r FROM agents_run WHERE id = p_run FOR NO KEY UPDATE;
    IF r.id IS NULL OR r.finished_at IS NOT NULL THEN
        RAISE EXCEPTION 'The run has %: start a new one.', coalesce(r.status, 'gone') USING ERRCODE = 'HB005';
    ELSIF r.cancel_requested THEN
        RAISE EXCEPTION 'The run is being cancelled: start a new one.' USING ERRCODE = 'HB005';
    END IF;
    PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq, jsonb_build_array(jsonb_build_object(
        'type', 'run.steered', 'payload', jsonb_build_object(
            'text', p_text, 'by', p_by, 'key', p_key))));
    UPDATE agents_run SET last_seq = last_seq + 1 WHERE id = p_run;
END $$;

-- Decide a call that waits for approval. One decision wins: the run's row lock puts decisions,
-- cancels and expiries in an order, and the losers are told. Returns the run to ring, or null.
CREATE OR REPLACE FUNCTION heartbit_decide(
    p_run uuid, p_call text, p_digest text, p_verdict text, p_arguments text, p_runs_digest text,
    p_reason text, p_user bigint, p_by text, p_via text, p_grant bigint)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    c agents_toolcall;
    d agents_decision;
    v_parent uuid;
BEGIN
    SELECT t.parent_id INTO v_parent FROM agents_run t WHERE t.id = p_run;
    IF v_parent IS NOT NULL THEN
        PERFORM 1 FROM agents_run t WHERE t.id = v_parent FOR NO KEY UPDATE;
    END IF;
    SELECT * INTO r FROM agents_run WHERE id = p_run FOR NO KEY UPDATE;
    SELECT * INTO d FROM agents_decision WHERE run_id = p_run AND call_id = p_call;
    IF FOUND THEN
        RAISE EXCEPTION 'The call was already % by %.', d.verdict, d.decided_by USING ERRCODE = 'HB005';
    END IF;
    IF r.finished_at IS NOT NULL THEN
        RAISE EXCEPTION 'The run has % meanwhile: nothing of it can be approved.', r.status
            USING ERRCODE = 'HB005';
    END IF;
    SELECT * INTO c FROM agents_toolcall WHERE run_id = p_run AND call_id = p_call;
    PERFORM 1 FROM agents_wait
    WHERE run_id = p_run AND key = 'approval:' || p_call AND resolved_at IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'The call does not wait for approval (any more).' USING ERRCODE = 'HB005';
    END IF;
    IF c.digest <> p_digest THEN
        RAISE EXCEPTION 'The call is not the one that was shown: look at it again.' USING ERRCODE = 'HB005';
    END IF;
    INSERT INTO agents_decision
        (run_id, call_id, digest, runs_digest, verdict, arguments, reason, user_id, decided_by, via,
         grant_id, at)
    VALUES (p_run, p_call, p_digest, p_runs_digest, p_verdict, p_arguments, p_reason, p_user, p_by,
            p_via, p_grant, clock_timestamp());
    -- The last decision of a sub-agent gives its orchestrator's patience the time back that people took.
    UPDATE agents_wait p SET expires_at = p.expires_at + (clock_timestamp() - w.created_at)
    FROM agents_wait w
    WHERE p.run_id = v_parent AND p.key = 'child:' || p_run AND p.resolved_at IS NULL
          AND w.run_id = p_run AND w.key = 'approval:' || p_call
          AND NOT EXISTS (SELECT 1 FROM agents_wait o WHERE o.run_id = p_run AND o.id <> w.id
                          AND o.kind = 'approval' AND o.resolved_at IS NULL);
    RETURN heartbit_resolve_wait(p_run, 'approval:' || p_call, jsonb_build_object(
        'subject', c.tool, 'status', p_verdict, 'digest', p_runs_digest, 'arguments', p_arguments,
        'reason', p_reason, 'by', p_by));
END $$;

-- ------------------------------------------------------------------------------------------ sweep

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
