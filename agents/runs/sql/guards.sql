-- Rules that the database itself enforces. {arrows} comes from
-- agents.runs.transitions.allowed_transitions().

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

-- Texts of a person who is erased are replaced, in a transaction that sets heartbit.erasing to 'on'.
DROP TRIGGER IF EXISTS heartbit_append_only ON agents_runevent;
CREATE TRIGGER heartbit_append_only BEFORE UPDATE ON agents_runevent
    FOR EACH ROW WHEN (current_setting('heartbit.erasing', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION heartbit_refuse_update();
DROP TRIGGER IF EXISTS heartbit_append_only ON agents_agentversion;
CREATE TRIGGER heartbit_append_only BEFORE UPDATE ON agents_agentversion
    FOR EACH ROW WHEN (current_setting('heartbit.erasing', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION heartbit_refuse_update();
DROP TRIGGER IF EXISTS heartbit_append_only ON agents_skillversion;
CREATE TRIGGER heartbit_append_only BEFORE UPDATE ON agents_skillversion
    FOR EACH ROW EXECUTE FUNCTION heartbit_refuse_update();
DROP TRIGGER IF EXISTS heartbit_append_only ON agents_skillfile;
CREATE TRIGGER heartbit_append_only BEFORE UPDATE ON agents_skillfile
    FOR EACH ROW EXECUTE FUNCTION heartbit_refuse_update();
DROP TRIGGER IF EXISTS heartbit_append_only ON base_usageentry;
CREATE TRIGGER heartbit_append_only BEFORE UPDATE ON base_usageentry
    FOR EACH ROW EXECUTE FUNCTION heartbit_refuse_update();
DROP TRIGGER IF EXISTS heartbit_append_only ON agents_message;
CREATE TRIGGER heartbit_append_only BEFORE UPDATE ON agents_message
    FOR EACH ROW EXECUTE FUNCTION heartbit_refuse_update();

-- Triggers that update the limits of workspaces when a workspace's tier, or a tier itself, changes.
CREATE OR REPLACE TRIGGER heartbit_tier_given AFTER INSERT ON base_workspace
    FOR EACH ROW WHEN (NEW.tier_id IS NOT NULL) EXECUTE FUNCTION heartbit_fit_tier();
CREATE OR REPLACE TRIGGER heartbit_tier_changed AFTER UPDATE OF tier_id ON base_workspace
    FOR EACH ROW WHEN (OLD.tier_id IS DISTINCT FROM NEW.tier_id)
    EXECUTE FUNCTION heartbit_fit_tier();
CREATE OR REPLACE TRIGGER heartbit_tier_different AFTER UPDATE ON base_tier
    FOR EACH ROW WHEN ((OLD.runs_per_day, OLD.tokens_per_month, OLD.usd_per_month, OLD.warn_at)
                       IS DISTINCT FROM
                       (NEW.runs_per_day, NEW.tokens_per_month, NEW.usd_per_month, NEW.warn_at))
    EXECUTE FUNCTION heartbit_fit_tier();
