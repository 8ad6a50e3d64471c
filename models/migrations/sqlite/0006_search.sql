-- +goose Up

-- What people can find: one row per record, with what a result shows of it and, in norm, the terms it
-- is found by (see models/search_terms.go). seq is when the record began, in milliseconds, and a number
-- that tells those of one millisecond apart, so that the newest come first by the key alone. No tax or
-- bank data and no approval id is ever in a row.
CREATE TABLE search_docs (
    seq          INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    kind         TEXT NOT NULL CHECK (kind IN ('case', 'request', 'hold', 'confirmation', 'invoice', 'supplier', 'po', 'comment', 'reason')),
    subject      TEXT NOT NULL,
    page         TEXT NOT NULL,
    at           TIMESTAMP NOT NULL,
    status       TEXT NOT NULL DEFAULT '',
    queue        TEXT NOT NULL DEFAULT '',
    code         TEXT NOT NULL DEFAULT '',
    title        TEXT NOT NULL DEFAULT '',
    number       TEXT NOT NULL DEFAULT '',
    supplier     TEXT NOT NULL DEFAULT '',
    amount       TEXT NOT NULL DEFAULT '',
    amount_key   TEXT NOT NULL DEFAULT '',
    currency     TEXT NOT NULL DEFAULT '',
    text         TEXT NOT NULL DEFAULT '',
    norm         TEXT NOT NULL,
    UNIQUE (workspace_id, kind, subject)
);
CREATE INDEX search_docs_newest ON search_docs (workspace_id, seq);
CREATE INDEX search_docs_by_status ON search_docs (workspace_id, status, seq) WHERE status <> '';
CREATE INDEX search_docs_by_queue ON search_docs (workspace_id, queue, status, seq) WHERE queue <> '';

-- The newest first, so that a page of results reads no more than it shows. Segments are merged a little
-- with every write, not all at once.
CREATE VIRTUAL TABLE search_index USING fts4(content="search_docs", norm, tokenize=simple, matchinfo=fts3, order=desc);
INSERT INTO search_index (search_index) VALUES ('automerge=8');
-- +goose StatementBegin
CREATE TRIGGER search_doc_added AFTER INSERT ON search_docs BEGIN
    INSERT INTO search_index (docid, norm) VALUES (NEW.seq, NEW.norm);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER search_doc_leaves BEFORE UPDATE OF norm ON search_docs WHEN OLD.norm <> NEW.norm BEGIN
    DELETE FROM search_index WHERE docid = OLD.seq;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER search_doc_returns AFTER UPDATE OF norm ON search_docs WHEN OLD.norm <> NEW.norm BEGIN
    INSERT INTO search_index (docid, norm) VALUES (NEW.seq, NEW.norm);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER search_doc_removed BEFORE DELETE ON search_docs BEGIN
    DELETE FROM search_index WHERE docid = OLD.seq;
END;
-- +goose StatementEnd

-- Where a record stands is kept by the database, whichever action moves it.
-- +goose StatementBegin
CREATE TRIGGER search_case_moved AFTER UPDATE OF status, queue ON cases WHEN OLD.status <> NEW.status OR OLD.queue <> NEW.queue BEGIN
    UPDATE search_docs SET status = NEW.status, queue = NEW.queue WHERE workspace_id = NEW.workspace_id AND kind = 'case' AND subject = NEW.id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER search_request_moved AFTER UPDATE OF status ON approval_requests WHEN OLD.status <> NEW.status BEGIN
    UPDATE search_docs SET status = NEW.status WHERE workspace_id = NEW.workspace_id AND kind = 'request' AND subject = NEW.id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER search_hold_moved AFTER UPDATE OF status ON holds WHEN OLD.status <> NEW.status BEGIN
    UPDATE search_docs SET status = NEW.status WHERE workspace_id = NEW.workspace_id AND kind = 'hold' AND subject = NEW.id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER search_confirmation_moved AFTER UPDATE OF status ON confirmations WHEN OLD.status <> NEW.status BEGIN
    UPDATE search_docs SET status = NEW.status WHERE workspace_id = NEW.workspace_id AND kind = 'confirmation' AND subject = NEW.id;
END;
-- +goose StatementEnd

-- Records from before the search, which the desk adds while it runs, some at a time: how far it has
-- come in each table.
CREATE TABLE search_backlog (
    source   TEXT NOT NULL,
    after_ws TEXT NOT NULL DEFAULT '',
    after_id TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (source)
);
INSERT INTO search_backlog (source) SELECT 'seen_invoices' WHERE EXISTS (SELECT 1 FROM seen_invoices);
INSERT INTO search_backlog (source) SELECT 'cases' WHERE EXISTS (SELECT 1 FROM cases);
INSERT INTO search_backlog (source) SELECT 'approval_requests' WHERE EXISTS (SELECT 1 FROM approval_requests);
INSERT INTO search_backlog (source) SELECT 'holds' WHERE EXISTS (SELECT 1 FROM holds);
INSERT INTO search_backlog (source) SELECT 'confirmations' WHERE EXISTS (SELECT 1 FROM confirmations);
INSERT INTO search_backlog (source) SELECT 'comments' WHERE EXISTS (SELECT 1 FROM comments);
INSERT INTO search_backlog (source) SELECT 'decisions' WHERE EXISTS (SELECT 1 FROM decisions);
INSERT INTO search_backlog (source) SELECT 'votes' WHERE EXISTS (SELECT 1 FROM votes);

-- +goose Down
SELECT 1;
