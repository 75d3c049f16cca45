-- What leaves the database when its time is over: first as lines of an archive, then for good.

-- A run with all that belongs to it as one JSON text; docs/howto/operations.md describes it.
CREATE OR REPLACE FUNCTION heartbit_archived(r agents_run)
RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object(
        'format', 1,
        'type', 'run',
        'run', to_jsonb(r) - '{worker_id,lease_token,claimed_seq,rung_at,version_id}'::text[],
        'version', (SELECT json_build_object('agent', a.name, 'number', v.number, 'hash', v.hash)
                    FROM agents_agentversion v JOIN agents_agent a ON a.id = v.agent_id
                    WHERE v.id = r.version_id),
        'events', (SELECT coalesce(json_agg(json_build_object(
                       'seq', e.seq, 'type', e.type, 'at', e.at, 'payload', e.payload) ORDER BY e.seq),
                       '[]') FROM agents_runevent e WHERE e.run_id = r.id),
        'calls', (SELECT coalesce(json_agg(to_jsonb(c) - '{id,run_id}'::text[] ORDER BY c.id), '[]')
                  FROM agents_toolcall c WHERE c.run_id = r.id),
        'waits', (SELECT coalesce(json_agg(to_jsonb(w) - '{id,run_id}'::text[] ORDER BY w.id), '[]')
                  FROM agents_wait w WHERE w.run_id = r.id),
        'decisions', (SELECT coalesce(json_agg(to_jsonb(d) - '{id,run_id}'::text[] ORDER BY d.id), '[]')
                      FROM agents_decision d WHERE d.run_id = r.id),
        'grants', (SELECT coalesce(json_agg(to_jsonb(g) - '{root_id}'::text[] ORDER BY g.id), '[]')
                   FROM agents_grant g WHERE g.root_id = r.id),
        'blackboard', (SELECT coalesce(json_agg(to_jsonb(b) - '{id,root_id}'::text[] ORDER BY b.key), '[]')
                       FROM agents_blackboardentry b WHERE b.root_id = r.id))::text;
END $$;

-- Delete trees that were archived: p_runs runs whose journals have p_events events in all, each ended
-- before p_before. Nothing is deleted, and false comes back, when that is not so (any more). With a
-- conversation: p_roots are all of its trees, and it goes with them. The usage ledger stays.
CREATE OR REPLACE FUNCTION heartbit_forget(
    p_roots uuid[], p_runs int, p_events bigint, p_before timestamptz, p_conversation uuid DEFAULT NULL)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_ids uuid[];
    v_events bigint;
    v_over boolean;
BEGIN
    IF p_conversation IS NOT NULL THEN
        PERFORM 1 FROM agents_conversation WHERE id = p_conversation FOR UPDATE;
        IF NOT FOUND OR EXISTS (SELECT 1 FROM agents_run WHERE conversation_id = p_conversation
                                AND root_id <> ALL (p_roots)) THEN
            RETURN false;
        END IF;
    END IF;
    SELECT coalesce(array_agg(t.id), '{}'), coalesce(sum(t.last_seq), 0),
           coalesce(bool_and(coalesce(t.finished_at < p_before, false)), true)
    INTO v_ids, v_events, v_over
    FROM (SELECT r.id, r.last_seq, r.finished_at FROM agents_run r WHERE r.root_id = ANY (p_roots)
          ORDER BY r.created_at, r.id FOR UPDATE) t;
    IF NOT v_over OR cardinality(v_ids) <> p_runs OR v_events <> p_events THEN RETURN false; END IF;
    UPDATE agents_run SET forked_from_id = NULL
    WHERE forked_from_id = ANY (v_ids) AND id <> ALL (v_ids);
    DELETE FROM agents_runevent WHERE run_id = ANY (v_ids);
    DELETE FROM agents_toolcall WHERE run_id = ANY (v_ids);
    DELETE FROM agents_wait WHERE run_id = ANY (v_ids);
    DELETE FROM agents_decision WHERE run_id = ANY (v_ids);
    UPDATE agents_decision d SET grant_id = NULL FROM agents_grant g
    WHERE g.root_id = ANY (v_ids) AND d.grant_id = g.id;
    DELETE FROM agents_grant WHERE root_id = ANY (v_ids);
    DELETE FROM agents_blackboardentry WHERE root_id = ANY (v_ids);
    DELETE FROM agents_checkpoint WHERE run_id = ANY (v_ids);
    DELETE FROM agents_run WHERE id = ANY (v_ids);
    DELETE FROM agents_conversation WHERE id = p_conversation;
    RETURN true;
END $$;
