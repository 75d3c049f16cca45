-- Input from people to runs: steering, decisions about calls, and answers.

-- Return true if text that p_user gives to a run comes from another person than the one its tree was
-- started for. Return false for a tree that no person started: it has no personal access to lose.
CREATE OR REPLACE FUNCTION heartbit_is_other(p_run uuid, p_user bigint)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT t.started_user_id IS NOT NULL AND t.started_user_id IS DISTINCT FROM p_user
    FROM agents_run r JOIN agents_run t ON t.id = r.root_id WHERE r.id = p_run
$$;

-- Return the mark of another person's text for the journal.
CREATE OR REPLACE FUNCTION heartbit_others_mark(p_run uuid, p_user bigint)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN heartbit_is_other(p_run, p_user) THEN '{"other_person": true}'::jsonb ELSE '{}' END
$$;

-- Return true if a journal of a tree has text of another person than the one the tree was started for.
CREATE OR REPLACE FUNCTION heartbit_is_shared(p_root uuid)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT 1 FROM agents_run r JOIN agents_runevent e ON e.run_id = r.id
        WHERE r.root_id = p_root AND e.type IN ('run.steered', 'wait.resolved')
              AND coalesce(e.payload -> 'other_person', e.payload #> '{value,other_person}') = 'true')
$$;

-- Return the person whose memories, credentials and permissions a run uses. Null: no person started its
-- tree, or another person has written in it, earlier in its conversation, or in the run that it was
-- forked from.
CREATE OR REPLACE FUNCTION heartbit_acts_for(p_run uuid)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    t agents_run;
    v_run uuid := p_run;
    v_person bigint;
BEGIN
    LOOP
        SELECT o.* INTO t FROM agents_run r JOIN agents_run o ON o.id = r.root_id WHERE r.id = v_run;
        IF t.started_user_id IS NULL OR t.started_user_id <> v_person OR heartbit_is_shared(t.id)
           OR EXISTS (
               SELECT 1 FROM agents_run h
               WHERE h.conversation_id = t.conversation_id AND h.created_at < t.created_at
                     AND h.parent_id IS NULL AND h.started_at IS NOT NULL
                     AND (h.started_user_id IS DISTINCT FROM t.started_user_id
                          OR heartbit_is_shared(h.id))) THEN
            RETURN NULL;
        END IF;
        IF t.forked_seq = 0 THEN RETURN t.started_user_id; END IF;
        -- The beginning of a fork has its source's text; without the source, its authors are unknown.
        v_person := t.started_user_id;
        v_run := t.forked_from_id;
    END LOOP;
END $$;

-- Give text to an active run; its next model call includes it. p_source: person, whose text resets the
-- run's turn limit, or agent, whose text answers a message of the run. p_user: the author, or the
-- person that the agent acts for; null: none.
CREATE OR REPLACE FUNCTION heartbit_steer(
    p_run uuid, p_text text, p_by text, p_key text DEFAULT NULL, p_source text DEFAULT 'person',
    p_user bigint DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE r agents_run;
BEGIN
    SELECT * INTO r FROM agents_run WHERE id = p_run FOR NO KEY UPDATE;
    IF r.id IS NULL OR r.finished_at IS NOT NULL THEN
        RAISE EXCEPTION 'The run has %: start a new one.', coalesce(r.status, 'gone') USING ERRCODE = 'HB005';
    ELSIF r.cancel_requested THEN
        RAISE EXCEPTION 'The run is being cancelled: start a new one.' USING ERRCODE = 'HB005';
    ELSIF heartbit_is_reviewed(p_run) THEN
        RAISE EXCEPTION 'The result of the run is reviewed: request changes there, or start a new run.'
            USING ERRCODE = 'HB005';
    END IF;
    PERFORM heartbit_journal(r.id, r.workspace_id, r.last_seq, jsonb_build_array(jsonb_build_object(
        'type', 'run.steered', 'payload', jsonb_build_object(
            'text', p_text, 'by', p_by, 'key', p_key, 'source', p_source)
            || heartbit_others_mark(r.id, p_user))));
    UPDATE agents_run SET last_seq = last_seq + 1 WHERE id = p_run;
END $$;

-- Lock a run with an open question about one of its calls, its parent first, or raise HB005.
CREATE OR REPLACE FUNCTION heartbit_lock_asking(p_run uuid, p_key text)
RETURNS agents_run LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    d agents_decision;
    w agents_wait;
    v_parent uuid;
BEGIN
    SELECT t.parent_id INTO v_parent FROM agents_run t WHERE t.id = p_run;
    IF v_parent IS NOT NULL THEN
        PERFORM 1 FROM agents_run t WHERE t.id = v_parent FOR NO KEY UPDATE;
    END IF;
    SELECT * INTO r FROM agents_run WHERE id = p_run FOR NO KEY UPDATE;
    SELECT * INTO d FROM agents_decision WHERE run_id = p_run AND wait_key = p_key;
    IF d.via = 'expiry' THEN
        RAISE EXCEPTION 'Nobody decided in time: the call is refused.' USING ERRCODE = 'HB005';
    ELSIF d.id IS NOT NULL THEN
        RAISE EXCEPTION 'The call was already % by %.', d.verdict, d.decided_by USING ERRCODE = 'HB005';
    END IF;
    SELECT * INTO w FROM agents_wait WHERE run_id = p_run AND key = p_key;
    IF w.value ->> 'status' = 'answered' THEN
        RAISE EXCEPTION 'It was already answered by %.', w.value ->> 'by' USING ERRCODE = 'HB005';
    ELSIF r.finished_at IS NOT NULL THEN
        RAISE EXCEPTION 'The run has % meanwhile: nothing of it can be decided.', r.status
            USING ERRCODE = 'HB005';
    END IF;
    IF w.id IS NULL OR w.resolved_at IS NOT NULL THEN
        RAISE EXCEPTION 'The call does not wait for a decision (any more).' USING ERRCODE = 'HB005';
    ELSIF w.expires_at <= clock_timestamp() THEN
        -- No sweeper has expired the wait yet.
        RAISE EXCEPTION 'Nobody decided in time: the call is refused.' USING ERRCODE = 'HB005';
    END IF;
    RETURN r;
END $$;

-- Extend the timeout of the orchestrator by the time that a sub-agent's question was open, once no
-- other is open. The result never exceeds a full timeout from now, because a resumed pause may have
-- restarted the timeout before.
CREATE OR REPLACE FUNCTION heartbit_give_back_patience(r agents_run, p_key text)
RETURNS void LANGUAGE sql AS $$
    UPDATE agents_wait p
    SET expires_at = least(p.expires_at + (clock_timestamp() - w.created_at),
                           clock_timestamp() + make_interval(secs => p.timeout_seconds))
    FROM agents_wait w
    WHERE p.child_id = r.id AND p.resolved_at IS NULL
          AND w.run_id = r.id AND w.key = p_key
          AND NOT EXISTS (SELECT 1 FROM agents_wait o WHERE o.run_id = r.id AND o.id <> w.id
                          AND o.asks_person AND o.resolved_at IS NULL)
$$;

-- Return true if a person belongs to the group that may decide a call, or to the one that it was
-- escalated to. Without a group, every person does.
CREATE OR REPLACE FUNCTION heartbit_is_asked(p_shown jsonb, p_user bigint)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(p_shown ->> 'group', '') = ''
        OR p_shown ->> 'escalated_to' IS NOT DISTINCT FROM '' OR EXISTS (
        SELECT 1 FROM auth_user_groups m JOIN auth_group g ON g.id = m.group_id
        WHERE m.user_id = p_user AND g.name IN (p_shown ->> 'group', p_shown ->> 'escalated_to'))
$$;

-- Count a decision about a call; return true if it is final: a denial, or the last required approval.
-- The caller has locked the run.
CREATE OR REPLACE FUNCTION heartbit_vote(
    c agents_toolcall, p_key text, p_verdict text, p_user bigint, p_by text, p_via text, p_grant bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_needed int := coalesce((c.approval_view ->> 'needed')::int, 1);
    v_group text := concat_ws(' or ', c.approval_view ->> 'group', c.approval_view ->> 'escalated_to');
    v_voter text := coalesce('user:' || p_user, 'name:' || p_by);
BEGIN
    IF NOT heartbit_is_asked(c.approval_view, p_user) THEN
        RAISE EXCEPTION 'Only members of the group % may decide this call.', v_group USING ERRCODE = 'HB005';
    END IF;
    IF v_needed <= 1 OR p_verdict = 'denied' THEN RETURN true; END IF;
    IF p_verdict <> 'approved' OR p_grant IS NOT NULL THEN
        RAISE EXCEPTION 'The call needs % people who approve it as it is: it is neither edited nor always allowed.',
            v_needed USING ERRCODE = 'HB005';
    END IF;
    INSERT INTO agents_vote (run_id, wait_key, digest, voter, user_id, by, via, at)
    VALUES (c.run_id, p_key, c.digest, v_voter, p_user, p_by, p_via, clock_timestamp())
    ON CONFLICT (run_id, wait_key, voter) DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'You have approved the call already: it needs somebody else too.' USING ERRCODE = 'HB005';
    END IF;
    RETURN (SELECT count(*) >= v_needed FROM agents_vote v
            WHERE v.run_id = c.run_id AND v.wait_key = p_key AND v.digest = c.digest);
END $$;

-- Decide a call that waits for approval. The run's row lock orders decisions, cancels and expiries: the
-- first one wins, and later decisions raise HB005. An approval that is not the last required one is
-- stored and decides nothing yet. Return the run to wake, or null.
CREATE OR REPLACE FUNCTION heartbit_decide(
    p_run uuid, p_call text, p_digest text, p_verdict text, p_arguments text, p_runs_digest text,
    p_reason text, p_user bigint, p_by text, p_via text, p_grant bigint)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    v_key text;
    r agents_run;
    c agents_toolcall;
BEGIN
    -- Find the newest question about the call; if it is answered, the error names who answered it.
    SELECT key INTO v_key FROM agents_wait
    WHERE run_id = p_run AND call_id = p_call AND kind = 'approval' ORDER BY id DESC LIMIT 1;
    r := heartbit_lock_asking(p_run, coalesce(v_key, ''));
    SELECT * INTO c FROM agents_toolcall WHERE run_id = p_run AND call_id = p_call;
    IF c.digest <> p_digest THEN
        RAISE EXCEPTION 'The call is not the one that was shown: look at it again.' USING ERRCODE = 'HB005';
    END IF;
    IF NOT heartbit_vote(c, v_key, p_verdict, p_user, p_by, p_via, p_grant) THEN RETURN NULL; END IF;
    INSERT INTO agents_decision
        (run_id, call_id, wait_key, digest, executed_digest, verdict, arguments, reason, user_id,
         decided_by, via, grant_id, at)
    VALUES (p_run, p_call, v_key, p_digest, p_runs_digest, p_verdict, p_arguments, p_reason, p_user,
            p_by, p_via, p_grant, clock_timestamp());
    PERFORM heartbit_give_back_patience(r, v_key);
    RETURN heartbit_resolve_wait(p_run, v_key, jsonb_build_object(
        'subject', c.tool, 'status', p_verdict, 'digest', p_runs_digest, 'arguments', p_arguments,
        'reason', p_reason, 'by', p_by)
        || CASE WHEN p_verdict IN ('edited', 'answered') OR p_verdict = 'denied' AND p_reason <> ''
                THEN heartbit_others_mark(p_run, p_user) ELSE '{}' END);
END $$;

-- Return true if the author of a decision may still decide calls in a workspace; p_roles: the roles
-- that may. Decisions in the web interface, in the admin, by e-mail and in chat apps have a user account,
-- so for them a null p_user is a deleted account. Other decisions may have had no account.
CREATE OR REPLACE FUNCTION heartbit_may_decide(
    p_user bigint, p_via text, p_workspace bigint, p_roles text[])
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_user IS NULL THEN coalesce(p_via, '') NOT IN ('web', 'admin', 'email', 'chat')
           ELSE EXISTS (
               SELECT 1 FROM auth_user u WHERE u.id = p_user AND u.is_active AND (u.is_superuser OR EXISTS (
                   SELECT 1 FROM base_membership m WHERE m.user_id = u.id
                   AND m.workspace_id = p_workspace AND m.role = ANY (p_roles)))) END
$$;

-- Return true if the person who gave a grant still has the right to give it.
CREATE OR REPLACE FUNCTION heartbit_grant_holds(g agents_grant, p_roles text[])
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT heartbit_may_decide(g.user_id, (
        SELECT d.via FROM agents_decision d WHERE d.grant_id = g.id AND d.via <> 'grant' LIMIT 1),
        g.workspace_id, p_roles)
$$;

-- Return the name of a person who let a call run by resolving this wait but may no longer decide it;
-- null: none.
CREATE OR REPLACE FUNCTION heartbit_lost_right(p_run uuid, p_key text, p_roles text[])
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT s.by FROM (
        SELECT d.call_id, d.user_id, d.decided_by AS by, d.via FROM agents_decision d
        WHERE d.run_id = p_run AND d.wait_key = p_key
        UNION ALL
        SELECT w.call_id, v.user_id, v.by, v.via FROM agents_vote v
        JOIN agents_wait w ON w.run_id = v.run_id AND w.key = v.wait_key
        WHERE v.run_id = p_run AND v.wait_key = p_key) s
    JOIN agents_run r ON r.id = p_run
    JOIN agents_toolcall c ON c.run_id = r.id AND c.call_id = s.call_id
    JOIN agents_wait k ON k.run_id = r.id AND k.key = p_key
    WHERE NOT (heartbit_may_decide(s.user_id, s.via, r.workspace_id, p_roles)
               AND (k.kind <> 'approval' OR heartbit_is_asked(c.approval_view, s.user_id)))
    LIMIT 1
$$;

-- Resolve an expired wait for a person; a call that waits for approval is refused. Return whether it
-- was done, and the run to wake, or null. A run that another transaction has locked is left to the next
-- sweep: waiting for it could deadlock.
CREATE OR REPLACE FUNCTION heartbit_expire_asked(p_run uuid, p_key text, OUT done boolean, OUT ring uuid)
LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    w agents_wait;
    c agents_toolcall;
    v_parent uuid;
BEGIN
    done := false;
    SELECT t.parent_id INTO v_parent FROM agents_run t WHERE t.id = p_run;
    IF v_parent IS NOT NULL THEN
        PERFORM 1 FROM agents_run t WHERE t.id = v_parent FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN RETURN; END IF;
    END IF;
    SELECT * INTO r FROM agents_run WHERE id = p_run FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND OR r.finished_at IS NOT NULL THEN RETURN; END IF;
    SELECT t.* INTO w FROM agents_wait t
    WHERE t.run_id = p_run AND t.key = p_key AND t.resolved_at IS NULL
          AND t.expires_at <= clock_timestamp();
    IF NOT FOUND THEN RETURN; END IF; -- a person has decided meanwhile
    SELECT t.* INTO c FROM agents_toolcall t WHERE t.run_id = p_run AND t.call_id = w.call_id;
    IF w.kind = 'approval' THEN
        INSERT INTO agents_decision
            (run_id, call_id, wait_key, digest, executed_digest, verdict, arguments, reason, decided_by,
             via, at)
        VALUES (p_run, c.call_id, p_key, c.digest, '', 'denied', NULL, 'Nobody decided in time.',
                'expiry', 'expiry', clock_timestamp());
    END IF;
    PERFORM heartbit_give_back_patience(r, p_key);
    done := true;
    ring := heartbit_resolve_wait(p_run, p_key, jsonb_build_object(
        'subject', coalesce(c.tool, p_key), 'status', 'expired', 'digest', '', 'arguments', NULL,
        'reason', 'Nobody decided in time.', 'by', 'expiry'));
END $$;

-- Resolve an uncertain call after a crash of its worker: retry it, confirm that it took effect
-- (p_result is passed to the model), or skip it. Return the run to wake, or null.
CREATE OR REPLACE FUNCTION heartbit_settle(
    p_run uuid, p_call text, p_outcome text, p_result text, p_user bigint, p_by text, p_via text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    v_key text;
    r agents_run;
    v_tool text;
BEGIN
    -- Find the newest question about the call; if it is answered, the error names who answered it.
    SELECT key INTO v_key FROM agents_wait
    WHERE run_id = p_run AND call_id = p_call AND kind = 'outcome' ORDER BY id DESC LIMIT 1;
    r := heartbit_lock_asking(p_run, coalesce(v_key, ''));
    SELECT tool INTO v_tool FROM agents_toolcall WHERE run_id = p_run AND call_id = p_call;
    INSERT INTO agents_decision
        (run_id, call_id, wait_key, digest, executed_digest, verdict, arguments, reason, user_id,
         decided_by, via, at)
    VALUES (p_run, p_call, v_key, '', '', p_outcome, NULL, coalesce(p_result, ''), p_user, p_by, p_via,
            clock_timestamp());
    PERFORM heartbit_give_back_patience(r, v_key);
    RETURN heartbit_resolve_wait(p_run, v_key, jsonb_build_object(
        'subject', v_tool, 'status', p_outcome, 'result', p_result, 'by', p_by)
        || CASE WHEN p_result IS NULL THEN '{}' ELSE heartbit_others_mark(p_run, p_user) END);
END $$;

-- Answer a wait that a person resolves, of any kind but an approval or an outcome, which have their own
-- functions. Return the run to wake, or null.
CREATE OR REPLACE FUNCTION heartbit_answer(
    p_run uuid, p_key text, p_answer jsonb, p_by text, p_user bigint DEFAULT NULL)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    r agents_run;
    v_tool text;
    v_decision text := p_answer ->> 'decision';
BEGIN
    r := heartbit_lock_asking(p_run, p_key);
    SELECT c.tool INTO v_tool FROM agents_wait w
    JOIN agents_toolcall c ON c.run_id = w.run_id AND c.call_id = w.call_id
    WHERE w.run_id = p_run AND w.key = p_key;
    PERFORM heartbit_give_back_patience(r, p_key);
    RETURN heartbit_resolve_wait(p_run, p_key, jsonb_build_object(
        'subject', coalesce(v_tool, p_key), 'status', 'answered', 'answer', p_answer, 'by', p_by)
        -- A review that approves or rejects tells the run nothing.
        || CASE WHEN v_decision IN ('approve', 'reject') AND EXISTS (
                    SELECT FROM agents_wait w WHERE w.run_id = p_run AND w.key = p_key AND w.kind = 'review')
                THEN '{}' ELSE heartbit_others_mark(p_run, p_user) END);
END $$;
