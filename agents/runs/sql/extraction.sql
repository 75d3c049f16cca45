-- Runs that extract memories from an ended run.

-- Return an id that sorts by time, as the ids that programs create (UUID version 7).
CREATE OR REPLACE FUNCTION heartbit_new_id()
RETURNS uuid LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_time text := lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0');
BEGIN
    RETURN left(v_time, 8) || '-' || right(v_time, 4) || '-7' || substr(gen_random_uuid()::text, 16);
END $$;

-- Create the extraction of an ended run if its agent's version asks for it, in the transaction that
-- ends the run, so that exactly one is created. Sub-agents' runs, forks and private runs have none,
-- because other members read the memories. The sweeper wakes
-- it, after the workspace's other runs, so that no answer waits for it. It counts against budgets but
-- not against run quotas.
CREATE OR REPLACE FUNCTION heartbit_follow_up(r agents_run)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_id uuid := heartbit_new_id();
BEGIN
    IF r.private_to_id IS NOT NULL THEN RETURN; END IF;
    PERFORM 1 FROM agents_agentversion v
    WHERE v.id = r.version_id AND ((v.snapshot ->> 'extract_memories')::boolean
        OR (v.snapshot ->> 'memory')::boolean);
    IF NOT FOUND THEN RETURN; END IF;
    PERFORM heartbit_create_run(
        v_id, r.workspace_id, r.version_id, r.agent::text, 'Extract the memories of run ' || r.id, NULL,
        v_id, 'fleet', 'memory', -100, '', '', 'heartbit:memories:' || r.id, p_by => r.started_by::text,
        p_user => r.started_user_id, p_hops => r.hops, p_kind => 'extraction');
    UPDATE agents_run SET woken_at = NULL WHERE id = v_id;
    INSERT INTO agents_memoryextraction (run_id, source_id, has_person)
    VALUES (v_id, r.id, r.started_user_id IS NOT NULL);
END $$;
