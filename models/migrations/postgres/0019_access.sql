-- +goose Up

-- Counts the changes of who may do what: of users, their memberships, roles and tokens, and of what workspaces
-- forbid. Whoever keeps something of these in memory looks here whether it still holds. That a token was used
-- changes nothing. The row is locked until a change is committed, so that no number is seen before its change.
CREATE TABLE access_changes (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    n  BIGINT NOT NULL
);
INSERT INTO access_changes (id, n) VALUES (1, 1);

-- +goose StatementBegin
CREATE FUNCTION count_access_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE access_changes SET n = n + 1;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER access_users_changed AFTER INSERT OR UPDATE OR DELETE ON users FOR EACH STATEMENT EXECUTE FUNCTION count_access_change();
CREATE TRIGGER access_users_truncated AFTER TRUNCATE ON users FOR EACH STATEMENT EXECUTE FUNCTION count_access_change();
CREATE TRIGGER access_memberships_changed AFTER INSERT OR UPDATE OR DELETE ON memberships FOR EACH STATEMENT EXECUTE FUNCTION count_access_change();
CREATE TRIGGER access_memberships_truncated AFTER TRUNCATE ON memberships FOR EACH STATEMENT EXECUTE FUNCTION count_access_change();
CREATE TRIGGER access_membership_roles_changed AFTER INSERT OR UPDATE OR DELETE ON membership_roles FOR EACH STATEMENT EXECUTE FUNCTION count_access_change();
CREATE TRIGGER access_membership_roles_truncated AFTER TRUNCATE ON membership_roles FOR EACH STATEMENT EXECUTE FUNCTION count_access_change();
CREATE TRIGGER access_tokens_changed AFTER INSERT OR DELETE OR UPDATE OF id, user_id, name, prefix, hash, scopes, default_workspace_id, created_by_id, created_at, expires_at, revoked_at, replaced_by_id ON tokens FOR EACH STATEMENT EXECUTE FUNCTION count_access_change();
CREATE TRIGGER access_tokens_truncated AFTER TRUNCATE ON tokens FOR EACH STATEMENT EXECUTE FUNCTION count_access_change();
CREATE TRIGGER access_security_blocks_changed AFTER INSERT OR UPDATE OR DELETE ON security_blocks FOR EACH STATEMENT EXECUTE FUNCTION count_access_change();
CREATE TRIGGER access_security_blocks_truncated AFTER TRUNCATE ON security_blocks FOR EACH STATEMENT EXECUTE FUNCTION count_access_change();

-- +goose Down
SELECT 1;
