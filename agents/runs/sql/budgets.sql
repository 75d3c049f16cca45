-- Budgets: what is spent of them, and the usage of runs.

-- Return the tokens spent of a budget in the current period; periods begin at midnight UTC.
CREATE OR REPLACE FUNCTION heartbit_spent_tokens(b agents_budget)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN b.period_start >= date_trunc(b.period, clock_timestamp(), 'UTC')
                THEN b.spent_tokens ELSE 0 END
$$;

-- Return the US dollars spent of a budget in the current period.
CREATE OR REPLACE FUNCTION heartbit_spent_usd(b agents_budget)
RETURNS numeric LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN b.period_start >= date_trunc(b.period, clock_timestamp(), 'UTC')
                THEN b.spent_usd ELSE 0 END
$$;

-- Return the agent whose limits and budgets apply to runs of an agent: of a draft, the agent that it is the
-- draft of; else the agent itself.
CREATE OR REPLACE FUNCTION heartbit_published(p_agent bigint)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT p.id FROM agents_agent d JOIN agents_agent p
                     ON p.workspace_id = d.workspace_id AND p.origin = '' AND p.name = d.name
                     WHERE d.id = p_agent AND d.origin = 'draft'), p_agent)
$$;

-- Return true if a budget counts the model calls of a run: those of its agent, of the person or the
-- schedule that started its tree, or all.
CREATE OR REPLACE FUNCTION heartbit_counts(b agents_budget, p_run uuid)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM agents_run r JOIN agents_run t ON t.id = r.root_id
        JOIN agents_agentversion v ON v.id = r.version_id
        WHERE r.id = p_run AND (b.agent_id IS NULL OR b.agent_id = heartbit_published(v.agent_id))
              AND (b.person_id IS NULL OR b.person_id = t.started_user_id)
              AND (b.schedule = '' OR t.started_by = 'schedule ' || b.schedule))
$$;

-- Count a model call against the budgets that count its run. Budgets are locked after the
-- run, by id; no other function locks them.
CREATE OR REPLACE FUNCTION heartbit_spend(p_run uuid, p_workspace bigint, p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    b agents_budget;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM agents_budget t WHERE t.workspace_id = p_workspace) THEN RETURN; END IF;
    FOR b IN
        SELECT t.* FROM agents_budget t
        WHERE t.workspace_id = p_workspace AND heartbit_counts(t, p_run)
        ORDER BY t.id FOR NO KEY UPDATE
    LOOP
        UPDATE agents_budget t
        SET spent_tokens = heartbit_spent_tokens(b) + heartbit_count(p #>> '{usage,input_tokens}')
                           + heartbit_count(p #>> '{usage,output_tokens}'),
            spent_usd = heartbit_spent_usd(b) + CASE
                WHEN (p ->> 'cost_usd')::numeric BETWEEN 0 AND 999999 THEN (p ->> 'cost_usd')::numeric
                ELSE 0 END,
            period_start = date_trunc(b.period, clock_timestamp(), 'UTC')
        WHERE t.id = b.id;
    END LOOP;
END $$;

-- Return the usage of a run for the run that waits for it.
CREATE OR REPLACE FUNCTION heartbit_usage(p_run uuid)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('tokens', coalesce(sum(u.input_tokens::bigint + u.output_tokens), 0),
                              'cost_usd', coalesce(sum(u.cost_usd), 0)::text)
    FROM base_usageentry u WHERE u.run_id = p_run
$$;
