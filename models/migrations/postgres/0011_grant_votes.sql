-- +goose Up

-- The votes that a grant rests on, as they counted when it was given: ids with a space between them. Whose
-- earlier vote did not count then and would now is no approver of it. Empty for grants made before.
ALTER TABLE approvals ADD COLUMN vote_ids TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 1;
