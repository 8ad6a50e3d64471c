-- +goose Up

-- A call of another server that asks "do you mean it", forwarded to the desk for a person.
CREATE TABLE confirmations (
    id                 TEXT PRIMARY KEY,
    workspace_id       TEXT NOT NULL REFERENCES workspaces (id),
    status             TEXT NOT NULL CHECK (status IN ('pending', 'answered', 'taken', 'expired', 'withdrawn')),
    version            BIGINT NOT NULL DEFAULT 1,
    mode               TEXT NOT NULL CHECK (mode IN ('form', 'url')),
    server_name        TEXT NOT NULL,
    server_url         TEXT NOT NULL,
    registered         BOOLEAN NOT NULL DEFAULT FALSE,
    tool               TEXT NOT NULL,
    arguments          TEXT NOT NULL,
    digest             TEXT NOT NULL,
    input_requests     TEXT NOT NULL,
    request_state_hash TEXT NOT NULL DEFAULT '',
    run_id             TEXT NOT NULL DEFAULT '',
    invoice_id         TEXT NOT NULL DEFAULT '',
    invoice            TEXT NOT NULL DEFAULT '',
    role               TEXT NOT NULL DEFAULT '',
    rule_id            TEXT NOT NULL DEFAULT '',
    person_id          TEXT,
    asker_id           TEXT NOT NULL,
    asker_name         TEXT NOT NULL,
    token_id           TEXT NOT NULL DEFAULT '',
    channel            TEXT NOT NULL CHECK (channel IN ('web', 'api', 'mcp', 'system')),
    answers            TEXT NOT NULL DEFAULT '',
    action             TEXT NOT NULL DEFAULT '' CHECK (action IN ('', 'accept', 'decline', 'cancel')),
    reason             TEXT NOT NULL DEFAULT '',
    answered_by_id     TEXT,
    answered_by_name   TEXT NOT NULL DEFAULT '',
    answered_role      TEXT NOT NULL DEFAULT '',
    answered_at        TIMESTAMPTZ,
    take_key           TEXT NOT NULL DEFAULT '',
    taken_by_id        TEXT,
    taken_at           TIMESTAMPTZ,
    expires_at         TIMESTAMPTZ NOT NULL,
    created_at         TIMESTAMPTZ NOT NULL,
    updated_at         TIMESTAMPTZ NOT NULL
);
CREATE INDEX confirmations_status ON confirmations (workspace_id, status, created_at, id);
CREATE INDEX confirmations_invoice ON confirmations (workspace_id, invoice_id) WHERE invoice_id <> '';

-- Who counts as the asker of a confirmation: nobody of these may answer it.
CREATE TABLE confirmation_askers (
    confirmation_id TEXT NOT NULL REFERENCES confirmations (id),
    user_id         TEXT NOT NULL,
    relation        TEXT NOT NULL CHECK (relation IN ('asked', 'responsible', 'token_creator')),
    PRIMARY KEY (confirmation_id, user_id, relation)
);

-- Which servers are known by name, and whose role confirms which of their tools.
CREATE TABLE server_rules (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    server_url   TEXT NOT NULL,
    server_name  TEXT NOT NULL,
    tool         TEXT NOT NULL DEFAULT '',
    role         TEXT NOT NULL CHECK (role IN ('ap_clerk', 'ap_lead', 'procurement', 'finance_lead', 'master_data')),
    author_id    TEXT,
    author_name  TEXT NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    retired_at   TIMESTAMPTZ,
    retired_by   TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX server_rules_in_force ON server_rules (workspace_id, server_url, tool) WHERE retired_at IS NULL;

-- A question asked through requestState; any answer spends its row, for good.
CREATE TABLE state_nonces (
    nonce        TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    token_id     TEXT NOT NULL DEFAULT '',
    tool         TEXT NOT NULL,
    digest       TEXT NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    spent_at     TIMESTAMPTZ,
    outcome      TEXT NOT NULL DEFAULT '' CHECK (outcome IN ('', 'ran', 'refused', 'declined', 'cancelled'))
);
CREATE INDEX state_nonces_age ON state_nonces (expires_at);

-- Actions a workspace forbids on a channel.
CREATE TABLE security_blocks (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    action       TEXT NOT NULL,
    channel      TEXT NOT NULL CHECK (channel IN ('api', 'mcp')),
    author_id    TEXT,
    author_name  TEXT NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (workspace_id, action, channel)
);

-- +goose Down
SELECT 1;
