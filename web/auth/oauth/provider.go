package oauth

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-jose/go-jose/v4"
)

// What signing people in at a provider shares with checking its access tokens.

// CheckIssuer says what is wrong with an issuer: it must be https, or http on this machine, without a query.
func CheckIssuer(issuer string) error {
	if err := checkAddress(issuer); err != nil {
		return err
	}
	if u, err := url.Parse(issuer); err != nil || u.RawQuery != "" {
		return fmt.Errorf("%q must have no query", issuer)
	}
	return nil
}

// CheckAddresses is CheckIssuer for addresses that a provider names, which may have a query.
func CheckAddresses(addresses ...string) error {
	for _, a := range addresses {
		if err := checkAddress(a); err != nil {
			return err
		}
	}
	return nil
}

// NewClient is an HTTP client for talking to a provider: bounded in time and size, and led nowhere that is
// not https.
func NewClient() *http.Client { return newClient() }

// Algorithms are the names of the signatures accepted: asymmetric ones only.
func Algorithms() []string {
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = string(jose.SignatureAlgorithm(a))
	}
	return names
}
