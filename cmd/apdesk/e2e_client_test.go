package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// object is a JSON object as a client without our types sees it.
type object = map[string]any

// answer is what REST answered.
type answer struct {
	status int
	header http.Header
	body   object
}

// text reads a string at a path of names.
func (a answer) text(path ...string) string {
	s, _ := dig(a.body, path...).(string)
	return s
}

// code is the code of the error answered, or "".
func (a answer) code() string { return a.text("error", "code") }

// String shows the answer in a test's message.
func (a answer) String() string {
	body, err := json.Marshal(a.body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", a.status, body)
}

func dig(value any, path ...string) any {
	for _, name := range path {
		o, ok := value.(object)
		if !ok {
			return nil
		}
		value = o[name]
	}
	return value
}

// api calls REST with a token.
type api struct {
	url   string
	token token
	http  *http.Client
}

// as is REST with one of the company's tokens.
func (d *desk) as(t token) api {
	return api{url: d.url + "/api/v1", token: t, http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 100},
	}}
}

// try sends one request. The error is the network's: an answer of any status is
// an answer.
func (a api) try(ctx context.Context, method, path string, body any, key string) (answer, error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, content)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+string(a.token))
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := a.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, err
	}
	got := answer{status: res.StatusCode, header: res.Header}
	if err := json.Unmarshal(raw, &got.body); err != nil {
		return got, fmt.Errorf("%s %s answered %d and no JSON object: %.300s", method, path, res.StatusCode, raw)
	}
	return got, nil
}

func (a api) post(t testing.TB, path string, body any) answer {
	t.Helper()
	got, err := a.try(t.Context(), http.MethodPost, path, body, "")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (a api) get(t testing.TB, path string) answer {
	t.Helper()
	got, err := a.try(t.Context(), http.MethodGet, path, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// handOver files a stop and returns the case it became.
func (a api) handOver(t testing.TB, body object) string {
	t.Helper()
	got := a.post(t, "/handovers", body)
	if got.status != http.StatusCreated && got.status != http.StatusOK {
		t.Fatalf("the handover was answered with %s", got)
	}
	return got.text("case_id")
}

// ask files an approval request and returns its id.
func (a api) ask(t testing.TB, body object) string {
	t.Helper()
	got := a.post(t, "/approval-requests", body)
	if got.status != http.StatusCreated {
		t.Fatalf("the request was answered with %s", got)
	}
	return got.text("request_id")
}

// invoice is an invoice of the tests; n tells it from the others.
func invoice(n int, amount string) object {
	return object{
		"id": fmt.Sprintf("51056%05d", n), "number": fmt.Sprintf("INV-%d", n), "supplier_id": "V-2001",
		"supplier_name": "Nordwind GmbH", "po_id": "4500018822", "amount": amount, "currency": "EUR", "invoice_date": "2026-10-03",
	}
}

// stopped is a handover of an invoice at a named error.
func stopped(inv object, code, nextAction string, details object) object {
	return object{
		"workspace_id": workspace, "run_id": "run-1", "reason": "named_error", "invoice": inv,
		"errors": []object{{
			"tool": "get_purchase_order", "arguments": object{"po_id": "4500018822"}, "at": "2026-10-05T09:12:44Z",
			"error": object{"code": code, "message": "The ERP said so.", "retryable": false, "next_action": nextAction, "details": details},
		}},
		"evidence": []object{
			{"kind": "record", "title": "PO 4500018822", "source": "get_purchase_order", "data": object{"status": "closed", "open_amount": "0.00"}},
		},
		"explanation": "The purchase order was closed before this invoice came.",
	}
}

// poClosed is the handover of an invoice whose purchase order is closed.
func poClosed(n int) object {
	return stopped(invoice(n, "1234.50"), "PO_CLOSED", "route_to_person", object{"po_id": "4500018822"})
}

// posting is the call that posts an invoice.
func posting(inv object) object {
	return object{"tool": "post_invoice_adjustment", "arguments": object{
		"invoice_id": inv["id"], "amount": inv["amount"], "currency": inv["currency"], "posting_date": "2026-10-06", "supplier_id": inv["supplier_id"],
	}}
}

// approvalOf asks for leave to post an invoice.
func approvalOf(inv object) object {
	return object{
		"workspace_id": workspace, "run_id": "run-1", "invoice": inv, "action": posting(inv),
		"amount": inv["amount"], "currency": inv["currency"], "posting_date": "2026-10-06",
		"summary": fmt.Sprintf("Post invoice %s", inv["number"]), "explanation": "The receipt is there, the price differs by 2 %.",
		"evidence": []object{{"kind": "note", "title": "Why", "text": "Within what was agreed by phone."}},
	}
}

// visitor uses the pages without a browser: links, forms, cookies and nothing
// that needs script.
type visitor struct {
	url  string
	http *http.Client
}

// page is what the visitor sees.
type page struct {
	status int
	header http.Header
	path   string // where redirects ended
	doc    *goquery.Document
}

// String shows the page in a test's message.
func (p page) String() string { return fmt.Sprintf("%d %s: %.600s", p.status, p.path, p.all()) }

// text is the readable text of what has a test id, blanks made single.
func (p page) text(testID string) string {
	return strings.Join(strings.Fields(p.doc.Find("[data-testid="+testID+"]").Text()), " ")
}

// all is the readable text of the page.
func (p page) all() string { return strings.Join(strings.Fields(p.doc.Find("body").Text()), " ") }

// signIn signs somebody in and returns them as a visitor.
func (d *desk) signIn(t testing.TB, who cast) *visitor {
	t.Helper()
	v, err := d.trySignIn(t.Context(), who)
	if err != nil {
		t.Fatalf("%s cannot sign in: %v", who.name, err)
	}
	return v
}

func (d *desk) trySignIn(ctx context.Context, who cast) (*visitor, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	v := &visitor{url: d.url, http: &http.Client{Jar: jar}}
	login, err := v.try(ctx, http.MethodGet, "/login", nil)
	if err != nil {
		return nil, err
	}
	home, err := v.submit(ctx, login, "login-form", url.Values{"email": {who.email}, "password": {password}})
	if err != nil {
		return nil, err
	}
	if home.path != "/" || home.status != http.StatusOK {
		return nil, fmt.Errorf("signing in led to %s with status %d: %s", home.path, home.status, home.all())
	}
	return v, nil
}

func (v *visitor) get(t testing.TB, path string) page {
	t.Helper()
	p, err := v.try(t.Context(), http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// send fills in a form of a page and sends it.
func (v *visitor) send(t testing.TB, from page, formID string, values url.Values) page {
	t.Helper()
	p, err := v.submit(t.Context(), from, formID, values)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// submit sends a form with what its hidden fields hold and the values given.
func (v *visitor) submit(ctx context.Context, from page, formID string, values url.Values) (page, error) {
	form := from.doc.Find("form[data-testid=" + formID + "]").First()
	if form.Length() == 0 {
		return page{}, fmt.Errorf("%s has no form %s: %.1500s", from.path, formID, from.all())
	}
	return v.submitForm(ctx, form, values)
}

// submitForm is submit for a form that has been found.
func (v *visitor) submitForm(ctx context.Context, form *goquery.Selection, values url.Values) (page, error) {
	action := form.AttrOr("action", "")
	sent := url.Values{}
	form.Find("input[type=hidden]").Each(func(_ int, field *goquery.Selection) {
		sent.Add(field.AttrOr("name", ""), field.AttrOr("value", ""))
	})
	for name, value := range values {
		sent[name] = value
	}
	return v.try(ctx, http.MethodPost, action, sent)
}

func (v *visitor) try(ctx context.Context, method, path string, values url.Values) (page, error) {
	var body io.Reader
	if values != nil {
		body = strings.NewReader(values.Encode())
	}
	target := path
	if !strings.HasPrefix(path, "http") {
		target = v.url + path
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return page{}, err
	}
	if values != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", v.url)
	}
	res, err := v.http.Do(req)
	if err != nil {
		return page{}, err
	}
	defer res.Body.Close()
	doc, err := goquery.NewDocumentFromReader(res.Body)
	if err != nil {
		return page{}, err
	}
	return page{status: res.StatusCode, header: res.Header, path: res.Request.URL.Path, doc: doc}, nil
}

// decideCase opens a case's page and chooses an exit that needs no field.
func (v *visitor) decideCase(t testing.TB, caseID, exit string) page {
	t.Helper()
	seen := v.get(t, "/cases/"+caseID)
	return v.send(t, seen, "decision-form", url.Values{"exit": {exit}, "reason": {"Checked."}})
}
