-- Checkpoints: the folded state of a journal up to an event, so that a long journal is not folded from
-- its beginning.

-- Store a checkpoint unless a newer one exists. No lease is needed: a checkpoint depends on the journal
-- alone.
CREATE OR REPLACE FUNCTION heartbit_checkpoint(p_run uuid, p_seq int, p_format int, p_state jsonb)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO agents_checkpoint (run_id, seq, format, state, at)
    VALUES (p_run, p_seq, p_format, p_state, clock_timestamp())
    ON CONFLICT (run_id) DO UPDATE
    SET seq = excluded.seq, format = excluded.format, state = excluded.state, at = excluded.at
    WHERE agents_checkpoint.seq < excluded.seq OR agents_checkpoint.format <> excluded.format
$$;
