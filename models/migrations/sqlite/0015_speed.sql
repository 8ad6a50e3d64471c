-- +goose Up

-- Records that the search has to look at again: each is written in the transaction of its change, and
-- gone once the search has it, which is a moment after the commit.
CREATE TABLE search_due (
    seq          INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    source       TEXT NOT NULL,
    subject      TEXT NOT NULL
);

-- The index of terms is written for many records in one statement. A statement for each, which the
-- triggers made, starts a new segment of the index that has to be merged with the others later.
DROP TRIGGER search_doc_added;
DROP TRIGGER search_doc_leaves;
DROP TRIGGER search_doc_returns;

-- +goose Down
SELECT 1;
