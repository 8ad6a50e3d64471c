// Package approvals decides whether an agent may make one exact write: it binds and digests the call,
// routes the question by the matrix, counts votes, and lets the ERP redeem the resulting grant once.
// It knows nothing of HTTP or pages, and nothing of cases but that one can be opened.
package approvals
