-- Agents that are stopped, started again, restarted; and what workers are asked to do.

-- The versions whose agent is stopped: their runs are not claimed. Ask once a statement, as
-- `version_id <> ALL ((SELECT heartbit_stopped())::bigint[])`.
CREATE OR REPLACE FUNCTION heartbit_stopped()
RETURNS bigint[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(v.id), '{}') FROM agents_agent a
    JOIN agents_agentversion v ON v.agent_id = a.id WHERE NOT a.enabled
$$;

-- Whether a run's agent is stopped; a row of nulls (an outer join's) has none.
CREATE OR REPLACE FUNCTION heartbit_is_stopped(r agents_run)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM agents_agentversion v JOIN agents_agent a ON a.id = v.agent_id
                   WHERE v.id = r.version_id AND NOT a.enabled);
END $$;

-- What a worker holds and should hand over: the agent was stopped, or restarted since the claim. A
-- worker that misses a restart for ten minutes keeps its slices.
CREATE OR REPLACE FUNCTION heartbit_unwanted(p_worker bigint)
RETURNS TABLE (run_id uuid, lease_token bigint, reason text) LANGUAGE sql STABLE AS $$
    SELECT r.id, r.lease_token, CASE WHEN a.enabled THEN 'agent restarted' ELSE 'agent stopped' END
    FROM agents_run r JOIN agents_agentversion v ON v.id = r.version_id
    JOIN agents_agent a ON a.id = v.agent_id
    WHERE r.worker_id = p_worker AND r.status = 'running' AND (
        NOT a.enabled
        OR a.enabled_at > clock_timestamp() - interval '10 minutes' AND r.started_at < a.enabled_at
           AND a.enabled_at > (
               SELECT e.at FROM agents_runevent e WHERE e.run_id = r.id AND e.type = 'run.started'
               ORDER BY e.seq DESC LIMIT 1))
$$;

-- Stop an agent: no new runs, no claims, and what is held is handed over. False: it was stopped.
CREATE OR REPLACE FUNCTION heartbit_stop_agent(p_agent bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE agents_agent SET enabled = false WHERE id = p_agent AND enabled;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM pg_notify('heartbit', 'agent:' || p_agent);
    RETURN true;
END $$;

-- Start an agent, or let what is held of a started one be claimed anew. Returns the first p_limit of
-- its runs that may start, to ring; the sweepers ring the others.
CREATE OR REPLACE FUNCTION heartbit_start_agent(p_agent bigint, p_limit int)
RETURNS TABLE (ring uuid, ring_queue text) LANGUAGE plpgsql AS $$
DECLARE v_stopped boolean;
BEGIN
    SELECT NOT a.enabled INTO v_stopped FROM agents_agent a WHERE a.id = p_agent FOR NO KEY UPDATE;
    UPDATE agents_agent SET enabled = true, enabled_at = clock_timestamp() WHERE id = p_agent;
    PERFORM pg_notify('heartbit', 'agent:' || p_agent);
    IF NOT v_stopped THEN RETURN; END IF;
    -- Whoever waited for it begins to be patient anew.
    UPDATE agents_wait SET expires_at = clock_timestamp() + (expires_at - created_at)
    WHERE id IN (SELECT w.id FROM agents_wait w
                 JOIN agents_run c ON c.id = split_part(w.key, ':', 2)::uuid
                 JOIN agents_agentversion v ON v.id = c.version_id
                 WHERE w.kind = 'child' AND w.resolved_at IS NULL AND w.expires_at IS NOT NULL
                       AND v.agent_id = p_agent
                 FOR NO KEY UPDATE OF w SKIP LOCKED);
    RETURN QUERY UPDATE agents_run t SET rung_at = clock_timestamp()
        WHERE t.id IN (SELECT q.id FROM agents_run q
                       JOIN agents_agentversion v ON v.id = q.version_id
                       WHERE v.agent_id = p_agent AND q.status = 'queued' AND q.home = 'fleet'
                             AND q.available_at <= clock_timestamp()
                       ORDER BY q.priority DESC, q.available_at LIMIT p_limit
                       FOR NO KEY UPDATE OF q SKIP LOCKED)
        RETURNING t.id, t.queue::text;
END $$;

-- Ask a worker of the fleet to stop or to restart. False: it has left.
CREATE OR REPLACE FUNCTION heartbit_ask_worker(p_worker bigint, p_wanted text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE agents_workerheartbeat SET wanted = p_wanted
    WHERE id = p_worker AND home = 'fleet' AND gone_at IS NULL;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM pg_notify('heartbit', 'worker:' || p_worker);
    RETURN true;
END $$;
