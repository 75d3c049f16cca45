-- Whose turn it is: which workspace a free slot goes to, and which of its runs: there, and only there, a
-- priority counts.
--
-- A nudge names a run, but it is only a token: it says that one more run may start. So when others
-- wait as well it may go to one of theirs, and a workspace with ten thousand runs in the queue takes
-- from another one no more than the slot that is free next. The run that was named is served by one of
-- the others' nudges: there are as many nudges as runs.
--
-- Whoever calls these sets enable_seqscan and enable_bitmapscan off, and the costs of pages to 0: they are
-- planned for the indexes run_claimable, run_begun and run_at_work whatever the tables looked like when a
-- session first called them, for ten thousand runs may come within seconds. An index of few rows keeps the
-- pages that it had when ten thousand waited; where these counted, all rows of a workspace would be read.

-- How many more of a workspace's runs the fleet may work on at once. Null: as many as it can. What
-- waits for something is not at work.
CREATE OR REPLACE FUNCTION heartbit_room(p_workspace bigint)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_limit int;
BEGIN
    SELECT t.runs_at_once INTO v_limit
    FROM base_workspace w JOIN base_tier t ON t.id = w.tier_id WHERE w.id = p_workspace;
    IF v_limit IS NULL THEN RETURN NULL; END IF;
    RETURN v_limit - (SELECT count(*) FROM agents_run r WHERE r.workspace_id = p_workspace
                      AND r.status = 'running' AND r.home = 'fleet');
END $$;

-- Whether there is room for one more, which nobody else takes before the transaction ends. One that
-- must not wait for others' claims in the workspace gets false when there are some.
CREATE OR REPLACE FUNCTION heartbit_take_room(p_workspace bigint, p_may_wait boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_room int := heartbit_room(p_workspace);
BEGIN
    IF v_room IS NULL THEN RETURN true; END IF;
    IF v_room <= 0 THEN RETURN false; END IF;
    -- (7703 is the class of the audit's chains.)
    IF p_may_wait THEN
        PERFORM pg_advisory_xact_lock(7704, p_workspace::int);
    ELSIF NOT pg_try_advisory_xact_lock(7704, p_workspace::int) THEN
        RETURN false;
    END IF;
    RETURN heartbit_room(p_workspace) > 0; -- of claims that have been made meanwhile, too
END $$;

-- Whether a run has rivals: due runs of other workspaces, or of its own with a higher priority. Most
-- often nothing else waits at all, and one look says so.
CREATE OR REPLACE FUNCTION heartbit_has_rivals(r agents_run, p_queues text[], p_now timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE q text;
BEGIN
    PERFORM 1 FROM agents_run t
    WHERE t.status = 'queued' AND t.home = 'fleet' AND t.queue = ANY (p_queues) AND t.id <> r.id LIMIT 1;
    IF NOT FOUND THEN RETURN false; END IF;
    FOREACH q IN ARRAY p_queues LOOP
        PERFORM 1 FROM agents_run t
        WHERE t.status = 'queued' AND t.home = 'fleet' AND t.queue = q
              AND t.workspace_id > r.workspace_id AND t.available_at <= p_now LIMIT 1;
        IF FOUND THEN RETURN true; END IF;
        PERFORM 1 FROM agents_run t
        WHERE t.status = 'queued' AND t.home = 'fleet' AND t.queue = q
              AND t.workspace_id < r.workspace_id AND t.available_at <= p_now LIMIT 1;
        IF FOUND THEN RETURN true; END IF;
        PERFORM 1 FROM agents_run t
        WHERE t.status = 'queued' AND t.home = 'fleet' AND t.queue = q
              AND t.workspace_id = r.workspace_id AND t.priority > r.priority
              AND t.available_at <= p_now LIMIT 1;
        IF FOUND THEN RETURN true; END IF;
    END LOOP;
    RETURN false;
END $$;

-- The first workspace after p_after that has runs in one of the queues.
CREATE OR REPLACE FUNCTION heartbit_next_waiting(p_queues text[], p_after bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    q text;
    v_next bigint;
    v_first bigint;
BEGIN
    FOREACH q IN ARRAY p_queues LOOP
        SELECT t.workspace_id INTO v_next FROM agents_run t
        WHERE t.status = 'queued' AND t.home = 'fleet' AND t.queue = q AND t.workspace_id > p_after
        ORDER BY t.workspace_id LIMIT 1;
        v_first := least(v_first, v_next);
    END LOOP;
    RETURN v_first;
END $$;

-- The last workspace that has such runs.
CREATE OR REPLACE FUNCTION heartbit_last_waiting(p_queues text[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    q text;
    v_one bigint;
    v_last bigint;
BEGIN
    FOREACH q IN ARRAY p_queues LOOP
        SELECT t.workspace_id INTO v_one FROM agents_run t
        WHERE t.status = 'queued' AND t.home = 'fleet' AND t.queue = q
        ORDER BY t.workspace_id DESC LIMIT 1;
        v_last := greatest(v_last, v_one);
    END LOOP;
    RETURN v_last;
END $$;

-- The highest priority below p_below that a run of a workspace in one of the queues has.
CREATE OR REPLACE FUNCTION heartbit_next_priority(p_workspace bigint, p_queues text[], p_below int)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    q text;
    v_one int;
    v_most int;
BEGIN
    FOREACH q IN ARRAY p_queues LOOP
        SELECT t.priority INTO v_one FROM agents_run t
        WHERE t.status = 'queued' AND t.home = 'fleet' AND t.queue = q AND t.workspace_id = p_workspace
              AND t.priority < p_below
        ORDER BY t.priority DESC LIMIT 1;
        v_most := greatest(v_most, v_one);
    END LOOP;
    RETURN v_most;
END $$;

-- Whether a run that is queued in a queue that goes on, in a workspace that is not stopped, may be
-- claimed by a worker of this generation; p_stopped: the versions whose agent is stopped.
CREATE OR REPLACE FUNCTION heartbit_may_start(
    r agents_run, p_knows int, p_alone boolean, p_now timestamptz, p_stopped bigint[])
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN r.available_at <= p_now AND r.version_id <> ALL (p_stopped)
        AND (p_alone IS NULL OR NOT heartbit_is_suspect(r)) AND heartbit_is_for(r, p_knows);
END $$;

-- The highest priority of which a workspace has a run that may be claimed, and since when the first of
-- these has waited; nulls: there is none. Of what has piled up behind a stopped agent it looks at a
-- hundred of a priority, and at sixteen priorities: a run behind them waits for its own nudge. p_named:
-- a run that may be claimed.
CREATE OR REPLACE FUNCTION heartbit_waits_with(
    p_workspace bigint, p_named agents_run, p_queues text[], p_knows int, p_alone boolean,
    p_now timestamptz, p_stopped bigint[], OUT priority int, OUT since timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    q text;
    v_at timestamptz;
    v_priority int := 32768;
BEGIN
    FOR i IN 1 .. 16 LOOP
        v_priority := heartbit_next_priority(p_workspace, p_queues, v_priority);
        EXIT WHEN v_priority IS NULL
                  OR p_workspace = p_named.workspace_id AND v_priority <= p_named.priority;
        FOREACH q IN ARRAY p_queues LOOP
            SELECT x.available_at INTO v_at FROM (
                SELECT t AS run, t.available_at FROM agents_run t
                WHERE t.status = 'queued' AND t.home = 'fleet' AND t.queue = q
                      AND t.workspace_id = p_workspace AND t.priority = v_priority
                      AND t.available_at <= p_now
                ORDER BY t.available_at LIMIT 100) x
            WHERE heartbit_may_start(x.run, p_knows, p_alone, p_now, p_stopped) LIMIT 1;
            since := least(since, v_at);
        END LOOP;
        IF since IS NOT NULL THEN
            priority := v_priority;
            RETURN;
        END IF;
    END LOOP;
    IF p_workspace = p_named.workspace_id THEN
        priority := p_named.priority;
        since := p_named.available_at;
    END IF;
END $$;

-- When the last of a workspace's trees ended: so the workspaces of a small fleet take turns.
CREATE OR REPLACE FUNCTION heartbit_last_ended(p_workspace bigint)
RETURNS timestamptz LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT t.finished_at FROM agents_run t
            WHERE t.workspace_id = p_workspace AND t.finished_at IS NOT NULL AND t.parent_id IS NULL
            ORDER BY t.finished_at DESC LIMIT 1);
END $$;

-- Of the workspaces that wait one with the fewest runs at work, and of several such the one of whose
-- trees none has ended for the longest time: otherwise, with fewer slots than workspaces, one that has
-- ten thousand old runs would have each slot that it frees. And the highest priority that it waits
-- with; nulls: none may have a slot. What others' runs have for priorities does not count: whoever may
-- start runs chooses it. With very many workspaces it compares sixteen, from a random one on, so that
-- all have their turn. p_named: a run that may be claimed.
CREATE OR REPLACE FUNCTION heartbit_fairest(
    p_named agents_run, p_not bigint[], p_queues text[], p_knows int, p_alone boolean,
    p_now timestamptz, p_stopped bigint[], OUT workspace bigint, OUT priority int)
LANGUAGE plpgsql AS $$
DECLARE
    v_first bigint := heartbit_next_waiting(p_queues, -1);
    v_last bigint := heartbit_last_waiting(p_queues);
    v_from bigint;
    v_is_second boolean := false;
    v_compared int := 0;
    w bigint;
    v_limit int;
    v_running bigint;
    v_priority int;
    v_since timestamptz;
    v_ended timestamptz;
    v_fewest bigint;
    v_earliest timestamptz;
    v_oldest timestamptz;
BEGIN
    IF v_first IS NULL THEN RETURN; END IF;
    v_from := v_first + floor(random() * (v_last - v_first + 1))::bigint;
    w := v_from - 1;
    LOOP
        w := heartbit_next_waiting(p_queues, w);
        IF w IS NULL THEN
            EXIT WHEN v_is_second OR v_from = v_first;
            v_is_second := true;
            w := v_first - 1;
            CONTINUE;
        END IF;
        EXIT WHEN v_is_second AND w >= v_from;
        CONTINUE WHEN w = ANY (p_not);
        SELECT t.runs_at_once INTO v_limit
        FROM base_workspace s JOIN base_tier t ON t.id = s.tier_id WHERE s.id = w;
        SELECT count(*) INTO v_running FROM (
            SELECT 1 FROM agents_run r
            WHERE r.workspace_id = w AND r.status = 'running' AND r.home = 'fleet'
            LIMIT coalesce(v_fewest + 1, v_limit)) x; -- more would not matter
        CONTINUE WHEN v_running >= v_limit OR v_running > v_fewest;
        SELECT x.priority, x.since INTO v_priority, v_since
        FROM heartbit_waits_with(w, p_named, p_queues, p_knows, p_alone, p_now, p_stopped) x;
        CONTINUE WHEN v_since IS NULL;
        v_ended := coalesce(heartbit_last_ended(w), '-infinity');
        IF workspace IS NULL OR (v_running, v_ended, v_since) < (v_fewest, v_earliest, v_oldest) THEN
            workspace := w;
            priority := v_priority;
            v_fewest := v_running;
            v_earliest := v_ended;
            v_oldest := v_since;
        END IF;
        v_compared := v_compared + 1;
        EXIT WHEN v_compared = 16;
    END LOOP;
END $$;

-- Lock the first of a workspace's runs that may be claimed and that nobody else has locked: what
-- belongs to a tree that has begun, else the oldest. So trees end before others begin, however many
-- wait, and an orchestrator's patience is not used up in the queue.
CREATE OR REPLACE FUNCTION heartbit_lock_next(
    p_workspace bigint, p_priority int, p_queues text[], p_knows int, p_alone boolean,
    p_now timestamptz, p_stopped bigint[])
RETURNS agents_run LANGUAGE plpgsql AS $$
DECLARE
    q text;
    r agents_run;
BEGIN
    FOREACH q IN ARRAY p_queues LOOP
        SELECT * INTO r FROM agents_run t
        WHERE t.status = 'queued' AND t.home = 'fleet' AND t.queue = q AND t.priority = p_priority
              AND t.workspace_id = p_workspace AND (t.parent_id IS NOT NULL OR t.started_at IS NOT NULL)
              AND heartbit_may_start(t, p_knows, p_alone, p_now, p_stopped)
        ORDER BY t.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
        IF FOUND THEN RETURN r; END IF;
    END LOOP;
    FOREACH q IN ARRAY p_queues LOOP
        SELECT * INTO r FROM agents_run t
        WHERE t.status = 'queued' AND t.home = 'fleet' AND t.queue = q AND t.priority = p_priority
              AND t.workspace_id = p_workspace AND t.available_at <= p_now
              AND heartbit_may_start(t, p_knows, p_alone, p_now, p_stopped)
        ORDER BY t.available_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
        IF FOUND THEN RETURN r; END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- The run that a slot goes to, locked, with its workspace's room taken; a row of nulls: none may
-- start. p_named: the one that the nudge named, if it may be claimed; p_by_name: it is locked, and
-- comes before others of its workspace and its priority; the workspace has no limit.
CREATE OR REPLACE FUNCTION heartbit_choose(
    p_named agents_run, p_by_name boolean, p_queues text[], p_knows int, p_alone boolean)
RETURNS agents_run LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    v_now timestamptz := clock_timestamp();
    v_all boolean;
    v_paused text[];
    v_not bigint[];
    v_queues text[];
    v_stopped bigint[];
    v_priority int;
    v_workspace bigint;
    v_may_wait boolean := true;
BEGIN
    -- Read once, not for each run that is looked at: there are few, usually none.
    SELECT coalesce(bool_or(p.kind = 'all'), false), coalesce(array_agg(p.queue), '{}'),
           coalesce(array_agg(p.workspace_id) FILTER (WHERE p.kind = 'workspace'), '{}')
    INTO v_all, v_paused, v_not FROM agents_pause p;
    IF v_all THEN RETURN NULL; END IF;
    SELECT coalesce(array_agg(q), '{}') INTO v_queues FROM unnest(p_queues) q WHERE q <> ALL (v_paused);
    v_stopped := heartbit_stopped();
    LOOP
        SELECT x.workspace, x.priority INTO v_workspace, v_priority
        FROM heartbit_fairest(p_named, v_not, v_queues, p_knows, p_alone, v_now, v_stopped) x;
        IF v_workspace IS NULL THEN RETURN NULL; END IF;
        IF heartbit_take_room(v_workspace, v_may_wait) THEN
            -- Nudges come in the order in which runs were started.
            IF p_by_name AND v_workspace = p_named.workspace_id AND v_priority = p_named.priority THEN
                RETURN p_named;
            END IF;
            r := heartbit_lock_next(v_workspace, v_priority, v_queues, p_knows, p_alone, v_now, v_stopped);
            IF r.id IS NOT NULL THEN RETURN r; END IF;
        END IF;
        -- Others were quicker. From now on it waits for nobody: it may hold a workspace's lock.
        v_may_wait := false;
        v_not := v_not || v_workspace;
    END LOOP;
END $$;

-- A run of a limited workspace that may start now that a slot of it is free, to ring; no row: none. It
-- locks nothing: a claim would pass over what is locked here.
CREATE OR REPLACE FUNCTION heartbit_ring_next(p_workspace bigint, p_queues text[])
RETURNS TABLE (ring uuid, ring_queue text) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off
SET random_page_cost = 0 SET seq_page_cost = 0 AS $$
DECLARE
    q text;
    v_now timestamptz := clock_timestamp();
    v_priority int := 32768;
BEGIN
    IF coalesce(heartbit_room(p_workspace), 1) <= 0 THEN RETURN; END IF;
    LOOP
        v_priority := heartbit_next_priority(p_workspace, p_queues, v_priority);
        EXIT WHEN v_priority IS NULL;
        FOREACH q IN ARRAY p_queues LOOP
            RETURN QUERY SELECT t.id, t.queue::text FROM agents_run t
                WHERE t.status = 'queued' AND t.home = 'fleet' AND t.queue = q
                      AND t.workspace_id = p_workspace AND t.priority = v_priority
                      AND t.available_at <= v_now
                ORDER BY t.available_at LIMIT 1;
            IF FOUND THEN RETURN; END IF;
        END LOOP;
    END LOOP;
END $$;
