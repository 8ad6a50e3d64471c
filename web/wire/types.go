package wire

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
)

// Amount is a plain decimal, taken from the digits of a text or of a JSON number, never through a
// float.
type Amount string

func (a *Amount) read(r *reader, raw jsontext.Value, at string) {
	digits := string(raw)
	switch raw.Kind() {
	case '0':
	case '"':
		s, ok := textOf(raw)
		if !ok {
			return
		}
		digits = s
	default:
		r.fail(at, "%s", models.ErrAmountSyntax)
		return
	}
	if err := models.ParseDecimal(digits); err != nil {
		r.fail(at, "%s", err)
		return
	}
	*a = Amount(digits)
}

// Currency is an ISO 4217 code.
type Currency string

func (c *Currency) read(r *reader, raw jsontext.Value, at string) {
	s, ok := textOf(raw)
	if !ok || !models.ValidCurrency(s) {
		r.fail(at, "%s", models.ErrCurrencyUnknown)
		return
	}
	*c = Currency(s)
}

// money joins an amount and its currency, where both could be read.
func (r *reader) money(amount Amount, code Currency, at string) models.Money {
	if amount == "" || code == "" {
		return models.Money{}
	}
	m, err := models.ParseMoney(string(amount), string(code))
	if err != nil {
		r.fail(at, "%s", err)
	}
	return m
}

// Date is a calendar date.
type Date struct{ models.Date }

func (d *Date) read(r *reader, raw jsontext.Value, at string) {
	s, _ := textOf(raw)
	date, err := models.ParseDate(s)
	if err != nil {
		r.fail(at, "%s", err)
		return
	}
	d.Date = date
}

// Moment is a time in RFC 3339, kept as it was written.
type Moment string

var momentSyntax = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

func (m *Moment) read(r *reader, raw jsontext.Value, at string) {
	s, _ := textOf(raw)
	if _, err := time.Parse(time.RFC3339Nano, s); err != nil || !momentSyntax.MatchString(s) {
		r.fail(at, "must be a time in RFC 3339 such as 2026-10-05T09:12:44Z")
		return
	}
	*m = Moment(s)
}

// Time is the moment itself; the zero time when none was given.
func (m Moment) Time() models.Time {
	t, err := time.Parse(time.RFC3339Nano, string(m))
	if err != nil {
		return models.Time{}
	}
	return models.At(t)
}

// HTTPS is an https address.
type HTTPS string

func (h *HTTPS) read(r *reader, raw jsontext.Value, at string) {
	s, ok := textOf(raw)
	u, err := url.Parse(s)
	if !ok || err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		r.fail(at, "must be an https address such as https://example.com/document.pdf")
		return
	}
	*h = HTTPS(s)
}

// Object is a JSON object of any shape, kept as it was sent.
type Object jsontext.Value

func (o *Object) read(r *reader, raw jsontext.Value, at string) {
	if raw.Kind() != '{' {
		r.fail(at, "must be an object%s", orLeaveOut(raw, limits{}))
		return
	}
	*o = Object(compact(raw))
}

// Any is any JSON value, kept as it was sent.
type Any jsontext.Value

func (a *Any) read(_ *reader, raw jsontext.Value, _ string) { *a = Any(compact(raw)) }

func compact(raw jsontext.Value) jsontext.Value {
	short := jsontext.Value(bytes.Clone(raw))
	if err := short.Compact(lenient...); err != nil {
		return raw
	}
	return short
}

// Arguments are the exact arguments of a call that may become a write. They must mean the same to
// everybody who reads them, since a digest of them is what people approve.
type Arguments jsontext.Value

func (a *Arguments) read(r *reader, raw jsontext.Value, at string) {
	if raw.Kind() != '{' {
		r.fail(at, "must be an object")
		return
	}
	for _, issue := range approvals.CheckArguments(json.RawMessage(raw), at) {
		told := slices.ContainsFunc(r.issues, func(known models.Issue) bool { return known.Path == issue.Path })
		if !told { // duplicate names were, by Parse
			r.issues = append(r.issues, issue)
		}
	}
	*a = Arguments(compact(raw))
}

// The texts with a fixed list of values.
type (
	// Reason is why an agent hands over.
	Reason string
	// OutcomeCode is one of the ten outcomes.
	OutcomeCode string
	// CheckResult is what a re-check found.
	CheckResult string
	// ReportStatus is how a write ended.
	ReportStatus string
	// QueueName is one of the five queues.
	QueueName string
	// CaseState is a state of a case.
	CaseState string
	// HoldState is a state of a hold.
	HoldState string
)

func (Reason) values() []string       { return texts(models.HandoverReasons()) }
func (CheckResult) values() []string  { return []string{"available", "still_missing"} }
func (ReportStatus) values() []string { return []string{"posted", "failed"} }
func (QueueName) values() []string    { return texts(models.Queues()) }
func (CaseState) values() []string    { return texts(models.CaseStatuses()) }
func (HoldState) values() []string {
	return texts([]models.HoldStatus{models.HoldWaiting, models.HoldReleased, models.HoldEscalated, models.HoldCancelled})
}
func (OutcomeCode) values() []string {
	var codes []string
	for _, e := range models.Outcomes() {
		codes = append(codes, string(e.Code))
	}
	return codes
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}
