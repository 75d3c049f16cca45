-- Fair distribution of free slots: choose a workspace, then one of its runs. A priority counts only
-- among the runs of a workspace.
--
-- A wake-up names a run but does not reserve it: it says that one more run may start. If other
-- workspaces wait too, the slot may go to one of their runs, so a workspace with ten thousand queued
-- runs takes only the next free slot from another one. The named run is served by the wake-up of one of
-- the other runs: there are as many wake-ups as runs.
--
-- Callers of these functions set enable_seqscan and enable_bitmapscan to off, and the page costs to 0.
-- The statements are then planned for the indexes run_claimable, run_begun and run_at_work, whatever
-- the tables looked like when a session first called them: ten thousand runs may arrive within seconds.
-- An index with few rows keeps the pages that it had when ten thousand runs waited; if page costs
-- counted, the planner would read all rows of a workspace.

-- Return how many more of a workspace's runs the fleet may execute concurrently. Null: no limit.
-- Waiting runs do not count.
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

-- Return true if there is room for one more run, and reserve it until the transaction ends. With
-- p_may_wait false, return false instead of waiting for another claim in the workspace.
CREATE OR REPLACE FUNCTION heartbit_take_room(p_workspace bigint, p_may_wait boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_room int := heartbit_room(p_workspace);
BEGIN
    IF v_room IS NULL THEN RETURN true; END IF;
    IF v_room <= 0 THEN RETURN false; END IF;
    -- Class 7703 is that of the audit's chains.
    IF p_may_wait THEN
        PERFORM pg_advisory_xact_lock(7704, p_workspace::int);
    ELSIF NOT pg_try_advisory_xact_lock(7704, p_workspace::int) THEN
        RETURN false;
    END IF;
    RETURN heartbit_room(p_workspace) > 0; -- counts claims made meanwhile
END $$;

-- Return true if a run has rivals: due runs of other workspaces, or of its own with a higher priority.
-- Usually no other run is queued, which the first query finds out.
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

-- Return the first workspace after p_after that has queued runs in one of the queues.
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

-- Return the last workspace that has queued runs in one of the queues.
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

-- Return the highest priority below p_below among a workspace's queued runs in the queues.
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

-- Return true if a worker of generation p_knows may claim a queued run whose queue is not paused and
-- whose workspace is not halted. p_stopped: versions whose agent is stopped.
CREATE OR REPLACE FUNCTION heartbit_may_start(
    r agents_run, p_knows int, p_alone boolean, p_now timestamptz, p_stopped bigint[])
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN r.available_at <= p_now AND r.version_id <> ALL (p_stopped)
        AND (p_alone IS NULL OR NOT heartbit_is_suspect(r)) AND heartbit_is_for(r, p_knows);
END $$;

-- Return the highest priority among a workspace's claimable runs, and the time since when the first run
-- with that priority has been due; nulls: no claimable run. Behind a stopped agent's runs, the search
-- covers a hundred runs of each queue and priority, and sixteen priorities: a run beyond them waits for
-- its own wake-up. p_named: a claimable run.
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

-- Return the time when a workspace's last tree ended, so that the workspaces of a small fleet take
-- turns.
CREATE OR REPLACE FUNCTION heartbit_last_ended(p_workspace bigint)
RETURNS timestamptz LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT t.finished_at FROM agents_run t
            WHERE t.workspace_id = p_workspace AND t.finished_at IS NOT NULL AND t.parent_id IS NULL
            ORDER BY t.finished_at DESC LIMIT 1);
END $$;

-- Return the workspace for a free slot, and the highest priority among its claimable runs; nulls: no
-- workspace may use the slot. The workspace with the fewest running runs comes first. Among equals, it
-- is the one whose last tree ended the longest ago: otherwise, with fewer slots than workspaces, a
-- workspace with ten thousand old runs would take each slot that it frees. Priorities are not compared
-- between workspaces, because each workspace sets its own. With many workspaces, compare only sixteen,
-- beginning at a random one, so that each gets its turn. p_named: a claimable run.
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
            LIMIT coalesce(v_fewest + 1, v_limit)) x; -- a higher count makes no difference
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

-- Lock the first of a workspace's claimable runs that no other transaction has locked: one that belongs
-- to a started tree, else the oldest. Trees therefore end before others start, however many wait, and
-- an orchestrator's timeout does not pass while its sub-agents are queued.
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

-- Lock and return the run that gets a free slot, and reserve the room of its workspace; a row of nulls:
-- no run may start. p_named: the run that the wake-up named, if it is claimable. p_by_name: true if
-- p_named is locked and its workspace has no limit; it then precedes other runs of its workspace and
-- priority.
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
    -- Read the pauses once, not for each run: there are few, usually none.
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
            -- Wake-ups arrive in the order in which runs were started.
            IF p_by_name AND v_workspace = p_named.workspace_id AND v_priority = p_named.priority THEN
                RETURN p_named;
            END IF;
            r := heartbit_lock_next(v_workspace, v_priority, v_queues, p_knows, p_alone, v_now, v_stopped);
            IF r.id IS NOT NULL THEN RETURN r; END IF;
        END IF;
        -- Other claims were faster. From here on wait for no claim: this one may hold a workspace's
        -- lock.
        v_may_wait := false;
        v_not := v_not || v_workspace;
    END LOOP;
END $$;

-- Return a run of a limited workspace that may start in a free slot, to wake it; no row: none. Lock
-- nothing, because claims skip locked runs.
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
