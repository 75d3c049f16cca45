-- Take a run to work on it.

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
