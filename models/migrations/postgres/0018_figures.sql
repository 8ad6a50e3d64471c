-- +goose Up

-- Figures of a period are counted by when people decided.
CREATE INDEX decisions_by_time ON decisions (workspace_id, decided_at);
CREATE INDEX votes_by_time ON votes (workspace_id, at);

-- +goose Down
SELECT 1;
