-- Quotas: run counts of workspaces and agents, and the budgets of tiers.

-- ---------------------------------------------------------------------------------------- run counts

-- Add p_by runs (one, or minus one) to the day of a workspace, or to the minute of an agent. Return
-- false and count nothing if the sum would exceed p_limit. Concurrent calls wait: the row is locked
-- until the caller's transaction ends.
CREATE OR REPLACE FUNCTION heartbit_count_runs(p_workspace bigint, p_agent bigint, p_limit int, p_by int)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_start timestamptz := date_trunc(CASE WHEN p_agent IS NULL THEN 'day' ELSE 'minute' END,
                                      clock_timestamp(), 'UTC');
BEGIN
    FOR n IN 1..2 LOOP
        UPDATE agents_runcount c
        SET runs = greatest(p_by + CASE WHEN c.starts_at < v_start THEN 0 ELSE c.runs END, 0),
            starts_at = greatest(c.starts_at, v_start)
        WHERE c.workspace_id = p_workspace AND coalesce(c.agent_id, 0) = coalesce(p_agent, 0)
              AND (c.starts_at < v_start OR c.runs + p_by <= p_limit);
        IF FOUND THEN RETURN true; END IF;
        EXIT WHEN n = 2;
        PERFORM 1 FROM agents_runcount c
        WHERE c.workspace_id = p_workspace AND coalesce(c.agent_id, 0) = coalesce(p_agent, 0);
        CONTINUE WHEN FOUND; -- the limit is reached, or another transaction has just inserted the row
        -- Insert the first count: a new limit begins with the runs of the day so far.
        INSERT INTO agents_runcount (workspace_id, agent_id, starts_at, runs)
        SELECT p_workspace, p_agent, v_start, CASE WHEN p_agent IS NOT NULL THEN 0 ELSE (
            SELECT count(*) FROM agents_run r WHERE r.workspace_id = p_workspace
                   AND r.created_at >= v_start AND r.parent_id IS NULL) END
        ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN false;
END $$;

-- Return true if a run was accepted with this idempotency key before.
CREATE OR REPLACE FUNCTION heartbit_is_repeat(p_workspace bigint, p_key text)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT 1 FROM agents_run t
                   WHERE t.workspace_id = p_workspace AND t.idempotency_key = p_key)
$$;

-- Count a new run against the day of its workspace and the minute of its agent; the test of a draft counts
-- as a run of the agent. Null: one of the limits is reached, or that agent is stopped. False: nothing was counted, because there is no limit or the key was used before.
CREATE OR REPLACE FUNCTION heartbit_admit(a agents_agent, p_key text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_a_day int;
BEGIN
    IF a.origin = 'draft' THEN
        SELECT p.* INTO a FROM agents_agent p WHERE p.id = heartbit_published(a.id) AND p.enabled;
        IF NOT FOUND THEN RETURN NULL; END IF;
    END IF;
    SELECT t.runs_per_day INTO v_a_day
    FROM base_workspace w JOIN base_tier t ON t.id = w.tier_id WHERE w.id = a.workspace_id;
    IF v_a_day IS NULL AND a.max_runs_per_minute IS NULL THEN RETURN false; END IF;
    IF p_key IS NOT NULL AND heartbit_is_repeat(a.workspace_id, p_key) THEN RETURN false; END IF;
    IF v_a_day IS NULL OR heartbit_count_runs(a.workspace_id, NULL, v_a_day, 1) THEN
        IF a.max_runs_per_minute IS NULL
           OR heartbit_count_runs(a.workspace_id, a.id, a.max_runs_per_minute, 1) THEN
            RETURN true;
        END IF;
        IF v_a_day IS NOT NULL THEN PERFORM heartbit_count_runs(a.workspace_id, NULL, v_a_day, -1); END IF;
    END IF;
    -- A run that was counted a moment ago may have the same key.
    RETURN CASE WHEN p_key IS NOT NULL AND heartbit_is_repeat(a.workspace_id, p_key) THEN false END;
END $$;

-- Undo heartbit_admit: a concurrent request with the same key has started the run before.
CREATE OR REPLACE FUNCTION heartbit_admit_not(a agents_agent)
RETURNS void LANGUAGE sql AS $$
    UPDATE agents_runcount c SET runs = greatest(c.runs - 1, 0)
    WHERE c.workspace_id = a.workspace_id AND (c.agent_id IS NULL OR c.agent_id = heartbit_published(a.id))
$$;

-- ---------------------------------------------------------------------------------- budgets of tiers

-- Create, update or delete the tier's budget of the workspace that gets a tier, or of all workspaces of
-- a changed tier, and reset the day's count. A new budget begins with the cost of the month so far;
-- calls that end at the same moment may be missing. A trigger does this, so that a limit holds for
-- every writer of the row (docs/decisions/0020-policy-is-python.md).
CREATE OR REPLACE FUNCTION heartbit_fit_tier() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_start timestamptz := date_trunc('month', clock_timestamp(), 'UTC');
    v_workspaces bigint[] := ARRAY[NEW.id];
BEGIN
    IF TG_TABLE_NAME = 'base_tier' THEN
        v_workspaces := ARRAY(SELECT w.id FROM base_workspace w WHERE w.tier_id = NEW.id);
    ELSE
        -- A concurrent change of the tier either commits first, or sees this workspace.
        PERFORM 1 FROM base_workspace w JOIN base_tier t ON t.id = w.tier_id
        WHERE w.id = NEW.id FOR SHARE OF t;
    END IF;
    DELETE FROM agents_runcount c WHERE c.workspace_id = ANY (v_workspaces) AND c.agent_id IS NULL;
    DELETE FROM agents_budget b USING base_workspace w LEFT JOIN base_tier t ON t.id = w.tier_id
    WHERE w.id = ANY (v_workspaces) AND b.workspace_id = w.id AND b.from_tier
          AND t.tokens_per_month IS NULL AND t.usd_per_month IS NULL;
    UPDATE agents_budget b
    SET max_tokens = t.tokens_per_month, max_usd = t.usd_per_month, warn_at = t.warn_at,
        warned_period = NULL, exceeded_period = NULL, exceeded_notified_period = NULL
    FROM base_workspace w JOIN base_tier t ON t.id = w.tier_id
    WHERE w.id = ANY (v_workspaces) AND b.workspace_id = w.id AND b.from_tier;
    INSERT INTO agents_budget
        (workspace_id, agent_id, period, from_tier, max_tokens, max_usd, warn_at, period_start,
         spent_tokens, spent_usd)
    SELECT w.id, NULL, 'month', true, t.tokens_per_month, t.usd_per_month, t.warn_at, v_start,
           u.tokens, u.usd
    FROM base_workspace w JOIN base_tier t ON t.id = w.tier_id CROSS JOIN LATERAL (
        SELECT coalesce(sum(e.input_tokens::bigint + e.output_tokens), 0) AS tokens,
               coalesce(sum(e.cost_usd), 0) AS usd
        FROM base_usageentry e WHERE e.workspace_id = w.id AND e.at >= v_start) u
    WHERE w.id = ANY (v_workspaces) AND num_nonnulls(t.tokens_per_month, t.usd_per_month) > 0
          AND NOT EXISTS (SELECT 1 FROM agents_budget b WHERE b.workspace_id = w.id AND b.from_tier)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
