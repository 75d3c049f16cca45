-- Claims: a worker takes a run to execute it.

-- Return true if a worker of generation p_knows understands a run. Generation 1 knows no approvals,
-- conversations or snapshots of format 2, and would execute calls without approval. Generation 2 treats
-- every run as an agent's.
CREATE OR REPLACE FUNCTION heartbit_is_for(r agents_run, p_knows int)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_knows >= 3 OR r.kind = 'agent' AND (
        p_knows >= 2 OR NOT r.approve AND r.conversation_id IS NULL AND (
            SELECT v.snapshot ->> 'format' FROM agents_agentversion v WHERE v.id = r.version_id) = '1');
END $$;

-- Return the number of crashes without progress after which a run is executed in isolation, whatever it
-- did meanwhile.
CREATE OR REPLACE FUNCTION heartbit_suspicious()
RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT 4 $$;

-- Return true if a run must be executed in isolation: it has crashed twice and a tool call is open, or
-- it has crashed heartbit_suspicious() times. A tool that is to blame usually crashes its process each
-- time; a model call seldom is to blame.
CREATE OR REPLACE FUNCTION heartbit_is_suspect(r agents_run)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT r.crashes >= heartbit_suspicious() OR r.crashes >= 2 AND EXISTS (
        SELECT FROM agents_toolcall c WHERE c.run_id = r.id AND c.finished_at IS NULL)
$$;

-- Claim the named run if it is queued and due (waiting for its row lock), or a run that takes
-- precedence (`fairness.sql`); otherwise the next eligible run of the queues. No row: nothing to claim.
-- p_alone: true if the claimant executes runs in isolation. With false, a named suspect is reported
-- (`suspect`) and no suspect is claimed. Null, from a previous version, claims all runs alike.
-- p_format: checkpoint format that the claimant reads; the events are those after the checkpoint.
-- `limited`: the workspace has a limit of concurrent runs, so others may wait for this run to end
-- (`heartbit_ring_next`).
CREATE OR REPLACE FUNCTION heartbit_claim(
    p_run uuid, p_home text, p_queues text[], p_worker bigint, p_worker_name text, p_task_id text,
    p_default_model text, p_explicit_model text DEFAULT '', p_knows int DEFAULT 1,
    p_alone boolean DEFAULT NULL, p_format int DEFAULT NULL)
RETURNS TABLE (run_id uuid, workspace_id bigint, version_id bigint, agent text, parent_id uuid,
               root_id uuid, queue text, model text, model_override text, lease_token bigint,
               last_seq int, events jsonb, approve boolean, history jsonb, suspect boolean,
               checkpoint_seq int, checkpoint jsonb, limited boolean, kind text, user_id bigint,
               conversation_id uuid) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off
SET random_page_cost = 0 SET seq_page_cost = 0 AS $$
DECLARE
    r agents_run;
    v_other agents_run;
    c agents_checkpoint;
    v_workspace bigint;
    v_room int;
    v_limited boolean;
BEGIN
    -- A worker that was declared lost may not know it yet: its claims would be revoked.
    PERFORM 1 FROM agents_workerheartbeat w WHERE w.id = p_worker AND w.left_at IS NOT NULL;
    IF FOUND THEN RETURN; END IF;
    IF p_home = 'fleet' THEN
        SELECT t.workspace_id, heartbit_room(t.workspace_id) INTO v_workspace, v_room
        FROM agents_run t WHERE t.id = p_run;
        IF p_alone AND NOT heartbit_take_room(v_workspace, true) THEN RETURN; END IF;
    END IF;
    IF v_room IS NULL OR p_alone THEN
        SELECT * INTO r FROM agents_run t
        WHERE t.id = p_run AND t.status = 'queued' AND t.home = p_home
              AND t.available_at <= clock_timestamp() AND heartbit_is_for(t, p_knows)
              AND NOT heartbit_is_stopped(t) FOR NO KEY UPDATE;
    ELSIF v_room > 0 THEN
        -- Claims of a limited workspace wait for each other, so do not lock a run that another claim
        -- may choose.
        SELECT * INTO r FROM agents_run t
        WHERE t.id = p_run AND t.status = 'queued' AND t.home = p_home
              AND t.available_at <= clock_timestamp() AND heartbit_is_for(t, p_knows)
              AND NOT heartbit_is_stopped(t);
    END IF;
    IF NOT p_alone AND heartbit_is_suspect(r) THEN
        run_id := r.id; suspect := true;
        RETURN NEXT;
        RETURN;
    ELSIF p_home = 'fleet' AND p_alone IS NOT TRUE AND (
            r.id IS NULL OR v_room > 0 OR heartbit_has_rivals(r, p_queues, clock_timestamp())) THEN
        v_other := heartbit_choose(r, v_room IS NULL, p_queues, p_knows, p_alone);
        -- If no other run can use the slot, keep the named run of a workspace without a limit.
        IF v_other.id IS NOT NULL OR v_room IS NOT NULL THEN r := v_other; END IF;
    END IF;
    IF r.id IS NULL THEN RETURN; END IF;
    v_limited := CASE WHEN r.id = p_run THEN v_room ELSE heartbit_room(r.workspace_id) END IS NOT NULL;
    UPDATE agents_run t
    SET status = 'running', worker_id = p_worker, lease_token = t.lease_token + 1,
        last_seq = t.last_seq + 1,
        started_at = coalesce(t.started_at, clock_timestamp()),
        model = CASE WHEN t.model <> '' OR t.kind <> 'agent' THEN t.model ELSE coalesce(
            nullif(p_explicit_model, ''),
            (SELECT nullif(w.default_model, '') FROM base_workspace w WHERE w.id = t.workspace_id),
            p_default_model) END
    WHERE t.id = r.id RETURNING * INTO r;
    PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq - 1, jsonb_build_array(jsonb_build_object(
        'type', 'run.started', 'payload', jsonb_build_object(
            'worker', p_worker_name, 'task_id', p_task_id, 'model', r.model,
            'sandbox', (SELECT w.sandbox FROM agents_workerheartbeat w WHERE w.id = p_worker)))));
    SELECT * INTO c FROM agents_checkpoint t WHERE t.run_id = r.id AND t.format = p_format;
    RETURN QUERY SELECT r.id, r.workspace_id, r.version_id, r.agent::text, r.parent_id, r.root_id,
        r.queue::text, r.model::text, r.model_override::text, r.lease_token, r.last_seq,
        heartbit_events(r.id, coalesce(c.seq, 0), r.last_seq), r.approve, heartbit_history(r), false,
        coalesce(c.seq, 0), c.state, v_limited, r.kind::text,
        CASE WHEN r.parent_id IS NULL THEN r.started_user_id
             ELSE (SELECT t.started_user_id FROM agents_run t WHERE t.id = r.root_id) END::bigint,
        r.conversation_id;
END $$;

-- Finish a sub-agent's run (`heartbit_finish`). If it was the last one, claim the run that delegated,
-- or a run that takes precedence (`heartbit_claim`), in the same transaction, and return that row as
-- `claimed`. `ring` is null after the attempt, even if there was nothing to claim; if the claimant does
-- not serve the run's queue, `ring` is the run to wake.
CREATE OR REPLACE FUNCTION heartbit_finish_and_claim(
    p_run uuid, p_token bigint, p_folded int, p_status text, p_output text, p_error jsonb,
    p_events jsonb, p_structured jsonb, p_home text, p_queues text[], p_worker bigint,
    p_worker_name text, p_task_id text, p_default_model text, p_explicit_model text, p_knows int,
    p_alone boolean, p_format int)
RETURNS TABLE (moved boolean, last_seq int, tail jsonb, ring uuid, ring_queue text, claimed jsonb)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT f.moved, f.last_seq, f.tail, f.ring, f.ring_queue
    INTO moved, last_seq, tail, ring, ring_queue
    FROM heartbit_finish(
        p_run, p_token, p_folded, p_status, p_output, p_error, p_events, p_structured) f;
    IF ring IS NOT NULL AND (p_home = 'local' OR ring_queue = ANY (p_queues)) THEN
        SELECT to_jsonb(c) INTO claimed FROM heartbit_claim(
            ring, p_home, p_queues, p_worker, p_worker_name, p_task_id, p_default_model,
            p_explicit_model, p_knows, p_alone, p_format) c;
        ring := NULL;
    END IF;
    RETURN NEXT;
END $$;

-- Suspend a run (`heartbit_suspend`). If it waits for one new child, claim that child, or a run that
-- takes precedence, in the same transaction, and return that row as `claimed`; null: the child is to be
-- woken.
CREATE OR REPLACE FUNCTION heartbit_suspend_and_claim(
    p_run uuid, p_token bigint, p_folded int, p_events jsonb, p_waits jsonb, p_wake_at int,
    p_home text, p_queues text[], p_worker bigint, p_worker_name text, p_task_id text,
    p_default_model text, p_explicit_model text, p_knows int, p_alone boolean, p_format int)
RETURNS TABLE (moved boolean, last_seq int, tail jsonb, queues text[], claimed jsonb)
LANGUAGE plpgsql AS $$
DECLARE v_child uuid;
BEGIN
    SELECT s.moved, s.last_seq, s.tail, s.queues INTO moved, last_seq, tail, queues
    FROM heartbit_suspend(p_run, p_token, p_folded, p_events, p_waits, p_wake_at) s;
    IF NOT moved AND cardinality(queues) = 1 AND (p_home = 'local' OR queues[1] = ANY (p_queues)) THEN
        SELECT (w ->> 'id')::uuid INTO v_child FROM jsonb_array_elements(p_waits) w WHERE w ? 'agent';
        SELECT to_jsonb(c) INTO claimed FROM heartbit_claim(
            v_child, p_home, p_queues, p_worker, p_worker_name, p_task_id, p_default_model,
            p_explicit_model, p_knows, p_alone, p_format) c;
    END IF;
    RETURN NEXT;
END $$;
