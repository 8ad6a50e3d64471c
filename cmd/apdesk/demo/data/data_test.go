package data

import (
	"slices"
	"testing"
	"time"
)

var outcomes = []string{"INVOICE_NOT_FOUND", "PO_NOT_FOUND", "SUPPLIER_NOT_FOUND", "GR_MISSING", "PO_CLOSED", "DUPLICATE_INVOICE",
	"APPROVER_NOT_FOUND", "APPROVAL_MISSING", "PERIOD_CLOSED", "TOLERANCE_EXCEEDED"}

func TestEveryOutcomeOccursAndSomeInvoicesMatchCleanly(t *testing.T) {
	set := New(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
	met := map[string]int{}
	clean := 0
	for _, w := range set.Wants {
		for _, c := range w.Codes {
			met[c]++
		}
		if len(w.Codes) == 0 {
			clean++
		}
	}
	for _, c := range outcomes {
		if met[c] == 0 {
			t.Errorf("no invoice meets %s", c)
		}
	}
	if clean == 0 || len(met) != len(outcomes) {
		t.Errorf("clean invoices %d, codes met %v", clean, met)
	}
}

func TestEveryDocumentHasOneEndAndEveryDecisionAPerson(t *testing.T) {
	set := New(time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC))
	if len(set.Inbox) != len(set.Wants) {
		t.Fatalf("%d documents, %d ends", len(set.Inbox), len(set.Wants))
	}
	for i, doc := range set.Inbox {
		if set.Wants[i].Invoice != doc.Key {
			t.Errorf("document %d is %s, its end is for %s", i, doc.Key, set.Wants[i].Invoice)
		}
		if set.Workspace(doc.Workspace).ID == "" {
			t.Errorf("document %s is in no workspace", doc.Key)
		}
	}
	deciders := map[string][]string{}
	for _, d := range set.Decisions {
		if set.Person(d.Person).Email == "" {
			t.Errorf("nobody is %q", d.Person)
		}
		if (d.Exit == "") == (d.Vote == "") {
			t.Errorf("decision on %s is neither an exit nor a vote", d.Invoice)
		}
		deciders[d.Invoice] = append(deciders[d.Invoice], d.Person)
	}
	for _, w := range set.Wants {
		if !slices.Equal(deciders[w.Invoice], w.Deciders) {
			t.Errorf("%s: script has %v, end wants %v", w.Invoice, deciders[w.Invoice], w.Deciders)
		}
	}
}

func TestTheWantedPostingDateIsInAClosedPeriodOnAnyDay(t *testing.T) {
	for _, day := range []time.Time{time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)} {
		set := New(day)
		closed := set.Workspaces[0].ClosedThrough
		for _, doc := range set.Inbox {
			if doc.PostingDate != "" && doc.PostingDate > closed {
				t.Errorf("%s: %s is after %s", day, doc.PostingDate, closed)
			}
		}
		if set.Today <= closed {
			t.Errorf("%s: today %s is closed", day, set.Today)
		}
	}
}
