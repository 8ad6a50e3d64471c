package mcpserver

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/auth"
	"github.com/apdesk/apdesk/web/problem"
)

// hostList is the names this endpoint answers to: loopback and the configured public ones. A browser
// lured to a foreign name that resolves here, or a page of a foreign origin, is refused.
type hostList map[string]bool

func newHostList(urls ...string) hostList {
	list := hostList{}
	for _, raw := range urls {
		if u, err := url.Parse(raw); err == nil && u.Hostname() != "" {
			list[strings.ToLower(u.Hostname())] = true
		}
	}
	return list
}

// has takes a host with or without port.
func (l hostList) has(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" || l[name] {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// hasOrigin takes the value of an Origin header.
func (l hostList) hasOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return false
	}
	return l.has(u.Host)
}

// checkHosts refuses foreign names and foreign origins.
func (h *handler) checkHosts(r *http.Request) *refusal {
	if !h.hosts.has(r.Host) {
		return &refusal{status: http.StatusForbidden, code: codeInvalidRequest, message: "Forbidden: this endpoint does not answer to the host named in the request"}
	}
	for _, origin := range r.Header.Values("Origin") {
		if !h.hosts.hasOrigin(origin) {
			return &refusal{status: http.StatusForbidden, code: codeInvalidRequest, message: "Forbidden: requests from this origin are not accepted"}
		}
	}
	return nil
}

// bearer is the token of the Authorization header, "" when there is not exactly one.
func bearer(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	return auth.BearerSecret(values[0])
}

// identify finds whose token the request carries.
func (h *handler) identify(w http.ResponseWriter, r *http.Request, requestID string) (models.Identity, *refusal) {
	id, err := h.cfg.Identify(r.Context(), bearer(r))
	if err == nil {
		return id, nil
	}
	ne, status, unexpected := problem.Of(err, requestID)
	if unexpected {
		problem.Log(r.Context(), h.logger, ne, requestID, err)
	}
	switch ne.Code {
	case models.Unauthenticated:
		w.Header().Set("WWW-Authenticate", h.challenge(r, ne))
		return id, &refusal{status: http.StatusUnauthorized, code: codeInvalidRequest,
			message: "Unauthorized: send a valid token in the header Authorization: Bearer <token>"}
	case models.Unavailable:
		w.Header().Set("Retry-After", strconv.Itoa(problem.Wait(ne)))
	}
	return id, &refusal{status: status, code: codeInternal, message: ne.Message, data: ne}
}

// challenge tells a client where to find out how to get a token. With an issuer it also names the scopes to
// ask for, and what was wrong with the token sent.
func (h *handler) challenge(r *http.Request, ne *models.NamedError) string {
	challenge := `Bearer resource_metadata="` + h.metadataURL + `"`
	if len(h.cfg.AuthorizationServers) == 0 {
		return challenge
	}
	challenge += `, scope="` + joinScopes(h.cfg.OAuthScopes) + `"`
	if bearer(r) != "" {
		challenge += `, error="invalid_token", error_description="` + ne.Message + `"`
	}
	return challenge
}

func joinScopes(scopes []models.Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, " ")
}

// defaultWorkspaces are the workspaces named by header and query. One the caller cannot reach refuses
// the call, whatever the call's own argument says.
func defaultWorkspaces(r *http.Request, id models.Identity) (header, query string, refused *refusal) {
	headers, queries := r.Header.Values(auth.WorkspaceHeader), r.URL.Query()[auth.WorkspaceQuery]
	for _, named := range slices.Concat(headers, queries) {
		if named == "" {
			continue
		}
		if _, err := id.As(named, models.ChannelMCP, ""); err != nil {
			ne, _, _ := problem.Of(err, "")
			return "", "", &refusal{status: http.StatusForbidden, code: codeInvalidRequest, message: ne.Message, data: ne}
		}
	}
	return r.Header.Get(auth.WorkspaceHeader), r.URL.Query().Get(auth.WorkspaceQuery), nil
}

// metadata is the RFC 9728 description of this endpoint. It names authorization servers only when an
// issuer is configured; without one, tokens are made at the desk.
func (h *handler) metadata(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*") // public by design; browsers' clients read it
	switch r.Method {
	case http.MethodOptions:
		w.Header().Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodGet, http.MethodHead:
	default:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		(&refusal{status: http.StatusMethodNotAllowed, code: codeInvalidRequest, message: "Method Not Allowed"}).write(w)
		return
	}
	scopes := models.Scopes()
	if len(h.cfg.AuthorizationServers) > 0 {
		scopes = h.cfg.OAuthScopes // others would be asked for in vain
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	_, _ = w.Write(encode(struct {
		Resource             string         `json:"resource"`
		AuthorizationServers []string       `json:"authorization_servers,omitempty"`
		ScopesSupported      []models.Scope `json:"scopes_supported"`
		BearerMethods        []string       `json:"bearer_methods_supported"`
		ResourceName         string         `json:"resource_name"`
		Documentation        string         `json:"resource_documentation,omitempty"`
	}{h.cfg.MCPURL, h.cfg.AuthorizationServers, scopes, []string{"header"}, "apdesk", h.cfg.PublicURL})) // the client is gone when this fails
}
