// Package models holds the words of the desk (outcomes, cases, approvals, people, money, dates), the
// errors it answers with, and the store they are kept in. It knows nothing of queues' or approvals'
// rules, of HTTP or of pages.
package models
