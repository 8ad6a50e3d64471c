package proxy

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func trust(t testing.TB, list ...string) Trust {
	t.Helper()
	trusted, err := Parse(list...)
	if err != nil {
		t.Fatal(err)
	}
	return trusted
}

func TestOnlyATrustedProxyIsBelieved(t *testing.T) {
	t.Parallel()
	trusted := trust(t, "10.0.0.0/24, 192.0.2.1", "2001:db8:1::/48")
	for _, tc := range []struct {
		name, peer             string
		chain                  []string
		proto, host            string
		address, scheme, named string
	}{
		{"a stranger's headers are ignored", "203.0.113.9", []string{"198.51.100.1"}, "https", "desk.example.com", "203.0.113.9", "", ""},
		{"the nearest proxy says for whom it asks", "10.0.0.7", []string{"198.51.100.1"}, "https", "Desk.example.com", "198.51.100.1", "https", "desk.example.com"},
		{"what the client claimed itself stands left and is ignored", "10.0.0.7", []string{"127.0.0.1, 1.2.3.4, 198.51.100.1"}, "", "", "198.51.100.1", "", ""},
		{"also in a line of its own", "10.0.0.7", []string{"127.0.0.1", "198.51.100.1"}, "", "", "198.51.100.1", "", ""},
		{"a chain of trusted proxies is followed", "10.0.0.7", []string{"9.9.9.9, 198.51.100.1, 192.0.2.1 , 10.0.0.8"}, "", "", "198.51.100.1", "", ""},
		{"a proxy nobody trusts is the client", "10.0.0.7", []string{"198.51.100.1, 192.0.2.77, 10.0.0.8"}, "", "", "192.0.2.77", "", ""},
		{"with only trusted addresses the outermost is the client", "10.0.0.7", []string{"10.0.0.9, 10.0.0.8"}, "", "", "10.0.0.9", "", ""},
		{"what is no address ends the chain", "10.0.0.7", []string{"198.51.100.1, unknown, 10.0.0.8"}, "", "", "10.0.0.8", "", ""},
		{"an empty hop does too", "10.0.0.7", []string{"198.51.100.1,, 10.0.0.8"}, "", "", "10.0.0.8", "", ""},
		{"without a chain the proxy is the client", "10.0.0.7", nil, "", "", "10.0.0.7", "", ""},
		{"a port is left out", "10.0.0.7", []string{"198.51.100.1:4711"}, "", "", "198.51.100.1", "", ""},
		{"IPv6 with a port too", "2001:db8:1::5", []string{"[2001:db8:9::1]:443"}, "", "", "2001:db8:9::1", "", ""},
		{"and in brackets alone", "2001:db8:1::5", []string{"[2001:db8:9::1]"}, "", "", "2001:db8:9::1", "", ""},
		{"IPv4 written as IPv6 is the same address", "::ffff:10.0.0.7", []string{"::ffff:198.51.100.1"}, "", "", "198.51.100.1", "", ""},
		{"of several protocols the nearest proxy's counts", "10.0.0.7", nil, "https, http", "", "10.0.0.7", "http", ""},
		{"another protocol is none", "10.0.0.7", nil, "javascript", "", "10.0.0.7", "", ""},
		{"of several hosts the nearest proxy's counts", "10.0.0.7", nil, "", "evil.example, desk.example.com:8443", "10.0.0.7", "", "desk.example.com:8443"},
		{"a host that is none is ignored", "10.0.0.7", nil, "", "desk.example.com/\"><script>", "10.0.0.7", "", ""},
		{"a line in a value ends nowhere", "10.0.0.7", []string{"198.51.100.1\r\nSet-Cookie: a=b"}, "https\r\nX: y", "a\r\nb", "10.0.0.7", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			headers := http.Header{headerFor: tc.chain}
			if tc.proto != "" {
				headers.Set(headerProto, tc.proto)
			}
			if tc.host != "" {
				headers.Set(headerHost, tc.host)
			}
			got := trusted.of(netip.MustParseAddr(tc.peer), headers.Values)
			if got != (Client{Address: tc.address, Proto: tc.scheme, Host: tc.named}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestParse_refuses_what_is_no_range(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"proxy.example.com", "10.0.0.0/33", "10.0.0", "fe80::1%eth0", "::ffff:0:0/80"} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if nobody := trust(t, "", " , "); !nobody.Nobody() {
		t.Errorf("nothing is %s", nobody)
	}
	if got := trust(t, "10.1.2.3/8, ::ffff:192.0.2.1, 2001:db8::1").String(); got != "10.0.0.0/8, 192.0.2.1/32, 2001:db8::1/128" {
		t.Errorf("got %s", got)
	}
}

func TestTooWide_finds_ranges_that_hold_everybody(t *testing.T) {
	t.Parallel()
	for text, wide := range map[string]bool{"0.0.0.0/0": true, "::/0": true, "10.0.0.0/8": false, "128.0.0.0/1": true, "2001:db8::/32": false, "2000::/3": true, "192.0.2.1": false} {
		if _, got := trust(t, "192.0.2.0/24", text).TooWide(); got != wide {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestBehind_shows_the_client_to_what_follows(t *testing.T) {
	t.Parallel()
	var seen *http.Request
	h := trust(t, "10.0.0.7").Behind(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))
	ask := func(peer string) {
		r := httptest.NewRequest(http.MethodPost, "http://10.0.0.9:8081/mcp", nil)
		r.RemoteAddr = peer
		r.Header.Set(headerFor, "1.2.3.4, 198.51.100.1")
		r.Header.Set(headerHost, "desk.example.com")
		r.Header.Set(headerProto, "https")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	if ask("10.0.0.7:5000"); seen.RemoteAddr != "198.51.100.1:0" || seen.Host != "desk.example.com" || From(seen.Context()).Proto != "https" {
		t.Errorf("behind the proxy: %s %s %+v", seen.RemoteAddr, seen.Host, From(seen.Context()))
	}
	if ask("203.0.113.9:5000"); seen.RemoteAddr != "203.0.113.9:5000" || seen.Host != "10.0.0.9:8081" || From(seen.Context()).Proto != "" {
		t.Errorf("a stranger: %s %s %+v", seen.RemoteAddr, seen.Host, From(seen.Context()))
	}
}

// Whatever the headers say, the client is an address or the proxy itself, and nothing that could end a line
// of a log or of a header comes through. A prefix written by the client never changes who that is.
func FuzzOf(f *testing.F) {
	f.Add("198.51.100.1, 10.0.0.8", "https", "desk.example.com", "127.0.0.1")
	f.Add("[2001:db8::1]:443", "http,https", "a,b", "x, ,")
	f.Add("\r\n, 10.0.0.8", "", "[::1]:80", "10.0.0.8")
	trusted := trust(f, "10.0.0.0/24")
	peer := netip.MustParseAddr("10.0.0.7")
	f.Fuzz(func(t *testing.T, chain, proto, host, claimed string) {
		of := func(chain ...string) Client {
			headers := http.Header{headerFor: chain, headerProto: {proto}, headerHost: {host}}
			return trusted.of(peer, headers.Values)
		}
		got := of(chain)
		if _, err := netip.ParseAddr(got.Address); err != nil {
			t.Errorf("%q is no address", got.Address)
		}
		if strings.ContainsAny(got.Address+got.Proto+got.Host, "\r\n\x00 \"<>") {
			t.Errorf("%+v", got)
		}
		if got.Proto != "" && got.Proto != "http" && got.Proto != "https" {
			t.Errorf("protocol %q", got.Proto)
		}
		outside := of("198.51.100.77")
		if with := of(claimed, "198.51.100.77"); with != outside {
			t.Errorf("a claim of %q made %+v of %+v", claimed, with, outside)
		}
	})
}
