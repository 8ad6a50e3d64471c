-- +goose Up

-- Counts the changes of who may do what: of users, their memberships, roles and tokens, and of what workspaces
-- forbid. Whoever keeps something of these in memory looks here whether it still holds. That a token was used
-- changes nothing.
CREATE TABLE access_changes (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    n  BIGINT NOT NULL
);
INSERT INTO access_changes (id, n) VALUES (1, 1);

-- +goose StatementBegin
CREATE TRIGGER access_users_insert AFTER INSERT ON users BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_users_update AFTER UPDATE ON users BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_users_delete AFTER DELETE ON users BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_memberships_insert AFTER INSERT ON memberships BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_memberships_update AFTER UPDATE ON memberships BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_memberships_delete AFTER DELETE ON memberships BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_membership_roles_insert AFTER INSERT ON membership_roles BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_membership_roles_update AFTER UPDATE ON membership_roles BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_membership_roles_delete AFTER DELETE ON membership_roles BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_tokens_insert AFTER INSERT ON tokens BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_tokens_update AFTER UPDATE OF id, user_id, name, prefix, hash, scopes, default_workspace_id, created_by_id, created_at, expires_at, revoked_at, replaced_by_id ON tokens BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_tokens_delete AFTER DELETE ON tokens BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_security_blocks_insert AFTER INSERT ON security_blocks BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_security_blocks_update AFTER UPDATE ON security_blocks BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER access_security_blocks_delete AFTER DELETE ON security_blocks BEGIN UPDATE access_changes SET n = n + 1; END;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
