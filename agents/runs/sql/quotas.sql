-- What tiers allow a workspace, and how many runs an agent takes: counted, limited, told of.

-- ---------------------------------------------------------------------------------- runs that start

-- Count p_by runs (one, or minus one) in the day of a workspace, or in the minute of an agent. False:
-- with them it would be more than p_limit, so nothing is counted. Whoever counts at the same moment
-- waits: the row is locked until the caller's transaction ends.
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
        CONTINUE WHEN FOUND; -- it is full, or it came a moment ago
        -- The first count of all: a limit that is new begins with what the day has seen so far.
        INSERT INTO agents_runcount (workspace_id, agent_id, starts_at, runs)
        SELECT p_workspace, p_agent, v_start, CASE WHEN p_agent IS NOT NULL THEN 0 ELSE (
            SELECT count(*) FROM agents_run r WHERE r.workspace_id = p_workspace
                   AND r.created_at >= v_start AND r.parent_id IS NULL) END
        ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN false;
END $$;

-- Whether a run was accepted under that key before.
CREATE OR REPLACE FUNCTION heartbit_is_repeat(p_workspace bigint, p_key text)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT 1 FROM agents_run t
                   WHERE t.workspace_id = p_workspace AND t.idempotency_key = p_key)
$$;

-- Count a run that somebody starts against the day of its workspace and the minute of its agent.
-- Null: one of them is used up. False: there is nothing to count, no limit or a key that was used.
CREATE OR REPLACE FUNCTION heartbit_admit(a agents_agent, p_key text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_a_day int;
BEGIN
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
    -- Whoever was counted a moment ago may have come with the same key.
    RETURN CASE WHEN p_key IS NOT NULL AND heartbit_is_repeat(a.workspace_id, p_key) THEN false END;
END $$;

-- Take it back: the run had been started before, by somebody who was a moment quicker.
CREATE OR REPLACE FUNCTION heartbit_admit_not(a agents_agent)
RETURNS void LANGUAGE sql AS $$
    UPDATE agents_runcount c SET runs = greatest(c.runs - 1, 0)
    WHERE c.workspace_id = a.workspace_id AND (c.agent_id IS NULL OR c.agent_id = a.id)
$$;

-- ------------------------------------------------------------------------------- what a tier pays for

-- Let a workspace's tier be one more budget of it. A new one begins with what the month has cost so
-- far; calls that end in this very moment may be missing.
CREATE OR REPLACE FUNCTION heartbit_fit_tier(p_workspace bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t base_tier;
    v_start timestamptz := date_trunc('month', clock_timestamp(), 'UTC');
BEGIN
    SELECT x.* INTO t FROM base_workspace w JOIN base_tier x ON x.id = w.tier_id WHERE w.id = p_workspace;
    IF t.tokens_per_month IS NULL AND t.usd_per_month IS NULL THEN
        DELETE FROM agents_budget b WHERE b.workspace_id = p_workspace AND b.of_tier;
        RETURN;
    END IF;
    UPDATE agents_budget b
    SET max_tokens = t.tokens_per_month, max_usd = t.usd_per_month, warn_at = t.warn_at,
        warned_for = NULL, stopped_for = NULL
    WHERE b.workspace_id = p_workspace AND b.of_tier;
    IF FOUND THEN RETURN; END IF;
    INSERT INTO agents_budget
        (workspace_id, agent_id, period, of_tier, max_tokens, max_usd, warn_at, period_start,
         spent_tokens, spent_usd)
    SELECT p_workspace, NULL, 'month', true, t.tokens_per_month, t.usd_per_month, t.warn_at, v_start,
           coalesce(sum(u.input_tokens::bigint + u.output_tokens), 0), coalesce(sum(u.cost_usd), 0)
    FROM base_usageentry u WHERE u.workspace_id = p_workspace AND u.at >= v_start
    ON CONFLICT DO NOTHING;
END $$;

CREATE OR REPLACE FUNCTION heartbit_workspace_has_tier() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- With another tier the day's count, and what was said of it, begin anew.
    DELETE FROM agents_runcount c WHERE c.workspace_id = NEW.id AND c.agent_id IS NULL;
    PERFORM heartbit_fit_tier(NEW.id);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION heartbit_tier_is_different() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM agents_runcount c USING base_workspace w
    WHERE w.tier_id = NEW.id AND c.workspace_id = w.id AND c.agent_id IS NULL;
    PERFORM heartbit_fit_tier(w.id) FROM base_workspace w WHERE w.tier_id = NEW.id ORDER BY w.id;
    RETURN NULL;
END $$;

-- ----------------------------------------------------------------------------------------- being told

-- Write into the audit, and to the webhooks that want to know, that a quota is nearly used up
-- (`quota.warning`) or used up (`quota.reached`).
CREATE OR REPLACE FUNCTION heartbit_tell_of_quota(
    p_workspace bigint, p_event text, p_target text, p_label text, p_start timestamptz, p_details jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_at timestamptz := clock_timestamp();
BEGIN
    INSERT INTO base_auditentry (workspace_id, actor, via, action, target, label, details)
    VALUES (p_workspace, 'Heartbit', 'system', p_event, p_target, left(p_label, 200), p_details);
    INSERT INTO agents_webhookdelivery (endpoint_id, event, occurrence, message_id, payload)
    SELECT e.id, p_event,
           p_target || ' ' || to_char(p_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI'),
           'msg_' || replace(gen_random_uuid()::text, '-', ''),
           jsonb_build_object('type', p_event, 'timestamp', v_at, 'data', p_details || jsonb_build_object(
               'workspace', w.slug, 'quota', p_label))
    FROM agents_webhookendpoint e JOIN base_workspace w ON w.id = e.workspace_id
    WHERE e.workspace_id = p_workspace AND e.enabled AND e.events ? p_event
    FOR KEY SHARE OF e SKIP LOCKED; -- one that is being removed waits for the chain that is held here
END $$;

-- How far a limit is used up, in percent; null: there is none.
CREATE OR REPLACE FUNCTION heartbit_percent(p_used numeric, p_limit numeric)
RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_limit > 0 THEN least(floor(100 * p_used / p_limit), 1000)::int
                WHEN p_limit = 0 AND p_used > 0 THEN 100 END
$$;

-- A budget as warnings name it, and what they say of it.
CREATE OR REPLACE FUNCTION heartbit_budget_label(b agents_budget)
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN b.of_tier THEN 'the month of tier ' || (
                    SELECT t.name FROM base_workspace w JOIN base_tier t ON t.id = w.tier_id
                    WHERE w.id = b.workspace_id)
                ELSE 'the ' || b.period || '''s budget of ' || coalesce(
                    (SELECT 'agent ' || a.name FROM agents_agent a WHERE a.id = b.agent_id),
                    'the workspace') END
$$;
CREATE OR REPLACE FUNCTION heartbit_budget_details(b agents_budget, p_start timestamptz)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'period', b.period, 'since', p_start,
        'tokens', x.tokens, 'max_tokens', b.max_tokens,
        'usd', trim_scale(x.usd)::text, 'max_usd', trim_scale(b.max_usd)::text,
        'percent', greatest(heartbit_percent(x.tokens, b.max_tokens), heartbit_percent(x.usd, b.max_usd)))
    FROM (SELECT CASE WHEN b.period_start >= p_start THEN b.spent_tokens ELSE 0 END AS tokens,
                 CASE WHEN b.period_start >= p_start THEN b.spent_usd ELSE 0 END AS usd) x
$$;

-- The workspaces of which there is something to tell. It locks nothing, and most often finds nothing.
CREATE OR REPLACE FUNCTION heartbit_quotas_to_tell()
RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
    SELECT b.workspace_id FROM agents_budget b
    WHERE b.warned_for IS DISTINCT FROM b.period_start
          AND greatest(heartbit_percent(b.spent_tokens, b.max_tokens),
                       heartbit_percent(b.spent_usd, b.max_usd)) >= b.warn_at
    UNION
    SELECT c.workspace_id FROM agents_runcount c
    JOIN base_workspace w ON w.id = c.workspace_id JOIN base_tier t ON t.id = w.tier_id
    WHERE c.agent_id IS NULL AND (
        c.warned_for IS DISTINCT FROM c.starts_at AND heartbit_percent(c.runs, t.runs_per_day) >= t.warn_at
        OR c.stopped_for IS DISTINCT FROM c.starts_at AND c.runs >= t.runs_per_day)
    ORDER BY 1
$$;

-- Tell of a workspace's quotas that have come so far, each once in its period. Whoever looks holds the
-- audit's chain and waits for no row: what is being counted this moment is told at the next look.
CREATE OR REPLACE FUNCTION heartbit_tell_of_quotas(p_workspace bigint)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    b agents_budget;
    c agents_runcount;
    t base_tier;
    v_told int := 0;
    v_details jsonb;
BEGIN
    PERFORM pg_advisory_xact_lock(7703, p_workspace::int);
    FOR b IN
        SELECT x.* FROM agents_budget x
        WHERE x.workspace_id = p_workspace AND x.warned_for IS DISTINCT FROM x.period_start
              AND greatest(heartbit_percent(x.spent_tokens, x.max_tokens),
                           heartbit_percent(x.spent_usd, x.max_usd)) >= x.warn_at
        ORDER BY x.id FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        UPDATE agents_budget x SET warned_for = b.period_start WHERE x.id = b.id;
        PERFORM heartbit_tell_of_quota(b.workspace_id, 'quota.warning', 'budget:' || b.id,
            heartbit_budget_label(b), b.period_start, heartbit_budget_details(b, b.period_start));
        v_told := v_told + 1;
    END LOOP;
    SELECT x.* INTO t FROM base_workspace w JOIN base_tier x ON x.id = w.tier_id WHERE w.id = p_workspace;
    SELECT x.* INTO c FROM agents_runcount x
    WHERE x.workspace_id = p_workspace AND x.agent_id IS NULL FOR NO KEY UPDATE SKIP LOCKED;
    IF c.id IS NULL OR t.runs_per_day IS NULL THEN RETURN v_told; END IF;
    v_details := jsonb_build_object('period', 'day', 'since', c.starts_at, 'runs', c.runs,
        'max_runs', t.runs_per_day, 'percent', heartbit_percent(c.runs, t.runs_per_day));
    IF c.warned_for IS DISTINCT FROM c.starts_at
       AND heartbit_percent(c.runs, t.runs_per_day) >= t.warn_at THEN
        UPDATE agents_runcount x SET warned_for = c.starts_at WHERE x.id = c.id;
        PERFORM heartbit_tell_of_quota(p_workspace, 'quota.warning', 'tier:' || t.id,
            'the runs a day of tier ' || t.name, c.starts_at, v_details);
        v_told := v_told + 1;
    END IF;
    IF c.stopped_for IS DISTINCT FROM c.starts_at AND c.runs >= t.runs_per_day THEN
        UPDATE agents_runcount x SET stopped_for = c.starts_at WHERE x.id = c.id;
        PERFORM heartbit_tell_of_quota(p_workspace, 'quota.reached', 'tier:' || t.id,
            'the runs a day of tier ' || t.name, c.starts_at, v_details);
        v_told := v_told + 1;
    END IF;
    RETURN v_told;
END $$;

-- A model call was refused because a budget has too little left: that is told once in its period.
CREATE OR REPLACE FUNCTION heartbit_budget_refused(p_budget bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    b agents_budget;
    v_start timestamptz;
    v_workspace bigint;
BEGIN
    SELECT x.workspace_id, date_trunc(x.period, clock_timestamp(), 'UTC') INTO v_workspace, v_start
    FROM agents_budget x WHERE x.id = p_budget
          AND x.stopped_for IS DISTINCT FROM date_trunc(x.period, clock_timestamp(), 'UTC');
    IF NOT FOUND THEN RETURN; END IF;
    PERFORM pg_advisory_xact_lock(7703, v_workspace::int);
    SELECT x.* INTO b FROM agents_budget x
    WHERE x.id = p_budget AND x.stopped_for IS DISTINCT FROM v_start FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN; END IF; -- another refusal tells
    UPDATE agents_budget x SET stopped_for = v_start WHERE x.id = b.id;
    PERFORM heartbit_tell_of_quota(b.workspace_id, 'quota.reached', 'budget:' || b.id,
        heartbit_budget_label(b), v_start, heartbit_budget_details(b, v_start));
END $$;
