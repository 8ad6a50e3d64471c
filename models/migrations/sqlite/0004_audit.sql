-- +goose Up

CREATE INDEX audit_events_action ON audit_events (workspace_id, action, at, id);
CREATE INDEX audit_events_actor ON audit_events (workspace_id, actor_id, at, id);

-- How far the desk has sealed each workspace's chain. It only ever grows, so that events that vanish
-- from the end are missed.
CREATE TABLE audit_heads (
    workspace_id TEXT PRIMARY KEY,
    seq          BIGINT NOT NULL,
    hash         TEXT NOT NULL,
    at           TIMESTAMP NOT NULL
);
INSERT INTO audit_heads (workspace_id, seq, hash, at)
SELECT e.workspace_id, e.seq, e.hash, e.at FROM audit_events e
WHERE e.seq = (SELECT MAX(m.seq) FROM audit_events m WHERE m.workspace_id = e.workspace_id AND m.seq IS NOT NULL);

-- Signed notes of how far each chain had come; at is when it was signed.
CREATE TABLE audit_checkpoints (
    workspace_id TEXT NOT NULL,
    seq          BIGINT NOT NULL,
    hash         TEXT NOT NULL,
    note         TEXT NOT NULL,
    at           TIMESTAMP NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);
INSERT INTO jobs (kind, subject, workspace_id, due_at) VALUES ('audit.checkpoints', 'daily', '', '2026-01-01T00:00:00.000000Z');

-- +goose StatementBegin
CREATE TRIGGER audit_heads_never_deleted BEFORE DELETE ON audit_heads BEGIN
    SELECT RAISE(ABORT, 'audit heads are never deleted');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_heads_only_grow BEFORE UPDATE ON audit_heads
WHEN NEW.workspace_id <> OLD.workspace_id OR NEW.seq <= OLD.seq
BEGIN
    SELECT RAISE(ABORT, 'audit heads only grow');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_checkpoints_never_deleted BEFORE DELETE ON audit_checkpoints BEGIN
    SELECT RAISE(ABORT, 'audit checkpoints are never deleted');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_checkpoints_never_changed BEFORE UPDATE ON audit_checkpoints BEGIN
    SELECT RAISE(ABORT, 'audit checkpoints are never changed');
END;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
