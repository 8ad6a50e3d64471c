// Package proxy finds out who is at the other end of a request that came through proxies. What the
// headers say about that is believed only from proxies named as trusted; anybody can send them.
package proxy

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// The headers of a trusted proxy. The header Forwarded (RFC 7239) is not read: a proxy that sets one kind
// passes the other on as the client sent it, so only one kind can be believed.
const (
	headerFor   = "X-Forwarded-For"
	headerProto = "X-Forwarded-Proto"
	headerHost  = "X-Forwarded-Host"
)

// maxHops is how many addresses of a chain are looked at.
const maxHops = 32

// Trust is the proxies whose headers are believed. The zero value trusts nobody.
type Trust struct{ ranges []netip.Prefix }

// Parse reads addresses and ranges in CIDR notation, also several with commas between them.
func Parse(list ...string) (Trust, error) {
	var t Trust
	for _, item := range strings.Split(strings.Join(list, ","), ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			addr, addrErr := netip.ParseAddr(item)
			if addrErr != nil || addr.Zone() != "" {
				return Trust{}, fmt.Errorf("%q is neither an address nor a range such as 10.0.0.0/24", item)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		if prefix.Addr().Is4In6() {
			if prefix.Bits() < 96 {
				return Trust{}, fmt.Errorf("%q mixes IPv4 and IPv6", item)
			}
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
		}
		t.ranges = append(t.ranges, prefix.Masked())
	}
	return t, nil
}

// The widest ranges that can still be one's own network: 10.0.0.0/8, and what one site is given of IPv6.
const (
	widest4 = 8
	widest6 = 32
)

// TooWide is a range in which not only proxies can be, so that anybody could send the headers.
func (t Trust) TooWide() (netip.Prefix, bool) {
	for _, r := range t.ranges {
		if r.Addr().Is4() && r.Bits() < widest4 || r.Addr().Is6() && r.Bits() < widest6 {
			return r, true
		}
	}
	return netip.Prefix{}, false
}

// Nobody says whether no proxy is trusted.
func (t Trust) Nobody() bool { return len(t.ranges) == 0 }

// String lists the ranges.
func (t Trust) String() string {
	names := make([]string, len(t.ranges))
	for i, r := range t.ranges {
		names[i] = r.String()
	}
	return strings.Join(names, ", ")
}

func (t Trust) has(a netip.Addr) bool {
	return slices.ContainsFunc(t.ranges, func(r netip.Prefix) bool { return r.Contains(a) })
}

// Client is who sent a request, as far as that can be believed.
type Client struct {
	Address string // IP address, without port; "" when the connection has none
	Proto   string // http or https, as a trusted proxy says; "" when none says so
	Host    string // the name the client asked for, in lower case, as a trusted proxy says; else ""
}

// of finds the client behind a connection: going from the nearest hop outwards, the first address that is
// no trusted proxy's. Whatever stands left of it was only claimed. values are the header's lines in the
// order in which they came.
func (t Trust) of(peer netip.Addr, values func(name string) []string) Client {
	peer = plain(peer)
	if !peer.IsValid() {
		return Client{}
	}
	if !t.has(peer) {
		return Client{Address: peer.String()}
	}
	client := peer
	chain := strings.Join(values(headerFor), ",")
	for range maxHops {
		if chain == "" {
			break
		}
		last := strings.LastIndexByte(chain, ',')
		hop, ok := parseHop(chain[last+1:])
		if !ok {
			break // nobody can say who sent it on: the proxy seen last is as far as one can see
		}
		client = hop
		if !t.has(hop) {
			break
		}
		chain = chain[:max(last, 0)]
	}
	return Client{Address: client.String(), Proto: proto(rightmost(values(headerProto))), Host: host(rightmost(values(headerHost)))}
}

func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// parseHop reads an address of a chain; some proxies write its port too.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if a, err := netip.ParseAddr(text); err == nil {
		return plain(a), true
	}
	if a, err := netip.ParseAddrPort(text); err == nil {
		return plain(a.Addr()), true
	}
	if inner, found := strings.CutPrefix(text, "["); found {
		if a, err := netip.ParseAddr(strings.TrimSuffix(inner, "]")); err == nil {
			return plain(a), true
		}
	}
	return netip.Addr{}, false
}

// rightmost is what the nearest proxy wrote.
func rightmost(values []string) string {
	if len(values) == 0 {
		return ""
	}
	last := values[len(values)-1]
	return strings.ToLower(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]))
}

func proto(text string) string {
	if text == "http" || text == "https" {
		return text
	}
	return ""
}

const maxHost = 255

func host(text string) string {
	if len(text) > maxHost || strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_:[]", r)
	}) {
		return ""
	}
	return text
}

func peerOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr()
	}
	if a == nil {
		return netip.Addr{}
	}
	parsed, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return parsed.Addr()
}

type key struct{}

// Handler finds the client of each request of the pages and of REST, for Of.
func (t Trust) Handler(c *fiber.Ctx) error {
	if !t.Nobody() {
		c.Locals(key{}, t.of(peerOf(c.Context().RemoteAddr()), func(name string) []string {
			var values []string
			for _, v := range c.Request().Header.PeekAll(name) {
				values = append(values, string(v))
			}
			return values
		}))
	}
	return c.Next()
}

// Of is the client of a request of the pages or of REST; without Handler before it, or before it ran,
// whoever holds the connection.
func Of(c *fiber.Ctx) Client {
	if client, ok := c.Locals(key{}).(Client); ok {
		return client
	}
	return Trust{}.of(peerOf(c.Context().RemoteAddr()), nil)
}

// HostOf is the name the client asked for, in lower case.
func HostOf(c *fiber.Ctx) string {
	if client := Of(c); client.Host != "" {
		return client.Host
	}
	return strings.ToLower(string(c.Context().Host()))
}

// Behind lets next see the client of each request instead of the proxy: as its RemoteAddr and Host, and
// with From.
func (t Trust) Behind(next http.Handler) http.Handler {
	if t.Nobody() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			next.ServeHTTP(w, r)
			return
		}
		client := t.of(peer.Addr(), r.Header.Values)
		r = r.WithContext(context.WithValue(r.Context(), key{}, client))
		if client.Address != plain(peer.Addr()).String() {
			r.RemoteAddr = net.JoinHostPort(client.Address, "0") // its port is not known
		}
		if client.Host != "" {
			r.Host = client.Host
		}
		next.ServeHTTP(w, r)
	})
}

// From is what Behind found out; empty without it.
func From(ctx context.Context) Client {
	client, _ := ctx.Value(key{}).(Client)
	return client
}
