-- +goose Up

-- A queue by age, in any state, without walking through other states.
CREATE INDEX cases_by_age ON cases (workspace_id, queue, status, created_at, id);

-- Amounts from before get the text that sorts like the number: a sign, how many digits stand before the point, the digits, and
-- four after it; below zero every digit is its complement to nine.
UPDATE cases SET amount_key = (
    SELECT CASE WHEN negative AND whole || part GLOB '*[1-9]*'
        THEN '0' || replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(digits,
            '0', 'a'), '9', '0'), 'a', '9'), '1', 'b'), '8', '1'), 'b', '8'), '2', 'c'), '7', '2'), 'c', '7'), '3', 'd'), '6', '3'), 'd', '6'), '4', 'e'), '5', '4'), 'e', '5')
        ELSE '1' || digits END
    FROM (SELECT negative, whole, part, printf('%02d', length(whole)) || whole || part AS digits
        FROM (SELECT cases.amount LIKE '-%' AS negative,
            ltrim(substr(ltrim(cases.amount, '-') || '.', 1, instr(ltrim(cases.amount, '-') || '.', '.') - 1), '0') AS whole,
            substr(replace(substr(ltrim(cases.amount, '-') || '.', instr(ltrim(cases.amount, '-') || '.', '.') + 1), '.', '') || '0000', 1, 4) AS part)));

-- +goose Down
SELECT 1;
