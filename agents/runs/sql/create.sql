-- Creation of runs: root runs, sub-agents' runs, and messages of a conversation.

-- Return the start time of a run that waits for the previous run of its conversation: never, until that
-- run ends.
CREATE OR REPLACE FUNCTION heartbit_held()
RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT timestamptz '9999-01-01 00:00:00+00' $$;

-- Create a run. Its kind is tool_call with p_call ({id, name, arguments}), else p_kind, else that of
-- its version. The model of an agent's run is p_override, else the agent's own, else p_fallback (the
-- parent's); if all are empty, the first claim sets it. Runs of other kinds have no model, but their
-- children may.
-- p_by, p_user: the person or program that started the run; empty and null for a sub-agent's run, whose
-- root has them.
-- p_more: more of the event that opens its journal.
-- p_private: the person who alone reads the run; null: those of its parent or conversation, if any.
-- p_hops: length of the chain of agents' messages and schedules that led to the run; messages that were
-- only read do not count.
CREATE OR REPLACE FUNCTION heartbit_create_run(
    p_id uuid, p_workspace bigint, p_version bigint, p_agent text, p_task text, p_parent uuid,
    p_root uuid, p_home text, p_queue text, p_priority int, p_fallback text, p_override text, p_key text,
    p_approve boolean DEFAULT false, p_payload jsonb DEFAULT NULL, p_conversation uuid DEFAULT NULL,
    p_held boolean DEFAULT false, p_by text DEFAULT '', p_user bigint DEFAULT NULL,
    p_hops int DEFAULT 0, p_call jsonb DEFAULT NULL, p_kind text DEFAULT NULL,
    p_more jsonb DEFAULT '{}', p_private bigint DEFAULT NULL)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    v_id uuid;
    v_kind text;
    v_model text;
BEGIN
    SELECT CASE WHEN p_call IS NULL THEN coalesce(p_kind, snapshot ->> 'kind', 'agent')
                ELSE 'tool_call' END,
           snapshot ->> 'model'
    INTO v_kind, v_model FROM agents_agentversion WHERE id = p_version;
    INSERT INTO agents_run
        (id, workspace_id, kind, version_id, agent, parent_id, root_id, status, task, model,
         model_override, input_tokens, output_tokens, priority, queue, home, lease_token, crashes,
         last_seq, open_waits, woken_at, cancel_requested, idempotency_key,
         approve, payload, conversation_id, started_by, started_user_id, private_to_id, hops,
         created_at, available_at)
    VALUES (p_id, p_workspace, v_kind, p_version, p_agent, p_parent, p_root, 'queued', p_task,
            CASE WHEN v_kind = 'agent'
                 THEN coalesce(nullif(p_override, ''), nullif(v_model, ''), p_fallback) ELSE '' END,
            p_override, 0, 0, p_priority, p_queue, p_home, 0, 0,
            1, 0, CASE WHEN p_home = 'fleet' AND NOT p_held THEN clock_timestamp() END, false, p_key,
            p_approve, p_payload, p_conversation, left(p_by, 200), p_user,
            coalesce(p_private, CASE WHEN p_parent IS NOT NULL THEN (
                         SELECT t.private_to_id FROM agents_run t WHERE t.id = p_parent) END,
                     CASE WHEN p_conversation IS NOT NULL THEN (
                         SELECT c.private_to_id FROM agents_conversation c WHERE c.id = p_conversation) END),
            p_hops, clock_timestamp(),
            CASE WHEN p_held THEN heartbit_held() ELSE clock_timestamp() END)
    ON CONFLICT (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id INTO v_id;
    IF v_id IS NULL THEN
        SELECT id INTO v_id FROM agents_run WHERE workspace_id = p_workspace AND idempotency_key = p_key;
        RETURN v_id;
    END IF;
    PERFORM heartbit_journal(v_id, p_workspace, 0, jsonb_build_array(jsonb_build_object(
        'type', 'run.created', 'payload', jsonb_strip_nulls(jsonb_build_object(
            'task', p_task, 'agent', p_agent, 'kind', v_kind, 'call', p_call)) || p_more)));
    RETURN v_id;
END $$;

-- Return the review of a root run's result, as a part of the event that opens its journal: the agent's
-- own reviewers, else those that the request names; empty: no one reviews it.
CREATE OR REPLACE FUNCTION heartbit_review(a agents_agent, p_wanted text)
RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN coalesce(nullif(a.review, ''), p_wanted, '') = '' THEN '{}'::jsonb
           ELSE jsonb_build_object('review', jsonb_strip_nulls(jsonb_build_object(
               'by', coalesce(nullif(a.review, ''), p_wanted),
               'timeout_seconds', a.review_timeout_seconds,
               'escalate_seconds', a.review_escalate_after_minutes::bigint * 60))) END
$$;

-- Return true if the result of a run is reviewed, or was approved or rejected: the run reads no message.
CREATE OR REPLACE FUNCTION heartbit_is_reviewed(p_run uuid)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT w.value #>> '{answer,decision}' IS DISTINCT FROM 'changes' FROM agents_wait w
                     WHERE w.run_id = p_run AND w.kind = 'review' ORDER BY w.id DESC LIMIT 1), false)
$$;

-- Create a root run of a published agent. No row: the workspace has no such agent, is stopped, or has
-- reached a run quota.
-- is_new is false if the idempotency key was used before; run_id is the earlier run's then.
CREATE OR REPLACE FUNCTION heartbit_submit(
    p_id uuid, p_workspace bigint, p_agent text, p_task text, p_home text, p_priority int,
    p_override text, p_key text, p_origin text DEFAULT '', p_approve boolean DEFAULT false,
    p_payload jsonb DEFAULT NULL, p_conversation uuid DEFAULT NULL, p_held boolean DEFAULT false,
    p_by text DEFAULT '', p_user bigint DEFAULT NULL, p_hops int DEFAULT 0, p_call jsonb DEFAULT NULL,
    p_more jsonb DEFAULT '{}')
RETURNS TABLE (run_id uuid, queue text, is_new boolean) LANGUAGE plpgsql AS $$
DECLARE
    a agents_agent;
    v_counted boolean;
BEGIN
    SELECT t.* INTO a FROM agents_agent t
    WHERE t.workspace_id = p_workspace AND t.origin = p_origin AND t.name = p_agent
          AND t.enabled AND t.current_version_id IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM agents_pause p
                          WHERE p.kind = 'all'
                                OR p.kind = 'workspace' AND p.workspace_id = p_workspace);
    IF NOT FOUND THEN RETURN; END IF;
    v_counted := heartbit_admit(a, p_key);
    IF v_counted IS NULL THEN RETURN; END IF;
    run_id := heartbit_create_run(
        p_id, p_workspace, a.current_version_id, a.name::text, p_task, NULL, p_id, p_home,
        a.queue::text, p_priority, '', p_override, p_key, p_approve, p_payload, p_conversation, p_held,
        p_by, p_user, p_hops, p_call,
        p_more => p_more - 'review' || heartbit_review(a, p_more ->> 'review'));
    queue := a.queue;
    is_new := run_id = p_id;
    IF v_counted AND NOT is_new THEN PERFORM heartbit_admit_not(a); END IF;
    RETURN NEXT;
END $$;

-- Post a message to a conversation. `outcome` is new, held (the run starts when the previous one ends),
-- steered (the message was given to the active run, whose id is returned) or refused (the id is that of
-- the active run). No row: the workspace has no such agent, or has reached a run quota.
CREATE OR REPLACE FUNCTION heartbit_converse(
    p_conversation uuid, p_policy text, p_id uuid, p_workspace bigint, p_agent text, p_task text,
    p_home text, p_priority int, p_override text, p_key text, p_origin text, p_approve boolean,
    p_payload jsonb, p_by text, p_user bigint DEFAULT NULL, p_hops int DEFAULT 0,
    p_more jsonb DEFAULT '{}')
RETURNS TABLE (run_id uuid, queue text, is_new boolean, outcome text) LANGUAGE plpgsql AS $$
DECLARE
    l agents_run;
    v_live uuid;
    v_held boolean;
BEGIN
    -- Serialize messages, and keep the active run from ending meanwhile: otherwise a held run could be
    -- created that no other run starts.
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
    -- Lock run counts before a run, as a tool does that starts runs in the transaction of its own run.
    PERFORM 1 FROM agents_runcount c
    WHERE c.workspace_id = p_workspace AND (c.agent_id IS NULL OR c.agent_id = (
              SELECT a.id FROM agents_agent a WHERE a.workspace_id = p_workspace
              -- A test of a draft counts as a run of the agent.
              AND a.origin = CASE p_origin WHEN 'draft' THEN '' ELSE p_origin END AND a.name = p_agent))
    ORDER BY c.agent_id NULLS FIRST FOR NO KEY UPDATE;
    SELECT t.* INTO l FROM agents_run t
    WHERE t.conversation_id = p_conversation AND t.finished_at IS NULL
    ORDER BY t.created_at LIMIT 1 FOR NO KEY UPDATE;
    v_held := FOUND;
    IF v_held AND p_policy = 'reject' THEN
        RETURN QUERY SELECT l.id, ''::text, false, 'refused';
        RETURN;
    -- A run that is being cancelled accepts no message. A run that requires no approval must not act on
    -- a message that requires it, and a run whose result is reviewed reads none. Such messages get a run
    -- of their own.
    ELSIF v_held AND p_policy = 'steer' AND l.kind = 'agent' AND NOT l.cancel_requested AND (l.approve OR NOT p_approve)
          AND NOT heartbit_is_reviewed(l.id) THEN
        PERFORM heartbit_steer(l.id, p_task, p_by, p_key, p_user => p_user);
        RETURN QUERY SELECT l.id, ''::text, false, 'steered';
        RETURN;
    END IF;
    RETURN QUERY SELECT s.run_id, s.queue, s.is_new, CASE WHEN v_held THEN 'held' ELSE 'new' END
        FROM heartbit_submit(p_id, p_workspace, p_agent, p_task, p_home, p_priority, p_override,
                             p_key, p_origin, p_approve, p_payload, p_conversation, v_held, p_by,
                             p_user, p_hops, p_more => p_more) s;
    IF FOUND AND v_held AND p_policy = 'interrupt' THEN
        -- Cancel after the new run exists: a run that ends here starts it, and the caller wakes it.
        PERFORM heartbit_cancel(t.id, 'interrupted by a new message') FROM agents_run t
        WHERE t.conversation_id = p_conversation AND t.finished_at IS NULL AND t.id <> p_id;
    END IF;
END $$;

-- Return the history of a conversation before this run: its earlier runs that were started.
CREATE OR REPLACE FUNCTION heartbit_history(r agents_run)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF r.forked_seq > 0 THEN RETURN heartbit_forked_history(r.id); END IF;
    IF r.conversation_id IS NULL THEN RETURN '[]'; END IF;
    RETURN (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'task', h.task, 'output', h.output, 'steers', (
                       SELECT jsonb_agg(e.payload ->> 'text' ORDER BY e.seq) FROM agents_runevent e
                       WHERE e.run_id = h.id AND e.type = 'run.steered')) || coalesce((
                       SELECT jsonb_build_object('images', e.payload -> 'images') FROM agents_runevent e
                       WHERE e.run_id = h.id AND e.seq = 1 AND e.payload ? 'images'), '{}') ORDER BY h.created_at), '[]')
        FROM agents_run h
        WHERE h.conversation_id = r.conversation_id AND h.created_at < r.created_at
              AND h.finished_at IS NOT NULL AND h.started_at IS NOT NULL);
END $$;
