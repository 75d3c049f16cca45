-- Checkpoints: the fold of a journal so far, so that a long one is not folded from its beginning.

-- Keep the newest. It is a function of the journal alone, so it needs no lease.
CREATE OR REPLACE FUNCTION heartbit_checkpoint(p_run uuid, p_seq int, p_format int, p_state jsonb)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO agents_checkpoint (run_id, seq, format, state, at)
    VALUES (p_run, p_seq, p_format, p_state, clock_timestamp())
    ON CONFLICT (run_id) DO UPDATE
    SET seq = excluded.seq, format = excluded.format, state = excluded.state, at = excluded.at
    WHERE agents_checkpoint.seq < excluded.seq OR agents_checkpoint.format <> excluded.format
$$;
