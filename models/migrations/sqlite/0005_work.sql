-- +goose Up

-- How a person likes to work. A row appears with the first choice.
CREATE TABLE preferences (
    user_id        TEXT PRIMARY KEY REFERENCES users (id),
    after_decision TEXT NOT NULL DEFAULT 'stay' CHECK (after_decision IN ('stay', 'list', 'next')),
    shortcuts      BOOLEAN NOT NULL DEFAULT TRUE,
    theme          TEXT NOT NULL DEFAULT '' CHECK (theme IN ('', 'light', 'dark')),
    language       TEXT NOT NULL DEFAULT '' CHECK (language IN ('', 'en', 'de')),
    updated_at     TIMESTAMP NOT NULL
);

-- A filtered list a person keeps. query is the address's query as it stands in a URL.
CREATE TABLE saved_views (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    user_id      TEXT NOT NULL REFERENCES users (id),
    name         TEXT NOT NULL,
    path         TEXT NOT NULL,
    query        TEXT NOT NULL DEFAULT '',
    created_at   TIMESTAMP NOT NULL,
    UNIQUE (workspace_id, user_id, name)
);

-- What a person has typed and not sent.
CREATE TABLE drafts (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    user_id      TEXT NOT NULL REFERENCES users (id),
    subject      TEXT NOT NULL,
    form         TEXT NOT NULL,
    version      BIGINT NOT NULL DEFAULT 0,
    fields       TEXT NOT NULL,
    saved_at     TIMESTAMP NOT NULL,
    PRIMARY KEY (workspace_id, user_id, subject, form)
);
CREATE INDEX drafts_saved ON drafts (saved_at);

-- Who looks at a record or writes on it just now. A row counts until expires_at.
CREATE TABLE presences (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    subject      TEXT NOT NULL,
    user_id      TEXT NOT NULL REFERENCES users (id),
    user_name    TEXT NOT NULL,
    doing        TEXT NOT NULL CHECK (doing IN ('viewing', 'editing')),
    since        TIMESTAMP NOT NULL,
    expires_at   TIMESTAMP NOT NULL,
    PRIMARY KEY (workspace_id, subject, user_id)
);
CREATE INDEX presences_over ON presences (expires_at);

-- Files that belong to a case. Contents stand in pieces, so that no reader needs all of one in memory.
CREATE TABLE attachments (
    id               TEXT PRIMARY KEY,
    workspace_id     TEXT NOT NULL REFERENCES workspaces (id),
    case_id          TEXT,
    name             TEXT NOT NULL,
    media_type       TEXT NOT NULL CHECK (media_type IN ('application/pdf', 'image/png', 'image/jpeg', 'image/gif', 'image/webp')),
    size             BIGINT NOT NULL,
    sha256           TEXT NOT NULL,
    uploaded_by_id   TEXT NOT NULL REFERENCES users (id),
    uploaded_by_name TEXT NOT NULL,
    channel          TEXT NOT NULL CHECK (channel IN ('web', 'api', 'mcp', 'system')),
    created_at       TIMESTAMP NOT NULL
);
CREATE INDEX attachments_by_case ON attachments (workspace_id, case_id) WHERE case_id IS NOT NULL;
CREATE INDEX attachments_loose ON attachments (created_at) WHERE case_id IS NULL;
CREATE TABLE attachment_pieces (
    attachment_id TEXT NOT NULL REFERENCES attachments (id),
    n             INTEGER NOT NULL,
    content       BLOB NOT NULL,
    PRIMARY KEY (attachment_id, n)
);

-- How long a queue has, in business hours, and when something counts as due soon. Without a row: the desk's own figures.
CREATE TABLE sla_settings (
    workspace_id   TEXT NOT NULL REFERENCES workspaces (id),
    queue          TEXT NOT NULL CHECK (queue IN ('ap', 'ap_lead', 'procurement', 'finance', 'master_data')),
    hours          INTEGER NOT NULL CHECK (hours BETWEEN 1 AND 400),
    due_soon_hours INTEGER NOT NULL CHECK (due_soon_hours BETWEEN 0 AND 400),
    escalate       BOOLEAN NOT NULL DEFAULT TRUE,
    PRIMARY KEY (workspace_id, queue)
);
ALTER TABLE workspaces ADD COLUMN opens_at TEXT NOT NULL DEFAULT '09:00';
ALTER TABLE workspaces ADD COLUMN closes_at TEXT NOT NULL DEFAULT '17:00';
ALTER TABLE workspaces ADD COLUMN erp_link TEXT NOT NULL DEFAULT '';

-- Out of the list until then; the time a case is due stays.
ALTER TABLE cases ADD COLUMN snoozed_until TIMESTAMP;
ALTER TABLE cases ADD COLUMN snoozed_by TEXT NOT NULL DEFAULT '';
ALTER TABLE cases ADD COLUMN escalated_at TIMESTAMP;
-- The amount as text that sorts like the number; empty on cases from before.
ALTER TABLE cases ADD COLUMN amount_key TEXT NOT NULL DEFAULT '';
CREATE INDEX cases_by_supplier ON cases (workspace_id, supplier_id, created_at, id) WHERE supplier_id <> '';
CREATE INDEX cases_by_run ON cases (workspace_id, run_id, created_at, id) WHERE run_id <> '';
CREATE INDEX cases_by_amount ON cases (workspace_id, queue, status, currency, amount_key, id);

-- +goose Down
SELECT 1;
