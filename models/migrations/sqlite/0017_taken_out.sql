-- +goose Up

-- Who took a rule out of the matrix does not decide what another rule routes because of that. Those who
-- did before now are found in the version that followed, or on the trail.
ALTER TABLE rules ADD COLUMN retired_by_id TEXT;
UPDATE rules SET retired_by_id = CASE
    WHEN EXISTS (SELECT 1 FROM rules later WHERE later.id = rules.id AND later.version > rules.version)
    THEN (SELECT later.author_id FROM rules later WHERE later.id = rules.id AND later.version = rules.version + 1)
    ELSE (SELECT NULLIF(e.actor_id, '') FROM audit_events e WHERE e.workspace_id = rules.workspace_id AND e.subject = rules.id AND e.subject <> ''
          AND e.action = 'rule.retired' ORDER BY e.at DESC LIMIT 1)
    END
WHERE retired_at IS NOT NULL;
CREATE INDEX rules_taken_out ON rules (workspace_id, retired_at) WHERE retired_at IS NOT NULL;

-- +goose Down
SELECT 1;
