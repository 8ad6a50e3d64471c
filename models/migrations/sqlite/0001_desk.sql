-- +goose Up

CREATE TABLE workspaces (
    id                    TEXT PRIMARY KEY,
    name                  TEXT NOT NULL,
    time_zone             TEXT NOT NULL,
    currency              TEXT NOT NULL,
    period_closed_through DATE,
    period_reopened_until DATE,
    created_at            TIMESTAMP NOT NULL
);

-- One row per workspace, locked by routing, rule edits and period changes.
CREATE TABLE rule_sets (
    workspace_id TEXT PRIMARY KEY REFERENCES workspaces (id),
    version      BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE holidays (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    day          DATE NOT NULL,
    PRIMARY KEY (workspace_id, day)
);

-- Where in a write tool's arguments the invoice, amount, currency, posting date and supplier stand.
CREATE TABLE bindings (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    tool         TEXT NOT NULL,
    pointers     TEXT NOT NULL,
    PRIMARY KEY (workspace_id, tool)
);

-- A workspace's own queue for a code, where it differs from the catalogue.
CREATE TABLE queue_routes (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    code         TEXT NOT NULL,
    queue        TEXT NOT NULL CHECK (queue IN ('ap', 'ap_lead', 'procurement', 'finance', 'master_data')),
    PRIMARY KEY (workspace_id, code)
);

CREATE TABLE users (
    id            TEXT PRIMARY KEY,
    kind          TEXT NOT NULL CHECK (kind IN ('person', 'service')),
    email         TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    time_zone     TEXT NOT NULL DEFAULT '',
    password_hash TEXT NOT NULL DEFAULT '',
    owner_id      TEXT REFERENCES users (id),
    active        BOOLEAN NOT NULL DEFAULT TRUE,
    created_at    TIMESTAMP NOT NULL,
    CHECK (kind = 'person' OR password_hash = ''),
    CHECK (kind = 'person' OR owner_id IS NOT NULL)
);

CREATE TABLE memberships (
    user_id      TEXT NOT NULL REFERENCES users (id),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    active       BOOLEAN NOT NULL DEFAULT TRUE,
    created_at   TIMESTAMP NOT NULL,
    PRIMARY KEY (user_id, workspace_id)
);
CREATE INDEX memberships_by_workspace ON memberships (workspace_id);

CREATE TABLE membership_roles (
    user_id      TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    role         TEXT NOT NULL CHECK (role IN ('ap_clerk', 'ap_lead', 'procurement', 'finance_lead', 'master_data', 'auditor', 'admin', 'agent', 'erp')),
    PRIMARY KEY (user_id, workspace_id, role),
    FOREIGN KEY (user_id, workspace_id) REFERENCES memberships (user_id, workspace_id)
);
CREATE INDEX membership_roles_by_role ON membership_roles (workspace_id, role);

CREATE TABLE tokens (
    id                   TEXT PRIMARY KEY,
    user_id              TEXT NOT NULL REFERENCES users (id),
    name                 TEXT NOT NULL,
    prefix               TEXT NOT NULL,
    hash                 TEXT NOT NULL UNIQUE,
    scopes               TEXT NOT NULL,
    default_workspace_id TEXT REFERENCES workspaces (id),
    created_by_id        TEXT REFERENCES users (id),
    created_at           TIMESTAMP NOT NULL,
    expires_at           TIMESTAMP,
    revoked_at           TIMESTAMP,
    last_used_at         TIMESTAMP
);
CREATE INDEX tokens_by_user ON tokens (user_id);

CREATE TABLE sessions (
    id           TEXT PRIMARY KEY,
    user_id      TEXT NOT NULL REFERENCES users (id),
    workspace_id TEXT REFERENCES workspaces (id),
    created_at   TIMESTAMP NOT NULL,
    last_seen_at TIMESTAMP NOT NULL,
    expires_at   TIMESTAMP NOT NULL,
    user_agent   TEXT NOT NULL DEFAULT ''
);
CREATE INDEX sessions_by_user ON sessions (user_id);

CREATE TABLE sign_in_attempts (
    subject    TEXT NOT NULL,
    window_at  TIMESTAMP NOT NULL,
    failures   INTEGER NOT NULL,
    PRIMARY KEY (subject, window_at)
);

CREATE TABLE cases (
    id               TEXT PRIMARY KEY,
    workspace_id     TEXT NOT NULL REFERENCES workspaces (id),
    status           TEXT NOT NULL CHECK (status IN ('open', 'held', 'resolved')),
    code             TEXT NOT NULL DEFAULT '' CHECK (code IN ('', 'INVOICE_NOT_FOUND', 'PO_NOT_FOUND', 'SUPPLIER_NOT_FOUND', 'GR_MISSING', 'PO_CLOSED', 'DUPLICATE_INVOICE', 'APPROVER_NOT_FOUND', 'APPROVAL_MISSING', 'PERIOD_CLOSED', 'TOLERANCE_EXCEEDED')),
    queue            TEXT NOT NULL CHECK (queue IN ('ap', 'ap_lead', 'procurement', 'finance', 'master_data')),
    reason           TEXT NOT NULL CHECK (reason IN ('named_error', 'retry_exhausted', 'loop_detected', 'budget_exhausted', 'other')),
    version          BIGINT NOT NULL DEFAULT 1,
    join_key         TEXT NOT NULL,
    invoice_id       TEXT NOT NULL,
    invoice_number   TEXT NOT NULL DEFAULT '',
    number_norm      TEXT NOT NULL DEFAULT '',
    supplier_id      TEXT NOT NULL DEFAULT '',
    supplier_name    TEXT NOT NULL DEFAULT '',
    po_id            TEXT NOT NULL DEFAULT '',
    amount           TEXT NOT NULL,
    currency         TEXT NOT NULL,
    invoice          TEXT NOT NULL,
    marks            TEXT NOT NULL DEFAULT '[]',
    duplicate_of     TEXT NOT NULL DEFAULT '',
    moved            TEXT NOT NULL DEFAULT '' CHECK (moved IN ('', 'treat_as_non_po')),
    request_id       TEXT,
    hold_id          TEXT,
    agent_id         TEXT REFERENCES users (id),
    agent_name       TEXT NOT NULL DEFAULT '',
    run_id           TEXT NOT NULL DEFAULT '',
    handover_count   INTEGER NOT NULL DEFAULT 1,
    claimed_by_id    TEXT REFERENCES users (id),
    claimed_until    TIMESTAMP,
    due_at           TIMESTAMP NOT NULL,
    held_until       DATE,
    instruction      TEXT,
    created_at       TIMESTAMP NOT NULL,
    updated_at       TIMESTAMP NOT NULL,
    resolved_at      TIMESTAMP
);
CREATE UNIQUE INDEX cases_join ON cases (workspace_id, join_key) WHERE status <> 'resolved';
CREATE INDEX cases_queue ON cases (workspace_id, queue, status, due_at, id);
CREATE INDEX cases_status ON cases (workspace_id, status, due_at, id);
CREATE INDEX cases_created ON cases (workspace_id, created_at, id);
CREATE INDEX cases_invoice ON cases (workspace_id, invoice_id);
CREATE INDEX cases_claimed ON cases (claimed_by_id) WHERE claimed_by_id IS NOT NULL;

-- Counts that do not grow slower with history: one row per queue and status.
CREATE TABLE case_counts (
    workspace_id TEXT NOT NULL,
    queue        TEXT NOT NULL,
    status       TEXT NOT NULL,
    n            BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace_id, queue, status)
);
-- +goose StatementBegin
CREATE TRIGGER case_counted AFTER INSERT ON cases BEGIN
    INSERT INTO case_counts (workspace_id, queue, status, n) VALUES (NEW.workspace_id, NEW.queue, NEW.status, 1)
    ON CONFLICT (workspace_id, queue, status) DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER case_recounted AFTER UPDATE OF queue, status ON cases WHEN OLD.queue <> NEW.queue OR OLD.status <> NEW.status BEGIN
    UPDATE case_counts SET n = n - 1 WHERE workspace_id = OLD.workspace_id AND queue = OLD.queue AND status = OLD.status;
    INSERT INTO case_counts (workspace_id, queue, status, n) VALUES (NEW.workspace_id, NEW.queue, NEW.status, 1)
    ON CONFLICT (workspace_id, queue, status) DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd

-- What an agent submitted, as it came; never edited.
CREATE TABLE handovers (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    case_id      TEXT NOT NULL REFERENCES cases (id),
    kind         TEXT NOT NULL CHECK (kind IN ('handover', 'answer')),
    at           TIMESTAMP NOT NULL,
    run_id       TEXT NOT NULL DEFAULT '',
    agent_id     TEXT NOT NULL,
    agent_name   TEXT NOT NULL,
    token_id     TEXT NOT NULL DEFAULT '',
    channel      TEXT NOT NULL CHECK (channel IN ('web', 'api', 'mcp', 'system')),
    body         TEXT NOT NULL
);
CREATE INDEX handovers_by_case ON handovers (case_id, at);

-- Every decision a person took on a case, also those that only made it wait.
CREATE TABLE decisions (
    id                   TEXT PRIMARY KEY,
    workspace_id         TEXT NOT NULL,
    case_id              TEXT NOT NULL REFERENCES cases (id),
    invoice_id           TEXT NOT NULL,
    exit                 TEXT NOT NULL,
    instruction_kind     TEXT NOT NULL DEFAULT '' CHECK (instruction_kind IN ('', 'resume', 'retry_with', 'wait', 'stop')),
    instruction          TEXT,
    input                TEXT NOT NULL DEFAULT '{}',
    reason               TEXT NOT NULL DEFAULT '',
    decided_by_id        TEXT,
    decided_by_name      TEXT NOT NULL,
    role                 TEXT NOT NULL DEFAULT '',
    case_version         BIGINT NOT NULL,
    approval_request_ids TEXT NOT NULL DEFAULT '[]',
    decided_at           TIMESTAMP NOT NULL
);
CREATE INDEX decisions_by_case ON decisions (case_id, decided_at);
CREATE INDEX decisions_by_invoice ON decisions (workspace_id, invoice_id);
CREATE INDEX decisions_fraud ON decisions (workspace_id, decided_at) WHERE exit = 'suspected_fraud';

CREATE TABLE comments (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    case_id      TEXT NOT NULL REFERENCES cases (id),
    author_id    TEXT NOT NULL,
    author_name  TEXT NOT NULL,
    text         TEXT NOT NULL,
    at           TIMESTAMP NOT NULL
);
CREATE INDEX comments_by_case ON comments (case_id, at);

-- A pair of invoices a person judged not to be duplicates; low and high are the two ids in order.
CREATE TABLE pair_verdicts (
    workspace_id TEXT NOT NULL,
    low          TEXT NOT NULL,
    high         TEXT NOT NULL,
    case_id      TEXT NOT NULL REFERENCES cases (id),
    decided_at   TIMESTAMP NOT NULL,
    PRIMARY KEY (workspace_id, low, high)
);

-- The matrix. A row is one version of one rule; only the row with retired_at NULL is in force.
CREATE TABLE rules (
    id            TEXT NOT NULL,
    version       BIGINT NOT NULL,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    tool          TEXT NOT NULL DEFAULT '',
    document_type TEXT NOT NULL DEFAULT '',
    supplier      TEXT NOT NULL DEFAULT '',
    cost_centre   TEXT NOT NULL DEFAULT '',
    currency      TEXT NOT NULL,
    from_amount   TEXT NOT NULL,
    to_amount     TEXT NOT NULL,
    role          TEXT NOT NULL DEFAULT '',
    people        TEXT NOT NULL DEFAULT '[]',
    required      INTEGER NOT NULL CHECK (required IN (1, 2)),
    valid_seconds BIGINT NOT NULL CHECK (valid_seconds > 0),
    author_id     TEXT,
    author_name   TEXT NOT NULL,
    first_at      TIMESTAMP NOT NULL,
    created_at    TIMESTAMP NOT NULL,
    retired_at    TIMESTAMP,
    retired_by    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (id, version),
    CHECK (role <> '' OR people <> '[]')
);
CREATE INDEX rules_in_force ON rules (workspace_id) WHERE retired_at IS NULL;

CREATE TABLE approval_requests (
    id               TEXT PRIMARY KEY,
    workspace_id     TEXT NOT NULL REFERENCES workspaces (id),
    status           TEXT NOT NULL CHECK (status IN ('pending', 'unrouted', 'approved', 'rejected', 'expired', 'withdrawn')),
    live             BOOLEAN NOT NULL DEFAULT TRUE,
    version          BIGINT NOT NULL DEFAULT 1,
    run_id           TEXT NOT NULL DEFAULT '',
    case_id          TEXT,
    unrouted_case_id TEXT,
    invoice_id       TEXT NOT NULL,
    supplier_id      TEXT NOT NULL DEFAULT '',
    invoice          TEXT NOT NULL,
    tool             TEXT NOT NULL,
    arguments        TEXT NOT NULL,
    digest           TEXT NOT NULL,
    amount           TEXT NOT NULL,
    currency         TEXT NOT NULL,
    document_type    TEXT NOT NULL DEFAULT '',
    posting_date     DATE,
    cost_centre      TEXT NOT NULL DEFAULT '',
    summary          TEXT NOT NULL,
    explanation      TEXT NOT NULL DEFAULT '',
    evidence         TEXT NOT NULL DEFAULT '[]',
    body             TEXT NOT NULL DEFAULT '',
    rule             TEXT,
    rule_id          TEXT NOT NULL DEFAULT '',
    rule_version     BIGINT NOT NULL DEFAULT 0,
    required         INTEGER NOT NULL DEFAULT 0,
    named_id         TEXT,
    named_by_id      TEXT,
    asker_id         TEXT NOT NULL,
    asker_name       TEXT NOT NULL,
    token_id         TEXT NOT NULL DEFAULT '',
    channel          TEXT NOT NULL CHECK (channel IN ('web', 'api', 'mcp', 'system')),
    reason           TEXT NOT NULL DEFAULT '',
    instruction      TEXT,
    decided_at       TIMESTAMP,
    expires_at       TIMESTAMP NOT NULL,
    created_at       TIMESTAMP NOT NULL,
    updated_at       TIMESTAMP NOT NULL
);
-- One live request per call: pending, unrouted, or approved and unspent.
CREATE UNIQUE INDEX approval_requests_call ON approval_requests (workspace_id, digest) WHERE live;
CREATE INDEX approval_requests_status ON approval_requests (workspace_id, status, created_at, id);
CREATE INDEX approval_requests_invoice ON approval_requests (workspace_id, invoice_id);
CREATE INDEX approval_requests_digest ON approval_requests (workspace_id, digest);
CREATE INDEX approval_requests_case ON approval_requests (case_id) WHERE case_id IS NOT NULL;

-- Who counts as the asker of a request: nobody of these may vote on it.
CREATE TABLE askers (
    request_id TEXT NOT NULL REFERENCES approval_requests (id),
    user_id    TEXT NOT NULL,
    relation   TEXT NOT NULL CHECK (relation IN ('asked', 'responsible', 'token_creator')),
    PRIMARY KEY (request_id, user_id, relation)
);

CREATE TABLE votes (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    request_id   TEXT NOT NULL REFERENCES approval_requests (id),
    user_id      TEXT NOT NULL,
    user_name    TEXT NOT NULL,
    role         TEXT NOT NULL,
    decision     TEXT NOT NULL CHECK (decision IN ('approve', 'reject')),
    reason       TEXT NOT NULL DEFAULT '',
    limit_amount TEXT NOT NULL DEFAULT '',
    rule_id      TEXT NOT NULL DEFAULT '',
    rule_version BIGINT NOT NULL DEFAULT 0,
    channel      TEXT NOT NULL,
    at           TIMESTAMP NOT NULL,
    UNIQUE (request_id, user_id)
);
CREATE INDEX votes_by_user ON votes (user_id);

CREATE TABLE approvals (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT NOT NULL REFERENCES workspaces (id),
    request_id      TEXT NOT NULL UNIQUE REFERENCES approval_requests (id),
    digest          TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('granted', 'redeemed', 'expired', 'revoked')),
    granted_at      TIMESTAMP NOT NULL,
    expires_at      TIMESTAMP NOT NULL,
    redeemed_at     TIMESTAMP,
    redeemed_by_id  TEXT,
    redeem_key      TEXT NOT NULL DEFAULT '',
    redeem_answer   TEXT NOT NULL DEFAULT '',
    revoked_at      TIMESTAMP,
    revoked_by      TEXT NOT NULL DEFAULT '',
    revoke_reason   TEXT NOT NULL DEFAULT '',
    report_status   TEXT NOT NULL DEFAULT '' CHECK (report_status IN ('', 'posted', 'failed', 'overdue')),
    document_number TEXT NOT NULL DEFAULT '',
    report_message  TEXT NOT NULL DEFAULT '',
    reported_at     TIMESTAMP
);
CREATE INDEX approvals_status ON approvals (workspace_id, status);
CREATE INDEX approvals_overdue ON approvals (workspace_id) WHERE report_status = 'overdue';

CREATE TABLE holds (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    status        TEXT NOT NULL CHECK (status IN ('waiting', 'released', 'escalated', 'cancelled')),
    code          TEXT NOT NULL,
    invoice_id    TEXT NOT NULL,
    po_id         TEXT NOT NULL,
    line          INTEGER,
    join_key      TEXT NOT NULL,
    invoice       TEXT NOT NULL,
    amount        TEXT NOT NULL,
    currency      TEXT NOT NULL,
    errors        TEXT NOT NULL DEFAULT '[]',
    body          TEXT NOT NULL DEFAULT '',
    max_checks    INTEGER NOT NULL,
    checks_left   INTEGER NOT NULL,
    next_check_at TIMESTAMP,
    lease_until   TIMESTAMP,
    leased_by_id  TEXT,
    case_id       TEXT,
    agent_id      TEXT NOT NULL,
    agent_name    TEXT NOT NULL,
    created_at    TIMESTAMP NOT NULL,
    updated_at    TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX holds_join ON holds (workspace_id, join_key) WHERE status = 'waiting';
CREATE INDEX holds_due ON holds (workspace_id, status, next_check_at, id);
CREATE INDEX holds_invoice ON holds (workspace_id, invoice_id);
CREATE INDEX holds_all ON holds (workspace_id, id);

CREATE TABLE hold_checks (
    id           TEXT PRIMARY KEY,
    hold_id      TEXT NOT NULL REFERENCES holds (id),
    workspace_id TEXT NOT NULL,
    at           TIMESTAMP NOT NULL,
    due_at       TIMESTAMP NOT NULL,
    result       TEXT NOT NULL CHECK (result IN ('available', 'still_missing', 'missed')),
    by_name      TEXT NOT NULL DEFAULT ''
);
CREATE INDEX hold_checks_by_hold ON hold_checks (hold_id, at);

-- First answers of calls that carried an idempotency key; scope is a digest of user, workspace,
-- operation and key.
CREATE TABLE idempotency_keys (
    scope      TEXT PRIMARY KEY,
    body_hash  TEXT NOT NULL,
    answer     TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMP NOT NULL
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- Work that is due at a time: expiries, reminders, schedules. At most one job per kind and subject.
CREATE TABLE jobs (
    kind         TEXT NOT NULL,
    subject      TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    due_at       TIMESTAMP NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    last_error   TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (kind, subject)
);
CREATE INDEX jobs_due ON jobs (due_at);

-- The trail: insert only. seq, prev_hash and hash link a workspace's events; they are filled once,
-- shortly after the event, and nothing else may ever change.
CREATE TABLE audit_events (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    at           TIMESTAMP NOT NULL,
    actor_id     TEXT NOT NULL DEFAULT '',
    actor_name   TEXT NOT NULL,
    actor_roles  TEXT NOT NULL DEFAULT '',
    channel      TEXT NOT NULL CHECK (channel IN ('web', 'api', 'mcp', 'system')),
    token_id     TEXT NOT NULL DEFAULT '',
    action       TEXT NOT NULL,
    subject      TEXT NOT NULL DEFAULT '',
    case_id      TEXT NOT NULL DEFAULT '',
    approval_request_id TEXT NOT NULL DEFAULT '',
    invoice_id   TEXT NOT NULL DEFAULT '',
    request_id   TEXT NOT NULL DEFAULT '',
    data         TEXT NOT NULL DEFAULT '{}',
    seq          BIGINT,
    prev_hash    TEXT,
    hash         TEXT
);
CREATE UNIQUE INDEX audit_events_chain ON audit_events (workspace_id, seq) WHERE seq IS NOT NULL;
CREATE INDEX audit_events_unsealed ON audit_events (workspace_id, id) WHERE seq IS NULL;
CREATE INDEX audit_events_at ON audit_events (workspace_id, at, id);
CREATE INDEX audit_events_case ON audit_events (workspace_id, case_id, at, id) WHERE case_id <> '';
CREATE INDEX audit_events_request ON audit_events (workspace_id, approval_request_id, at, id) WHERE approval_request_id <> '';
CREATE INDEX audit_events_invoice ON audit_events (workspace_id, invoice_id, at, id) WHERE invoice_id <> '';
CREATE INDEX audit_events_subject ON audit_events (workspace_id, subject, at, id) WHERE subject <> '';
-- +goose StatementBegin
CREATE TRIGGER audit_never_deleted BEFORE DELETE ON audit_events BEGIN
    SELECT RAISE(ABORT, 'audit events are never deleted');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_never_changed BEFORE UPDATE ON audit_events
WHEN OLD.seq IS NOT NULL OR NEW.seq IS NULL OR NEW.hash IS NULL
  OR NEW.id <> OLD.id OR NEW.workspace_id <> OLD.workspace_id OR NEW.at <> OLD.at OR NEW.actor_id <> OLD.actor_id
  OR NEW.actor_name <> OLD.actor_name OR NEW.actor_roles <> OLD.actor_roles OR NEW.channel <> OLD.channel
  OR NEW.token_id <> OLD.token_id OR NEW.action <> OLD.action OR NEW.subject <> OLD.subject OR NEW.case_id <> OLD.case_id
  OR NEW.approval_request_id <> OLD.approval_request_id OR NEW.invoice_id <> OLD.invoice_id
  OR NEW.request_id <> OLD.request_id OR NEW.data <> OLD.data
BEGIN
    SELECT RAISE(ABORT, 'audit events are never changed');
END;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
