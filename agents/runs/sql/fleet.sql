-- Pauses, halts and restarts: agents, queues, workspaces and the whole fleet.

-- Return the versions whose agent is stopped; their runs are not claimed. Call it once per statement,
-- as `version_id <> ALL ((SELECT heartbit_stopped())::bigint[])`.
CREATE OR REPLACE FUNCTION heartbit_stopped()
RETURNS bigint[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(v.id), '{}') FROM agents_agent a
    JOIN agents_agentversion v ON v.agent_id = a.id WHERE NOT a.enabled
$$;

-- Return the paused queues, from which no run is claimed. Call it once per statement, like
-- heartbit_stopped.
CREATE OR REPLACE FUNCTION heartbit_paused()
RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(p.queue), '{}') FROM agents_pause p WHERE p.kind = 'queue'
$$;

-- Return the halted workspaces; a null among them: all are halted. Call it once per statement.
CREATE OR REPLACE FUNCTION heartbit_halted()
RETURNS bigint[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(p.workspace_id), '{}') FROM agents_pause p
    WHERE p.kind IN ('all', 'workspace')
$$;

-- Return true if a workspace is among the result of heartbit_halted.
CREATE OR REPLACE FUNCTION heartbit_halts(p_workspace bigint, p_halted bigint[])
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(p_workspace = ANY (p_halted), true)
$$;

-- Return true if a run may not be claimed: its agent is stopped, its workspace or the installation is
-- halted, or its queue is paused. Return false for a row of nulls from an outer join.
CREATE OR REPLACE FUNCTION heartbit_is_stopped(r agents_run)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN r.id IS NOT NULL AND (
        EXISTS (SELECT 1 FROM agents_agentversion v JOIN agents_agent a ON a.id = v.agent_id
                WHERE v.id = r.version_id AND NOT a.enabled)
        OR EXISTS (SELECT 1 FROM agents_pause p
                   WHERE p.kind = 'all' OR p.kind = 'workspace' AND p.workspace_id = r.workspace_id
                         -- Running runs of a paused queue continue.
                         OR p.queue = r.queue AND r.home = 'fleet' AND r.status <> 'running'));
END $$;

-- Return the runs that a worker should hand over: their agent, workspace or the installation was
-- stopped, or the agent was restarted since the claim. A worker that misses a restart for ten minutes
-- keeps its slices.
CREATE OR REPLACE FUNCTION heartbit_unwanted(p_worker bigint)
RETURNS TABLE (run_id uuid, lease_token bigint, reason text) LANGUAGE sql STABLE AS $$
    SELECT r.id, r.lease_token,
           CASE h.kind WHEN 'all' THEN 'everything stopped' WHEN 'workspace' THEN 'workspace stopped'
                ELSE CASE WHEN a.enabled THEN 'agent restarted' ELSE 'agent stopped' END END
    FROM agents_run r JOIN agents_agentversion v ON v.id = r.version_id
    JOIN agents_agent a ON a.id = v.agent_id
    LEFT JOIN LATERAL (SELECT p.kind FROM agents_pause p
                       WHERE p.kind = 'all' OR p.kind = 'workspace' AND p.workspace_id = r.workspace_id
                       ORDER BY p.kind LIMIT 1) h ON true
    WHERE r.worker_id = p_worker AND r.status = 'running' AND (
        h.kind IS NOT NULL OR NOT a.enabled
        OR a.enabled_at > clock_timestamp() - interval '10 minutes' AND r.started_at < a.enabled_at
           AND a.enabled_at > (
               SELECT e.at FROM agents_runevent e WHERE e.run_id = r.id AND e.type = 'run.started'
               ORDER BY e.seq DESC LIMIT 1))
$$;

-- Resume work after a pause was lifted: of a queue, of a workspace (the other argument is null), or of
-- the installation (both are null). Return the first p_limit runs that may start, to wake them;
-- sweepers wake the others.
CREATE OR REPLACE FUNCTION heartbit_go_on(p_queue text, p_workspace bigint, p_limit int)
RETURNS TABLE (ring uuid, ring_queue text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('heartbit', 'agent:0'); -- each worker re-reads its held runs and the stopped tools
    PERFORM heartbit_renew_patience(NULL, p_queue, p_workspace);
    -- Take one run of each workspace, then a second one of each: a priority counts only within a
    -- workspace.
    RETURN QUERY UPDATE agents_run t SET woken_at = clock_timestamp()
        WHERE t.id IN (SELECT q.id FROM agents_run q
                       WHERE q.status = 'queued' AND q.id IN (
                           SELECT x.id FROM (
                               SELECT y.id, y.available_at, row_number() OVER (
                                   PARTITION BY y.workspace_id
                                   ORDER BY y.priority DESC, y.available_at) AS turn
                               FROM agents_run y
                               WHERE y.status = 'queued' AND y.home = 'fleet'
                                     AND y.available_at <= clock_timestamp()
                                     AND (p_queue IS NULL OR y.queue = p_queue)
                                     AND (p_workspace IS NULL OR y.workspace_id = p_workspace)
                                     AND NOT heartbit_is_stopped(y)) x
                           ORDER BY x.turn, x.available_at LIMIT p_limit)
                       FOR NO KEY UPDATE OF q SKIP LOCKED)
        RETURNING t.id, t.queue::text;
END $$;

-- Start an agent, or restart a running agent so that its held runs are claimed once more. Return the
-- first p_limit of its runs that may start, to wake them; sweepers wake the others.
CREATE OR REPLACE FUNCTION heartbit_start_agent(p_agent bigint, p_limit int)
RETURNS TABLE (ring uuid, ring_queue text) LANGUAGE plpgsql AS $$
DECLARE v_stopped boolean;
BEGIN
    SELECT NOT a.enabled INTO v_stopped FROM agents_agent a WHERE a.id = p_agent FOR NO KEY UPDATE;
    UPDATE agents_agent SET enabled = true, enabled_at = clock_timestamp() WHERE id = p_agent;
    PERFORM pg_notify('heartbit', 'agent:' || p_agent);
    IF NOT v_stopped THEN RETURN; END IF;
    PERFORM heartbit_renew_patience(p_agent, NULL, NULL);
    RETURN QUERY UPDATE agents_run t SET woken_at = clock_timestamp()
        WHERE t.id IN (SELECT q.id FROM agents_run q
                       JOIN agents_agentversion v ON v.id = q.version_id
                       WHERE v.agent_id = p_agent AND q.status = 'queued' AND q.home = 'fleet'
                             AND q.available_at <= clock_timestamp()
                       ORDER BY q.priority DESC, q.available_at LIMIT p_limit
                       FOR NO KEY UPDATE OF q SKIP LOCKED)
        RETURNING t.id, t.queue::text;
END $$;
