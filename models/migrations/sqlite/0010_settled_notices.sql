-- +goose Up

-- What is decided needs nobody any more: its notices are found by what they are about.
CREATE INDEX notices_unread_about ON notices (workspace_id, subject) WHERE read_at IS NULL;

-- +goose Down
SELECT 1;
