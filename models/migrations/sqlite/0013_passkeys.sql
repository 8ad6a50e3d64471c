-- +goose Up

-- How a session was opened, and when and how its person last showed again that it is them.
ALTER TABLE sessions ADD COLUMN signed_in_by TEXT NOT NULL DEFAULT 'password' CHECK (signed_in_by IN ('password', 'passkey', 'recovery_code', 'provider'));
ALTER TABLE sessions ADD COLUMN stepped_up_at TIMESTAMP;
ALTER TABLE sessions ADD COLUMN stepped_up_how TEXT NOT NULL DEFAULT '' CHECK (stepped_up_how IN ('', 'password', 'passkey'));

-- Above which absolute amount an approval needs a fresh confirmation, by currency.
CREATE TABLE step_up_amounts (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    currency     TEXT NOT NULL,
    above        TEXT NOT NULL,
    PRIMARY KEY (workspace_id, currency)
);
ALTER TABLE votes ADD COLUMN confirmed_how TEXT NOT NULL DEFAULT '' CHECK (confirmed_how IN ('', 'password', 'passkey'));
ALTER TABLE votes ADD COLUMN confirmed_at TIMESTAMP;

-- Whether people whose roles decide need a passkey before they can do anything.
ALTER TABLE workspaces ADD COLUMN second_factor BOOLEAN NOT NULL DEFAULT FALSE;

CREATE TABLE passkeys (
    id            TEXT PRIMARY KEY,
    user_id       TEXT NOT NULL REFERENCES users (id),
    credential_id TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    credential    TEXT NOT NULL,
    created_at    TIMESTAMP NOT NULL,
    last_used_at  TIMESTAMP
);
CREATE INDEX passkeys_by_user ON passkeys (user_id);

CREATE TABLE recovery_codes (
    hash       TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id),
    created_at TIMESTAMP NOT NULL,
    used_at    TIMESTAMP
);
CREATE INDEX recovery_codes_by_user ON recovery_codes (user_id);

-- Somebody whose password was right and whose passkey is still asked for. The id is a hash of the cookie's secret.
CREATE TABLE half_sign_ins (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id),
    address    TEXT NOT NULL,
    user_agent TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL
);

-- Challenges that browsers sign, each for one answer. The id is a hash of the challenge; bound_to is the session or half sign-in.
CREATE TABLE passkey_challenges (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id),
    purpose    TEXT NOT NULL CHECK (purpose IN ('register', 'confirm', 'sign_in')),
    bound_to   TEXT NOT NULL,
    data       TEXT NOT NULL,
    expires_at TIMESTAMP NOT NULL
);

-- Who somebody is at the identity provider.
CREATE TABLE provider_links (
    issuer       TEXT NOT NULL,
    subject      TEXT NOT NULL,
    user_id      TEXT NOT NULL REFERENCES users (id),
    created_at   TIMESTAMP NOT NULL,
    last_used_at TIMESTAMP NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (issuer, user_id)
);

-- Sign-ins on their way through the identity provider. The id is a hash of the state; browser one of a cookie's secret.
CREATE TABLE provider_sign_ins (
    id         TEXT PRIMARY KEY,
    browser    TEXT NOT NULL,
    nonce      TEXT NOT NULL,
    verifier   TEXT NOT NULL,
    next       TEXT NOT NULL DEFAULT '',
    expires_at TIMESTAMP NOT NULL
);

-- Whether a person signs in through the identity provider only.
ALTER TABLE users ADD COLUMN password_off BOOLEAN NOT NULL DEFAULT FALSE;

-- Whether the identity provider's groups ended a membership, so that they can begin it again.
ALTER TABLE memberships ADD COLUMN off_by_provider BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
SELECT 1;
