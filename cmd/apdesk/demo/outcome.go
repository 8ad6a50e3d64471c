package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/agent"
	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
	"github.com/apdesk/apdesk/cmd/apdesk/demo/erp"
)

// Line is one invoice in the closing table. Everything in it comes from what the
// agent and the ERP recorded; the data set only says whether it is right.
type Line struct {
	Invoice, Outcome, Decided, Did string
	Status, Document               string
	Calls, Retries, Handovers      int
	// Wrong says how the end differs from the one the data set names, empty if it
	// does not.
	Wrong string
}

// Compare puts what happened beside what was to happen. cases is how many cases
// the desk has by invoice; nil is not compared.
func Compare(set data.Set, works map[string]*agent.Work, books erp.State, cases map[string]int) []Line {
	var lines []Line
	for _, want := range set.Wants {
		line := Line{Invoice: want.Invoice}
		var record erp.InvoiceState
		for _, r := range books.Invoices {
			if r.ID == want.Invoice {
				record = r
			}
		}
		line.Status, line.Document = record.Status, record.DocumentNumber
		w := works[want.Invoice]
		if w == nil {
			line.Wrong = "the agent has not begun it"
			lines = append(lines, line)
			continue
		}
		line.Outcome = strings.Join(w.Codes, ", ")
		if line.Outcome == "" {
			line.Outcome = "matched"
		}
		line.Decided = strings.Join(w.Deciders, ", ")
		line.Did = strings.Join(w.Acts, "; ")
		line.Calls, line.Retries, line.Handovers = w.ToolCalls(), w.Retries, w.Handovers

		var wrong []string
		differs := func(what string, got, want any) {
			if fmt.Sprint(got) != fmt.Sprint(want) {
				wrong = append(wrong, fmt.Sprintf("%s is %v, not %v", what, got, want))
			}
		}
		var deciders []string
		for _, key := range want.Deciders {
			deciders = append(deciders, set.Person(key).Name)
		}
		// Two votes on one request may come in either order.
		got := slices.Clone(w.Deciders)
		if len(deciders) == len(got) && len(want.Codes) > 0 && want.Codes[len(want.Codes)-1] == "TOLERANCE_EXCEEDED" {
			slices.Sort(deciders)
			slices.Sort(got)
		}
		if w.End == "" || w.End == agent.EndFailed {
			wrong = append(wrong, strings.TrimSpace("the agent's work is "+orUnfinished(w.End)+" "+w.Why))
		}
		differs("outcome", w.Codes, want.Codes)
		differs("decided by", got, deciders)
		differs("status in the ERP", record.Status, want.Status)
		differs("document number", record.DocumentNumber != "", want.Document)
		differs("writes", record.Writes, want.Writes)
		differs("corrected retries", w.Retries, want.Retries)
		if cases != nil {
			differs("cases at the desk", cases[want.Invoice], want.Cases)
		}
		line.Wrong = strings.Join(wrong, "; ")
		lines = append(lines, line)
	}
	return lines
}

func orUnfinished(s string) string {
	if s == "" {
		return "unfinished"
	}
	return s
}

// WriteTable prints the closing table.
func WriteTable(out io.Writer, lines []Line) {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "INVOICE\tOUTCOME\tDECIDED BY\tWHAT THE AGENT DID\tIN THE ERP\tCALLS\tRETRIES\tHANDOVERS\t")
	for _, l := range lines {
		mark := ""
		if l.Wrong != "" {
			mark = "WRONG: " + l.Wrong
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", l.Invoice, l.Outcome, dash(l.Decided), l.Did, l.Status, l.Calls, l.Retries, l.Handovers, mark)
	}
	_ = t.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
