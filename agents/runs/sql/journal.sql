-- The journal: events, and their projections.

-- Return a number of tokens within the range of its columns.
CREATE OR REPLACE FUNCTION heartbit_count(p_text text)
RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT least(greatest(coalesce(p_text, '0')::numeric, 0), 2147483647)::int
$$;

-- Insert the rows of pending calls: those of a turn, or those of a script, whose own call is p_turn and
-- which has made p_first calls before.
CREATE OR REPLACE FUNCTION heartbit_open_calls(
    p_run uuid, p_turn text, p_calls jsonb, p_first int DEFAULT 0)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO agents_toolcall
        (run_id, call_id, provider_id, tool, arguments, effect, status, digest, idempotency_key)
    SELECT p_run, p_turn || '.' || (p_first + n - 1), left(c ->> 'id', 200),
           left(c ->> 'name', 200), c ->> 'arguments', '', 'pending', '',
           p_run || ':' || p_turn || '.' || (p_first + n - 1)
    FROM jsonb_array_elements(p_calls) WITH ORDINALITY AS t(c, n);
END $$;

-- Insert the rows of the calls that a commit of a graph starts, and end those that it cancels:
-- their waits are void, and their children are cancelled.
CREATE OR REPLACE FUNCTION heartbit_commit_graph(p_run uuid, p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_children uuid[];
    v_waits int;
BEGIN
    INSERT INTO agents_toolcall
        (run_id, call_id, provider_id, tool, arguments, effect, status, digest, idempotency_key)
    SELECT p_run, i.call_id, '', left(a ->> 'node', 200), '{}', '', 'pending', '',
           p_run || ':' || i.call_id
    FROM jsonb_array_elements(coalesce(p -> 'next', '[]')) AS a
    CROSS JOIN LATERAL (
        SELECT split_part(a ->> 'id', '.', 1) || '.' || (split_part(a ->> 'id', '.', 2)::int + n) AS call_id
        FROM generate_series(0, coalesce((a ->> 'count')::int, 1) - 1) AS n) i;
    IF NOT p ? 'cancelled' THEN RETURN; END IF;
    UPDATE agents_toolcall SET status = 'cancelled', finished_at = clock_timestamp()
    WHERE run_id = p_run AND p -> 'cancelled' ? call_id;
    WITH void AS (
        UPDATE agents_wait SET value = '{"status": "void"}', resolved_at = clock_timestamp()
        WHERE run_id = p_run AND p -> 'cancelled' ? call_id AND resolved_at IS NULL
        RETURNING child_id)
    SELECT count(*), array_agg(child_id ORDER BY child_id) FILTER (WHERE child_id IS NOT NULL)
    INTO v_waits, v_children FROM void;
    UPDATE agents_run SET open_waits = greatest(open_waits - v_waits, 0)
    WHERE id = p_run AND v_waits > 0;
    PERFORM heartbit_cancel(c, 'The workflow no longer waits for it.') FROM unnest(v_children) AS c;
END $$;

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
        WHEN 'model.answered', 'model.interrupted', 'context.summarized' THEN
            INSERT INTO base_usageentry
                (workspace_id, run_id, turn, model, input_tokens, output_tokens,
                 cached_input_tokens, cost_usd, at)
            -- Clamp the provider's figures: a value out of range must not reject the answer.
            VALUES (p_workspace, p_run, (p ->> 'turn')::int, left(p ->> 'model', 200),
                    heartbit_count(p #>> '{usage,input_tokens}'),
                    heartbit_count(p #>> '{usage,output_tokens}'),
                    heartbit_count(p #>> '{usage,cached_input_tokens}'),
                    CASE WHEN (p ->> 'cost_usd')::numeric BETWEEN 0 AND 999999
                         THEN (p ->> 'cost_usd')::numeric END, v_now);
            PERFORM heartbit_spend(p_run, p_workspace, p);
            IF coalesce(jsonb_array_length(p #> '{message,tool_calls}'), 0) > 0 THEN
                PERFORM heartbit_open_calls(p_run, p ->> 'turn', p #> '{message,tool_calls}');
            END IF;
        WHEN 'run.created' THEN
            IF p ? 'call' THEN
                PERFORM heartbit_open_calls(p_run, '0', jsonb_build_array(p -> 'call'));
            END IF;
        WHEN 'script.called' THEN
            PERFORM heartbit_open_calls(p_run, p ->> 'call_id', p -> 'calls', (p ->> 'first')::int);
        WHEN 'graph.committed' THEN
            PERFORM heartbit_commit_graph(p_run, p);
        WHEN 'node.finished' THEN
            UPDATE agents_toolcall
            SET status = CASE WHEN p ? 'will_retry' THEN 'pending'
                              WHEN p ? 'status' THEN 'error' ELSE 'ok' END,
                result = coalesce(p #>> '{error,message}', p ->> 'output'),
                started_at = coalesce(
                    started_at, v_now - make_interval(
                        secs => coalesce((p ->> 'duration_ms')::int, 0) / 1000.0)),
                finished_at = CASE WHEN NOT p ? 'will_retry' THEN v_now END
            WHERE run_id = p_run AND call_id = p ->> 'call_id';
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
                approval_view = jsonb_build_object(
                    'tool', p -> 'tool', 'arguments', p -> 'arguments', 'reason', p -> 'reason')
                    || CASE WHEN (p ->> 'needed')::int > 1 OR p ->> 'group' <> ''
                            THEN jsonb_build_object('needed', p -> 'needed', 'group', p -> 'group')
                            ELSE '{}' END
                    || CASE WHEN (p ->> 'question')::int > 1
                            THEN jsonb_build_object('question', p -> 'question') ELSE '{}' END
                    || CASE WHEN p ->> 'escalate_seconds' IS NOT NULL
                            THEN jsonb_build_object('escalate_group', p -> 'escalate_group')
                            ELSE '{}' END
                    || CASE WHEN p -> 'credentials' <> '{}'
                            THEN jsonb_build_object('credentials', p -> 'credentials') ELSE '{}' END
                    || CASE WHEN (p ->> 'mixed_data')::boolean
                            THEN jsonb_build_object('mixed_data', true) ELSE '{}' END
            WHERE run_id = p_run AND call_id = p ->> 'call_id';
        WHEN 'approval.escalated' THEN
            UPDATE agents_toolcall SET approval_view = approval_view || jsonb_build_object('escalated_to', p -> 'group')
            WHERE run_id = p_run AND call_id = p ->> 'call_id';
        WHEN 'outcome.requested' THEN
            UPDATE agents_toolcall SET status = 'uncertain'
            WHERE run_id = p_run AND call_id = p ->> 'call_id';
        WHEN 'call.waiting' THEN
            UPDATE agents_toolcall SET status = 'waiting', started_at = v_now
            WHERE run_id = p_run AND call_id = p ->> 'call_id';
        ELSE
            NULL;
        END CASE;
    END LOOP;
END $$;

-- Return the number of tokens that a batch of events adds to the run's row.
CREATE OR REPLACE FUNCTION heartbit_tokens(p_events jsonb, p_field text)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(sum(heartbit_count(e #>> ARRAY['payload', 'usage', p_field])), 0)
    FROM jsonb_array_elements(p_events) AS e
    WHERE e ->> 'type' IN ('model.answered', 'model.interrupted', 'context.summarized')
$$;

-- Return the events p_after < seq <= p_upto in the form that agents.journal.events.decode_row reads.
CREATE OR REPLACE FUNCTION heartbit_events(p_run uuid, p_after int, p_upto int)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object(
               'seq', seq, 'type', type, 'payload', payload, 'at', at) ORDER BY seq), '[]')
    FROM agents_runevent WHERE run_id = p_run AND seq > p_after AND seq <= p_upto
$$;
