package confirm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
)

const (
	maxQuestions = 10
	maxQuestion  = 256 << 10 // bytes of all requests together
	maxURL       = 2000      // characters
)

// The modes of an elicitation.
const (
	ModeForm = "form"
	ModeURL  = "url"
)

// Question is one elicitation request of a foreign server. Its texts are foreign.
type Question struct {
	Key     string
	Mode    string
	Message string
	Form    *Form  // in form mode
	URL     string // in url mode
	Host    string // of URL
}

// ReadQuestions reads input_requests: one object of key to elicitation/create request, in the order
// they stand there. Either all are forms, or there is one that asks to open an address. base is the
// JSON Pointer of the object in the caller's request.
func ReadQuestions(raw json.RawMessage, base string) ([]Question, []models.Issue) {
	var r reader
	switch trimmed := bytes.TrimSpace(raw); {
	case len(trimmed) == 0 || string(trimmed) == "null":
		r.add(base, "is required: the server's input requests, as an object")
		return nil, r.issues
	case len(trimmed) > maxQuestion:
		r.add(base, "must have at most %d bytes", maxQuestion)
		return nil, r.issues
	case trimmed[0] != '{':
		r.add(base, "must be an object: the server's input requests by key")
		return nil, r.issues
	}
	if issues := approvals.CheckArguments(raw, base); len(issues) > 0 {
		return nil, issues
	}
	list, ok := members(raw)
	switch {
	case !ok:
		r.add(base, "must be an object: the server's input requests by key")
	case len(list) == 0:
		r.add(base, "must have at least one request")
	case len(list) > maxQuestions:
		r.add(base, "must have at most %d requests", maxQuestions)
		list = nil
	}
	var questions []Question
	for _, m := range list {
		questions = append(questions, r.question(at(base, m.name), m))
	}
	if len(questions) > 1 {
		taken := map[string]bool{}
		for i, q := range questions {
			here := at(base, q.Key)
			if q.Mode == ModeURL {
				r.add(here, "asks to open an address, which must be the only request")
			}
			if q.Form == nil {
				continue
			}
			for j := range q.Form.Fields {
				f := &questions[i].Form.Fields[j]
				f.FormName = q.Key + "." + f.Name
				if taken[f.FormName] {
					r.add(at(here+"/params/requestedSchema/properties", f.Name), "cannot be told from a field of another request: both are %s", clip(f.FormName, maxName))
				}
				taken[f.FormName] = true
			}
		}
	}
	if len(r.issues) > 0 {
		return nil, r.issues
	}
	return questions, nil
}

func (r *reader) question(path string, m member) Question {
	q := Question{Key: m.name, Mode: ModeForm}
	if m.name == "" || utf8.RuneCountInString(m.name) > maxName {
		r.add(path, "must have a key of 1 to %d characters", maxName)
	}
	request := r.object(path, m.value, "an input request", "method", "params")
	if request == nil {
		return q
	}
	if request["method"] == nil {
		r.add(at(path, "method"), "is required: elicitation/create")
		return q
	}
	if method := r.text(at(path, "method"), request["method"], maxTitle); method != "elicitation/create" {
		r.add(at(path, "method"), "must be elicitation/create: the desk asks people, and cannot answer %q", clip(method, maxName))
		return q
	}
	path = at(path, "params")
	if request["params"] == nil {
		r.add(path, "is required: message and requestedSchema, or message and url")
		return q
	}
	loose, ok := members(request["params"])
	if !ok {
		r.add(path, "must be an object")
		return q
	}
	for _, p := range loose {
		if p.name == "mode" {
			q.Mode = r.text(at(path, "mode"), p.value, maxTitle)
		}
	}
	switch q.Mode {
	case ModeForm:
		params := r.object(path, request["params"], "a form request", "_meta", "mode", "message", "requestedSchema")
		q.Message = r.message(path, params)
		q.Form = r.form(at(path, "requestedSchema"), params["requestedSchema"])
	case ModeURL:
		params := r.object(path, request["params"], "a url request", "_meta", "mode", "message", "url", "elicitationId")
		q.Message = r.message(path, params)
		r.text(at(path, "elicitationId"), params["elicitationId"], maxTitle)
		q.URL = r.text(at(path, "url"), params["url"], maxURL)
		var problem string
		if q.Host, problem = safeURL(q.URL); problem != "" {
			r.add(at(path, "url"), "%s", problem)
		}
	default:
		r.add(at(path, "mode"), "must be form or url")
	}
	return q
}

func (r *reader) message(path string, params map[string]json.RawMessage) string {
	path = at(path, "message")
	text := r.text(path, params["message"], maxMessage)
	if params["message"] == nil || (kindOf(params["message"]) == '"' && text == "" && string(params["message"]) == `""`) {
		r.add(path, "is required: the server's question in words")
	}
	return text
}

// safeURL says which host an address leads to, or why nobody is asked to open it.
func safeURL(raw string) (host, problem string) {
	u, host, problem := webAddress(raw)
	if problem == "" && u.Scheme != "https" && !loopback(u.Hostname()) {
		return "", "must be an https address"
	}
	return host, problem
}

// webAddress reads an http or https address that says plainly where it leads.
func webAddress(raw string) (u *url.URL, host, problem string) {
	if raw == "" {
		return nil, "", "is required"
	}
	if strings.ContainsFunc(raw, notInURI) {
		return nil, "", "must be an address of plain characters; write others percent-encoded, and a host in its xn-- form"
	}
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.Opaque != "" {
		return nil, "", "must be a full http or https address"
	}
	if u.User != nil {
		return nil, "", "must not carry a user name or password"
	}
	if strings.Contains(u.Host, "%") {
		return nil, "", "must name its host plainly"
	}
	return u, strings.ToLower(u.Host), ""
}

func loopback(host string) bool {
	if host = strings.ToLower(host); host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// serverAddress is a server's address in the one form in which addresses are compared, and its origin.
func serverAddress(raw string) (address, origin, problem string) {
	if utf8.RuneCountInString(raw) > maxURL {
		return "", "", fmt.Sprintf("must have at most %d characters", maxURL)
	}
	u, host, problem := webAddress(raw)
	if problem != "" {
		return "", "", problem
	}
	if u.Fragment != "" || strings.HasSuffix(raw, "#") {
		return "", "", "must not carry a fragment"
	}
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	host = strings.TrimSuffix(host, ":")
	origin = u.Scheme + "://" + host
	address = origin
	if path := u.EscapedPath(); path != "/" {
		address += path
	}
	if u.RawQuery != "" {
		address += "?" + u.RawQuery
	}
	return address, origin, ""
}
