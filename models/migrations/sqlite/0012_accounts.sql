-- +goose Up

-- Where a person signed in from.
ALTER TABLE sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';

-- Failed sign-ins, counted apart for an account, an address, both together, and a browser the account is known in.
CREATE TABLE sign_in_limits (
    subject       TEXT PRIMARY KEY,
    kind          TEXT NOT NULL CHECK (kind IN ('account', 'address', 'pair', 'device', 'password')),
    email         TEXT NOT NULL DEFAULT '',
    address       TEXT NOT NULL DEFAULT '',
    failures      INTEGER NOT NULL,
    last_at       TIMESTAMP NOT NULL,
    blocked_until TIMESTAMP NOT NULL
);
CREATE INDEX sign_in_limits_by_email ON sign_in_limits (email);
CREATE INDEX sign_in_limits_by_last ON sign_in_limits (last_at);

-- Links that work once: an invitation to a workspace, or a new password for somebody known. Only the hash of the link's
-- secret is kept.
CREATE TABLE one_time_links (
    id            TEXT PRIMARY KEY,
    kind          TEXT NOT NULL CHECK (kind IN ('invitation', 'reset')),
    hash          TEXT NOT NULL UNIQUE,
    workspace_id  TEXT REFERENCES workspaces (id),
    user_id       TEXT REFERENCES users (id),
    email         TEXT NOT NULL,
    name          TEXT NOT NULL DEFAULT '',
    time_zone     TEXT NOT NULL DEFAULT '',
    roles         TEXT NOT NULL DEFAULT '',
    created_by_id TEXT REFERENCES users (id),
    created_at    TIMESTAMP NOT NULL,
    expires_at    TIMESTAMP NOT NULL,
    used_at       TIMESTAMP,
    withdrawn_at  TIMESTAMP,
    CHECK (kind = 'reset' OR workspace_id IS NOT NULL),
    CHECK (kind = 'invitation' OR user_id IS NOT NULL)
);
CREATE INDEX one_time_links_by_workspace ON one_time_links (workspace_id, expires_at);
CREATE INDEX one_time_links_by_email ON one_time_links (email);

-- The token that took the place of this one when it was rotated.
ALTER TABLE tokens ADD COLUMN replaced_by_id TEXT REFERENCES tokens (id);

-- +goose Down
SELECT 1;
