-- +goose Up

-- Why somebody snoozed a case, in their words.
ALTER TABLE cases ADD COLUMN snooze_reason TEXT NOT NULL DEFAULT '';
-- What a queue shows leaves out what is snoozed, however much that is; and what is snoozed stands together.
CREATE INDEX cases_awake ON cases (workspace_id, queue, status, due_at, id) WHERE snoozed_until IS NULL;
CREATE INDEX cases_snoozed ON cases (workspace_id, queue, status, due_at, id) WHERE snoozed_until IS NOT NULL;

-- Cases that are open when escalation arrives are escalated like new ones, but for those overdue already.
INSERT INTO jobs (kind, subject, workspace_id, due_at)
SELECT 'case.overdue', id, workspace_id, due_at FROM cases WHERE status = 'open' AND due_at > CURRENT_TIMESTAMP;

-- +goose Down
SELECT 1;
