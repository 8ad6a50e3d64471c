-- +goose Up

-- Two people one after the other: who comes second. Both empty: one person, or two together.
ALTER TABLE rules ADD COLUMN then_role TEXT NOT NULL DEFAULT '';
ALTER TABLE rules ADD COLUMN then_people TEXT NOT NULL DEFAULT '[]';
CREATE INDEX rules_history ON rules (workspace_id, created_at, id);

-- The history of a rule says how many requests each version routed.
CREATE INDEX approval_requests_rule ON approval_requests (workspace_id, rule_id, rule_version) WHERE rule_id <> '';

-- At which step somebody voted, and in whose place.
ALTER TABLE votes ADD COLUMN step INTEGER NOT NULL DEFAULT 1;
ALTER TABLE votes ADD COLUMN on_behalf_of_id TEXT;
ALTER TABLE votes ADD COLUMN on_behalf_of_name TEXT NOT NULL DEFAULT '';
ALTER TABLE votes ADD COLUMN delegation_id TEXT NOT NULL DEFAULT '';

-- The case on which somebody asked the agent about a request.
ALTER TABLE approval_requests ADD COLUMN question_case_id TEXT;

-- What waits, by what lapses first.
CREATE INDEX approval_requests_lapse ON approval_requests (workspace_id, status, expires_at, id);

-- Somebody is away for some days, and who decides in their place; to_id NULL: nobody.
CREATE TABLE delegations (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT NOT NULL REFERENCES workspaces (id),
    from_id         TEXT NOT NULL REFERENCES users (id),
    from_name       TEXT NOT NULL,
    to_id           TEXT REFERENCES users (id),
    to_name         TEXT NOT NULL DEFAULT '',
    document_type   TEXT NOT NULL DEFAULT '',
    first_day       DATE NOT NULL,
    last_day        DATE NOT NULL,
    time_zone       TEXT NOT NULL,
    starts_at       TIMESTAMP NOT NULL,
    ends_at         TIMESTAMP NOT NULL,
    note            TEXT NOT NULL DEFAULT '',
    created_by_id   TEXT,
    created_by_name TEXT NOT NULL,
    created_at      TIMESTAMP NOT NULL,
    ended_at        TIMESTAMP,
    ended_by        TEXT NOT NULL DEFAULT '',
    CHECK (to_id <> from_id),
    CHECK (ends_at > starts_at)
);
CREATE INDEX delegations_by_time ON delegations (workspace_id, ends_at);
CREATE INDEX delegations_from ON delegations (workspace_id, from_id);
CREATE INDEX delegations_to ON delegations (workspace_id, to_id);

-- Every invoice the desk has heard of, for candidates of duplicates. supplier is the supplier's id,
-- else its name; amount_norm is the amount without trailing zeros.
CREATE TABLE seen_invoices (
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    invoice_id    TEXT NOT NULL,
    number        TEXT NOT NULL DEFAULT '',
    number_norm   TEXT NOT NULL DEFAULT '',
    supplier      TEXT NOT NULL DEFAULT '',
    supplier_name TEXT NOT NULL DEFAULT '',
    po_id         TEXT NOT NULL DEFAULT '',
    amount        TEXT NOT NULL,
    amount_norm   TEXT NOT NULL,
    currency      TEXT NOT NULL,
    invoice_date  DATE,
    first_seen_at TIMESTAMP NOT NULL,
    last_seen_at  TIMESTAMP NOT NULL,
    PRIMARY KEY (workspace_id, invoice_id)
);
CREATE INDEX seen_invoices_number ON seen_invoices (workspace_id, supplier, number_norm) WHERE number_norm <> '';
CREATE INDEX seen_invoices_amount ON seen_invoices (workspace_id, supplier, currency, amount_norm, invoice_date);

-- What a person is told in the desk.
CREATE TABLE notices (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    user_id      TEXT NOT NULL REFERENCES users (id),
    kind         TEXT NOT NULL,
    subject      TEXT NOT NULL,
    data         TEXT NOT NULL DEFAULT '{}',
    at           TIMESTAMP NOT NULL,
    read_at      TIMESTAMP
);
CREATE INDEX notices_by_person ON notices (workspace_id, user_id, at, id);
CREATE INDEX notices_unread ON notices (workspace_id, user_id) WHERE read_at IS NULL;

-- +goose Down
SELECT 1;
