-- Archives: export of runs and artifacts as lines of JSON, and deletion after the retention period.

-- Return a run with everything that belongs to it as one JSON text (docs/howto/operations.md). For an
-- extraction, leave out what its model wrote: that text is deleted when its person is erased, and
-- archives are never edited.
CREATE OR REPLACE FUNCTION heartbit_archived(r agents_run)
RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE v_extracts boolean := r.kind = 'extraction';
BEGIN
    RETURN json_build_object(
        'format', 1,
        'type', 'run',
        'run', to_jsonb(r) - '{worker_id,lease_token,claimed_seq,woken_at,version_id}'::text[]
                   - CASE WHEN v_extracts THEN '{output,structured,error}'::text[] ELSE '{}' END,
        'version', (SELECT json_build_object('agent', a.name, 'number', v.number, 'hash', v.hash)
                    FROM agents_agentversion v JOIN agents_agent a ON a.id = v.agent_id
                    WHERE v.id = r.version_id),
        'events', (SELECT coalesce(json_agg(json_build_object(
                       'seq', e.seq, 'type', e.type, 'at', e.at, 'payload', e.payload) ORDER BY e.seq),
                       '[]') FROM agents_runevent e WHERE e.run_id = r.id AND NOT v_extracts),
        'calls', (SELECT coalesce(json_agg(to_jsonb(c) - '{id,run_id}'::text[] ORDER BY c.id), '[]')
                  FROM agents_toolcall c WHERE c.run_id = r.id AND NOT v_extracts),
        'waits', (SELECT coalesce(json_agg(to_jsonb(w) - '{id,run_id}'::text[] ORDER BY w.id), '[]')
                  FROM agents_wait w WHERE w.run_id = r.id),
        'decisions', (SELECT coalesce(json_agg(to_jsonb(d) - '{id,run_id}'::text[] ORDER BY d.id), '[]')
                      FROM agents_decision d WHERE d.run_id = r.id),
        'votes', (SELECT coalesce(json_agg(to_jsonb(v) - '{id,run_id}'::text[] ORDER BY v.id), '[]')
                  FROM agents_vote v WHERE v.run_id = r.id),
        'grants', (SELECT coalesce(json_agg(to_jsonb(g) - '{root_id}'::text[] ORDER BY g.id), '[]')
                   FROM agents_grant g WHERE g.root_id = r.id),
        'blackboard', (SELECT coalesce(json_agg(to_jsonb(b) - '{id,root_id}'::text[] ORDER BY b.key), '[]')
                       FROM agents_blackboardentry b WHERE b.root_id = r.id),
        'files', (SELECT coalesce(json_agg(json_build_object(
                      'path', f.path, 'size', f.size, 'call', f.call,
                      'content', translate(encode(f.content, 'base64'), E'\n', '')) ORDER BY f.path), '[]')
                  FROM (SELECT DISTINCT ON (w.path) w.* FROM agents_workfile w
                        WHERE w.root_id = r.id ORDER BY w.path, w.id DESC) f
                  WHERE f.content IS NOT NULL))::text;
END $$;

-- Return a stored artifact as one JSON text with its content in Base64.
CREATE OR REPLACE FUNCTION heartbit_archived_artifact(f agents_artifact)
RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object(
        'format', 1, 'type', 'artifact', 'run_id', f.run_id, 'name', f.name,
        'content_type', f.content_type, 'size', f.size, 'sha256', f.sha256, 'created_at', f.created_at,
        'content', translate(encode(f.content, 'base64'), E'\n', ''))::text;
END $$;

-- Return true if a run ended before p_before and no live run was forked from it: a live fork may still
-- be compared with its source.
CREATE OR REPLACE FUNCTION heartbit_is_over(r agents_run, p_before timestamptz)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(r.finished_at < p_before, false) AND NOT EXISTS (
        SELECT 1 FROM agents_run f WHERE f.forked_from_id = r.id AND f.finished_at IS NULL);
END $$;

-- Return trees without a conversation in which every run is over, oldest first, after the tree created
-- at p_at with the root p_id: creation time, id of the root, all roots, number of runs, and number of
-- events.
CREATE OR REPLACE FUNCTION heartbit_trees_over(
    p_workspace bigint, p_before timestamptz, p_at timestamptz, p_id uuid, p_limit int)
RETURNS TABLE (at timestamptz, id uuid, roots uuid[], runs bigint, events bigint) LANGUAGE sql STABLE AS $$
    SELECT r.created_at, r.id, ARRAY[r.id], t.runs, t.events
    FROM agents_run r
    CROSS JOIN LATERAL (
        SELECT count(*) AS runs, sum(c.last_seq) AS events, bool_and(heartbit_is_over(c, p_before)) AS over
        FROM agents_run c WHERE c.root_id = r.id) t
    WHERE r.workspace_id = p_workspace AND r.parent_id IS NULL AND r.conversation_id IS NULL
          AND r.finished_at < p_before AND r.created_at < p_before
          AND (r.created_at, r.id) > (p_at, p_id) AND t.over
    ORDER BY r.created_at, r.id LIMIT p_limit
$$;

-- Return conversations in which every run of every tree is over, or that have no runs, as
-- heartbit_trees_over returns trees.
CREATE OR REPLACE FUNCTION heartbit_conversations_over(
    p_workspace bigint, p_before timestamptz, p_at timestamptz, p_id uuid, p_limit int)
RETURNS TABLE (at timestamptz, id uuid, roots uuid[], runs bigint, events bigint) LANGUAGE sql STABLE AS $$
    SELECT v.created_at, v.id, t.roots, t.runs, t.events
    FROM agents_conversation v
    CROSS JOIN LATERAL (
        SELECT count(*) AS runs, coalesce(sum(c.last_seq), 0) AS events,
               coalesce(array_agg(c.id) FILTER (WHERE c.parent_id IS NULL), '{}') AS roots,
               coalesce(bool_and(heartbit_is_over(c, p_before)), true) AS over
        FROM agents_run r JOIN agents_run c ON c.root_id = r.id
        WHERE r.conversation_id = v.id AND r.parent_id IS NULL) t
    WHERE v.workspace_id = p_workspace AND v.created_at < p_before
          AND (v.created_at, v.id) > (p_at, p_id) AND t.over
    ORDER BY v.created_at, v.id LIMIT p_limit
$$;

-- Delete archived trees; the usage ledger stays. Return false and delete nothing unless the trees still
-- have exactly p_runs runs with p_events events in total, all ended before p_before.
-- With p_conversation, p_roots must be all of its trees, and the conversation is deleted as well.
CREATE OR REPLACE FUNCTION heartbit_forget(
    p_roots uuid[], p_runs int, p_events bigint, p_before timestamptz, p_conversation uuid DEFAULT NULL)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_ids uuid[];
    v_events bigint;
    v_over boolean;
BEGIN
    -- Do not wait for the disk: rows that return after a database crash are archived a second time.
    PERFORM set_config('synchronous_commit', 'off', true);
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
    DELETE FROM agents_vote WHERE run_id = ANY (v_ids);
    UPDATE agents_decision d SET grant_id = NULL FROM agents_grant g
    WHERE g.root_id = ANY (v_ids) AND d.grant_id = g.id;
    DELETE FROM agents_grant WHERE root_id = ANY (v_ids);
    DELETE FROM agents_blackboardentry WHERE root_id = ANY (v_ids);
    DELETE FROM agents_artifact WHERE run_id = ANY (v_ids);
    DELETE FROM agents_workfile WHERE root_id = ANY (v_ids);
    DELETE FROM agents_checkpoint WHERE run_id = ANY (v_ids);
    DELETE FROM agents_recalledmemory WHERE run_id = ANY (v_ids);
    DELETE FROM agents_learnedmemory WHERE run_id = ANY (v_ids);
    DELETE FROM agents_memoryextraction WHERE run_id = ANY (v_ids) OR source_id = ANY (v_ids);
    DELETE FROM agents_run WHERE id = ANY (v_ids);
    DELETE FROM agents_stateentry WHERE conversation_id = p_conversation;
    DELETE FROM agents_conversation WHERE id = p_conversation;
    RETURN true;
END $$;
