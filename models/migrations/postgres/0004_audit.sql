-- +goose Up

CREATE INDEX audit_events_action ON audit_events (workspace_id, action, at, id);
CREATE INDEX audit_events_actor ON audit_events (workspace_id, actor_id, at, id);

-- How far the desk has sealed each workspace's chain. It only ever grows, so that events that vanish
-- from the end are missed.
CREATE TABLE audit_heads (
    workspace_id TEXT PRIMARY KEY,
    seq          BIGINT NOT NULL,
    hash         TEXT NOT NULL,
    at           TIMESTAMPTZ NOT NULL
);
INSERT INTO audit_heads (workspace_id, seq, hash, at)
SELECT DISTINCT ON (workspace_id) workspace_id, seq, hash, at FROM audit_events WHERE seq IS NOT NULL ORDER BY workspace_id, seq DESC;

-- Signed notes of how far each chain had come; at is when it was signed.
CREATE TABLE audit_checkpoints (
    workspace_id TEXT NOT NULL,
    seq          BIGINT NOT NULL,
    hash         TEXT NOT NULL,
    note         TEXT NOT NULL,
    at           TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);
INSERT INTO jobs (kind, subject, workspace_id, due_at) VALUES ('audit.checkpoints', 'daily', '', '2026-01-01T00:00:00Z');

-- +goose StatementBegin
CREATE FUNCTION keep_audit_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'UPDATE' THEN
        RAISE EXCEPTION 'audit heads are never deleted';
    END IF;
    IF NEW.workspace_id <> OLD.workspace_id OR NEW.seq <= OLD.seq THEN
        RAISE EXCEPTION 'audit heads only grow';
    END IF;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION keep_audit_checkpoint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit checkpoints are never changed';
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_heads_only_grow BEFORE UPDATE OR DELETE ON audit_heads FOR EACH ROW EXECUTE FUNCTION keep_audit_head();
CREATE TRIGGER audit_heads_never_truncated BEFORE TRUNCATE ON audit_heads FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_head();
CREATE TRIGGER audit_checkpoints_never_changed BEFORE UPDATE OR DELETE ON audit_checkpoints FOR EACH ROW EXECUTE FUNCTION keep_audit_checkpoint();
CREATE TRIGGER audit_checkpoints_never_truncated BEFORE TRUNCATE ON audit_checkpoints FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_checkpoint();

-- +goose Down
SELECT 1;
