-- Cancellation of a run and its descendants.

-- Cancel a run and its descendants. Queued and waiting runs end immediately; running ones are notified
-- and end themselves. Return the run to wake, or null.
CREATE OR REPLACE FUNCTION heartbit_cancel(p_run uuid, p_reason text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    v_parent uuid;
    v_ring uuid;
    v_child uuid;
BEGIN
    SELECT t.parent_id INTO v_parent FROM agents_run t WHERE t.id = p_run;
    IF v_parent IS NOT NULL THEN
        PERFORM 1 FROM agents_run t WHERE t.id = v_parent FOR NO KEY UPDATE;
    END IF;
    SELECT * INTO r FROM agents_run WHERE id = p_run FOR NO KEY UPDATE;
    IF r.id IS NULL OR r.finished_at IS NOT NULL THEN RETURN NULL; END IF;
    IF r.status = 'running' THEN
        IF NOT r.cancel_requested THEN
            PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq, jsonb_build_array(
                jsonb_build_object('type', 'run.cancel_requested',
                                   'payload', jsonb_build_object('reason', p_reason))));
            UPDATE agents_run SET cancel_requested = true, last_seq = last_seq + 1 WHERE id = r.id;
        END IF;
        PERFORM pg_notify('heartbit', 'cancel:' || r.id);
    ELSE
        v_ring := heartbit_end(r, 'cancelled', NULL, NULL, jsonb_build_array(jsonb_build_object(
            'type', 'run.cancelled', 'payload', jsonb_build_object('reason', p_reason, 'partial', ''))));
    END IF;
    FOR v_child IN SELECT id FROM agents_run WHERE parent_id = p_run AND finished_at IS NULL ORDER BY id
    LOOP
        PERFORM heartbit_cancel(v_child, p_reason);
    END LOOP;
    RETURN v_ring;
END $$;
