-- Audit chains: the database numbers and hashes entries, and rejects changes and deletions.

-- Return the hash of an entry. It covers every column and the previous hash as JSON, an injective
-- encoding, so two different rows never hash the same text.
CREATE OR REPLACE FUNCTION audit_hash(e base_auditentry)
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(jsonb_build_array(
        'heartbit/audit/1', e.chain, e.number, extract(epoch FROM e.at)::text, e.workspace_id, e.actor,
        e.user_id, e.via, e.action, e.target, e.label, e.details, e.previous)::text, 'UTF8')), 'hex')
$$;

-- Number and hash a new entry. Transactions append to a chain one at a time, so that the next one sees
-- the hash. Lock 7701 is that of migrations, class 7702 that of workers.
CREATE OR REPLACE FUNCTION audit_chain()
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE last base_auditentry;
BEGIN
    NEW.chain := coalesce(NEW.workspace_id, 0);
    PERFORM pg_advisory_xact_lock(7703, NEW.chain::int);
    SELECT * INTO last FROM base_auditentry WHERE chain = NEW.chain ORDER BY number DESC LIMIT 1;
    NEW.number := coalesce(last.number, 0) + 1;
    NEW.previous := coalesce(last.hash, '');
    NEW.hash := audit_hash(NEW);
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION audit_keep()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The audit is append-only: entries are neither changed nor deleted.';
END $$;

CREATE OR REPLACE TRIGGER audit_chain BEFORE INSERT ON base_auditentry
    FOR EACH ROW EXECUTE FUNCTION audit_chain();
CREATE OR REPLACE TRIGGER audit_keep BEFORE UPDATE OR DELETE ON base_auditentry
    FOR EACH ROW EXECUTE FUNCTION audit_keep();

-- Return the first entry of each chain that does not match its hash: changed, moved, or after a gap.
CREATE OR REPLACE FUNCTION audit_broken()
RETURNS TABLE (chain bigint, number bigint, problem text) LANGUAGE sql STABLE AS $$
    SELECT DISTINCT ON (c.chain) c.chain, c.number,
           CASE WHEN c.number <> c.due THEN 'an entry before it is missing'
                WHEN c.previous <> c.before THEN 'the entry before it was changed'
                ELSE 'it was changed' END
    FROM (SELECT t.chain, t.number, t.previous, t.hash, audit_hash(t) AS computed,
                 row_number() OVER w AS due, coalesce(lag(t.hash) OVER w, '') AS before
          FROM base_auditentry t WINDOW w AS (PARTITION BY t.chain ORDER BY t.number)) c
    WHERE c.number <> c.due OR c.previous <> c.before OR c.hash <> c.computed
    ORDER BY c.chain, c.number
$$;
