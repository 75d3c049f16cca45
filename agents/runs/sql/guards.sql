-- Rules the database itself enforces. {arrows} is agents.runs.transitions.arrows().

CREATE OR REPLACE FUNCTION heartbit_check_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (OLD.status || '>' || NEW.status) = ANY ('{arrows}'::text[]) THEN
        RAISE EXCEPTION 'run % cannot go from % to %', OLD.id, OLD.status, NEW.status
            USING ERRCODE = 'HB002';
    END IF;
    RETURN NEW;
END $$;

DROP TRIGGER IF EXISTS heartbit_run_transition ON agents_run;
CREATE TRIGGER heartbit_run_transition BEFORE UPDATE OF status ON agents_run
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION heartbit_check_transition();

CREATE OR REPLACE FUNCTION heartbit_refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'HB003';
END $$;

DROP TRIGGER IF EXISTS heartbit_append_only ON agents_runevent;
CREATE TRIGGER heartbit_append_only BEFORE UPDATE ON agents_runevent
    FOR EACH ROW EXECUTE FUNCTION heartbit_refuse_update();
DROP TRIGGER IF EXISTS heartbit_append_only ON agents_agentversion;
CREATE TRIGGER heartbit_append_only BEFORE UPDATE ON agents_agentversion
    FOR EACH ROW EXECUTE FUNCTION heartbit_refuse_update();
DROP TRIGGER IF EXISTS heartbit_append_only ON base_usageentry;
CREATE TRIGGER heartbit_append_only BEFORE UPDATE ON base_usageentry
    FOR EACH ROW EXECUTE FUNCTION heartbit_refuse_update();
