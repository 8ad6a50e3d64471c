// Package oauth accepts access tokens of one configured issuer beside the desk's own personal tokens. The
// desk is a resource server: it signs nobody in, stores no token and passes none on. A token is a JWT
// signed with one of the issuer's published keys, meant for this desk, within its time, for a user the
// desk knows; what it may do is the scopes configured here, narrowed by those the token carries.
//
// The issuer is discovered with go-oidc. Its key set asks the issuer again for every token with a key it
// does not know, as often as anybody sends one, and its verifier allows a fixed five minutes before a
// token is valid and none after; so the keys are kept here, and the rules are applied here, on signatures
// that go-jose checks.
package oauth
