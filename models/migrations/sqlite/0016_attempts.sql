-- +goose Up

-- Failed sign-ins are counted in sign_in_limits.
DROP TABLE sign_in_attempts;
