-- +goose Up

-- A queue by age, in any state, without walking through other states.
CREATE INDEX cases_by_age ON cases (workspace_id, queue, status, created_at, id);

-- Amounts from before get the text that sorts like the number: a sign, how many digits stand before the point, the digits, and
-- four after it; below zero every digit is its complement to nine.
UPDATE cases SET amount_key = CASE WHEN amount LIKE '-%' AND amount ~ '[1-9]' THEN '0' || translate(digits, '0123456789', '9876543210') ELSE '1' || digits END
FROM (SELECT id AS case_id, lpad(length(whole)::text, 2, '0') || whole || part AS digits
    FROM (SELECT id, ltrim(split_part(ltrim(amount, '-'), '.', 1), '0') AS whole, left(split_part(amount, '.', 2) || '0000', 4) AS part FROM cases) AS parts) AS keys
WHERE cases.id = keys.case_id;

-- +goose Down
SELECT 1;
