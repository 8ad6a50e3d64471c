-- +goose Up

-- Who corrected what about an invoice: by a case decision, or by sending a call of it back. A correction that
-- names another invoice counts for both. Nobody approves what follows from their own correction. source is the
-- case, or the request that was sent back.
CREATE TABLE corrections (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    invoice_id   TEXT NOT NULL,
    user_id      TEXT NOT NULL REFERENCES users (id),
    source       TEXT NOT NULL,
    at           TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (workspace_id, invoice_id, user_id, source)
);
INSERT INTO corrections (workspace_id, invoice_id, user_id, source, at)
SELECT d.workspace_id, d.invoice_id, d.decided_by_id, d.case_id, MAX(d.decided_at) FROM decisions d
WHERE d.instruction_kind = 'retry_with' AND d.decided_by_id IS NOT NULL
GROUP BY d.workspace_id, d.invoice_id, d.decided_by_id, d.case_id;
INSERT INTO corrections (workspace_id, invoice_id, user_id, source, at)
SELECT r.workspace_id, r.invoice_id, v.user_id, r.id, v.at FROM votes v JOIN approval_requests r ON r.id = v.request_id
WHERE r.status = 'rejected' AND r.instruction IS NOT NULL AND v.decision = 'reject';

-- +goose Down
SELECT 1;
