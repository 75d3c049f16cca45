-- Forks: new runs that begin with the journal of another run.

-- Copy p_source's journal up to p_cut into a new queued run and append p_events: run.forked, then a
-- steering message if there is one. The copied events keep their sequence numbers and times. They add
-- no usage and no tokens, because the source paid for them. Calls without a copied result are pending,
-- with keys of the new run. No row: the workspace has no such run or is halted, or the agent is stopped
-- or has reached a run quota.
-- p_changed: payloads that differ from the source's, by sequence number.
-- p_version, p_task: null means the source's own.
-- p_by, p_user: the author of the fork.
CREATE OR REPLACE FUNCTION heartbit_fork(
    p_id uuid, p_workspace bigint, p_source uuid, p_cut int, p_version bigint, p_task text,
    p_changed jsonb, p_events jsonb, p_home text, p_key text, p_by text DEFAULT '',
    p_user bigint DEFAULT NULL)
RETURNS TABLE (run_id uuid, queue text, is_new boolean) LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    a agents_agent;
    v_counted boolean;
    v_queue text;
BEGIN
    SELECT t.* INTO r FROM agents_run t WHERE t.id = p_source AND t.workspace_id = p_workspace;
    SELECT g.* INTO a FROM agents_agentversion v JOIN agents_agent g ON g.id = v.agent_id
    WHERE v.id = coalesce(p_version, r.version_id) AND g.enabled;
    IF r.id IS NULL OR a.id IS NULL OR heartbit_halts(p_workspace, heartbit_halted()) THEN RETURN; END IF;
    v_counted := heartbit_admit(a, p_key);
    IF v_counted IS NULL THEN RETURN; END IF;
    v_queue := CASE WHEN r.kind = 'extraction' THEN r.queue ELSE a.queue END;
    run_id := heartbit_create_run(
        p_id, p_workspace, coalesce(p_version, r.version_id), a.name::text, coalesce(p_task, r.task),
        NULL, p_id, p_home, v_queue, r.priority,
        CASE WHEN p_version IS NULL THEN r.model ELSE '' END, r.model_override::text, p_key, r.approve,
        CASE WHEN p_task IS NULL THEN r.payload END, p_by => p_by, p_user =>
            CASE WHEN r.kind = 'extraction' THEN r.started_user_id ELSE p_user END, p_call => (
            SELECT coalesce(p_changed #> '{1,call}', e.payload -> 'call') FROM agents_runevent e
            WHERE e.run_id = p_source AND e.seq = 1),
        p_kind => CASE WHEN r.kind = 'extraction' THEN r.kind::text END,
        p_more => coalesce((
            SELECT jsonb_strip_nulls(jsonb_build_object(
                       'images', e.payload -> 'images', 'thread', e.payload -> 'thread'))
                   || heartbit_review(a, e.payload #>> '{review,by}')
            FROM agents_runevent e WHERE e.run_id = p_source AND e.seq = 1), '{}'),
        p_private => r.private_to_id);
    queue := v_queue;
    is_new := run_id = p_id;
    IF NOT is_new THEN
        IF v_counted THEN PERFORM heartbit_admit_not(a); END IF;
        RETURN NEXT;
        RETURN;
    END IF;
    -- The fork of an extraction replaces it as the one extraction of its source.
    UPDATE agents_memoryextraction e SET run_id = p_id WHERE e.run_id = p_source;
    -- Read the source without a lock: its journal is append-only.
    INSERT INTO agents_runevent (run_id, seq, type, payload, at)
    SELECT p_id, e.seq, e.type, coalesce(p_changed -> e.seq::text, e.payload), e.at
    FROM agents_runevent e WHERE e.run_id = p_source AND e.seq BETWEEN 2 AND p_cut;
    PERFORM heartbit_fork_calls(p_id, p_source);
    PERFORM heartbit_fork_graph(p_id);
    INSERT INTO agents_wait
        (run_id, key, kind, asks_person, call_id, value, expires_at, created_at, resolved_at)
    SELECT p_id, w.key, w.kind, w.asks_person, w.call_id, w.value, w.expires_at, w.created_at, w.resolved_at
    FROM agents_wait w
    WHERE w.run_id = p_source AND w.resolved_at IS NOT NULL AND w.kind <> 'review' AND EXISTS (
        SELECT 1 FROM agents_runevent e
        WHERE e.run_id = p_id AND e.type = 'wait.resolved' AND e.payload ->> 'key' = w.key)
    ORDER BY w.id;
    INSERT INTO agents_artifact (run_id, name, content_type, content, size, sha256, created_at)
    SELECT p_id, f.name, f.content_type, f.content, f.size, f.sha256, f.created_at
    FROM agents_artifact f WHERE f.run_id = p_source AND EXISTS (
        SELECT 1 FROM agents_runevent e WHERE e.run_id = p_id AND e.type = 'tool.finished'
                                              AND e.payload ->> 'artifact' = f.name);
    -- Copy the blackboard at the cut; an entry overwritten since then is missing.
    INSERT INTO agents_blackboardentry (root_id, key, value, author, expires_at, updated_at)
    SELECT p_id, b.key, b.value, b.author, b.expires_at, b.updated_at FROM agents_blackboardentry b
    WHERE b.root_id = r.root_id AND b.updated_at <= (
        SELECT e.at FROM agents_runevent e WHERE e.run_id = p_source AND e.seq = p_cut);
    -- Copy the folder at the cut: rows are only added, so the newest one of each path until then is
    -- known.
    INSERT INTO agents_workfile (root_id, path, call, content, size)
    SELECT p_id, f.path, '', f.content, f.size FROM (
        SELECT DISTINCT ON (w.path) w.path, w.content, w.size FROM agents_workfile w
        WHERE w.root_id = r.root_id AND w.created_at <= (
            SELECT e.at FROM agents_runevent e WHERE e.run_id = p_source AND e.seq = p_cut)
        ORDER BY w.path, w.id DESC) f
    WHERE f.content IS NOT NULL;
    PERFORM heartbit_journal(p_id, p_workspace, p_cut, jsonb_set(
        p_events, '{0,payload,thread}', heartbit_history(r)));
    UPDATE agents_run SET forked_from_id = p_source, forked_seq = p_cut,
                          last_seq = p_cut + jsonb_array_length(p_events)
    WHERE id = p_id;
    RETURN NEXT;
END $$;

-- Create the calls of a fork's copied answers and scripts, with their copied results.
CREATE OR REPLACE FUNCTION heartbit_fork_calls(p_id uuid, p_source uuid)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO agents_toolcall
        (run_id, call_id, provider_id, tool, arguments, approval_view, digest, effect, status, result,
         idempotency_key, started_at, finished_at)
    SELECT p_id, k.call_id, left(k.c ->> 'id', 200), left(k.c ->> 'name', 200), k.c ->> 'arguments',
           s.approval_view, coalesce(s.digest, ''), coalesce(f.payload ->> 'effect', ''),
           coalesce(f.payload ->> 'status', 'pending'), f.payload ->> 'content',
           p_id || ':' || k.call_id, s.started_at, s.finished_at
    FROM agents_runevent e
    CROSS JOIN LATERAL (
        SELECT c, n, coalesce(e.payload ->> 'call_id', e.payload ->> 'turn') || '.'
                     || (coalesce((e.payload ->> 'first')::int, 0) + n - 1) AS call_id
        FROM jsonb_array_elements(coalesce(e.payload #> '{message,tool_calls}', e.payload -> 'calls'))
             WITH ORDINALITY AS t(c, n)) k
    LEFT JOIN agents_runevent f ON f.run_id = p_id AND f.type = 'tool.finished'
                                   AND f.payload ->> 'call_id' = k.call_id
    LEFT JOIN agents_toolcall s ON s.run_id = p_source AND s.call_id = k.call_id AND f.seq IS NOT NULL
    WHERE e.run_id = p_id AND e.type IN ('model.answered', 'script.called')
    ORDER BY e.seq, k.n
$$;

-- Insert the calls of a fork's copied commits of a workflow, with their copied results.
CREATE OR REPLACE FUNCTION heartbit_fork_graph(p_id uuid)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM heartbit_commit_graph(p_id, e.payload) FROM (
        SELECT payload FROM agents_runevent
        WHERE run_id = p_id AND type = 'graph.committed' ORDER BY seq) e;
    UPDATE agents_toolcall c
    SET status = CASE WHEN e.payload ? 'status' THEN 'error' ELSE 'ok' END,
        result = coalesce(e.payload #>> '{error,message}', e.payload ->> 'output'),
        started_at = e.at, finished_at = e.at
    FROM agents_runevent e
    WHERE e.run_id = p_id AND e.type = 'node.finished' AND NOT e.payload ? 'will_retry'
          AND c.run_id = p_id AND c.call_id = e.payload ->> 'call_id';
END $$;

-- Return the history of the source's conversation before it; the fork itself belongs to no
-- conversation.
CREATE OR REPLACE FUNCTION heartbit_forked_history(p_run uuid)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce((
        SELECT e.payload -> 'thread' FROM agents_runevent e
        WHERE e.run_id = p_run AND e.type = 'run.forked' ORDER BY e.seq DESC LIMIT 1), '[]')
$$;
