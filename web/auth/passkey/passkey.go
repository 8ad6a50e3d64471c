// Package passkey asks browsers for passkeys (WebAuthn) and checks what they answer: when one is added, as
// the second factor of a sign-in, and when a person confirms that it is them. What must be remembered
// between asking and answering lies in the database, so any replica may be asked and any answered.
package passkey

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/apdesk/apdesk/models"
)

// maxAnswer is the longest answer of a browser looked at, in bytes.
const maxAnswer = 64 << 10

// Site is where passkeys are good: browsers use one only at the address it was made for.
type Site struct {
	ID     string // the host people use
	Origin string
}

// localhost is the one name for which browsers do passkeys without TLS.
const localhost = "localhost"

// SiteOf finds where passkeys are good: at the public address, when that has a name and TLS or is
// localhost; else, while the desk has no public name, at localhost if that is where the request came to
// (host, with its port). ok is false where browsers do no passkeys: at a bare IP address, or over plain http.
func SiteOf(publicURL, host string) (site Site, ok bool) {
	u, err := url.Parse(publicURL)
	if err != nil {
		return Site{}, false
	}
	name := strings.ToLower(u.Hostname())
	if name != "" && net.ParseIP(name) == nil && (u.Scheme == "https" || name == localhost) {
		return Site{ID: name, Origin: strings.ToLower(u.Scheme + "://" + u.Host)}, true
	}
	if u.Scheme == "https" || (name != "" && !isLoopback(name)) {
		return Site{}, false
	}
	host = strings.ToLower(host)
	if at, _, err := net.SplitHostPort(host); (err == nil && at == localhost) || host == localhost {
		return Site{ID: localhost, Origin: "http://" + host}, true
	}
	return Site{}, false
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Keys makes and checks passkeys. Make it with New.
type Keys struct{ store *models.Store }

// New needs the store in which passkeys and challenges are kept.
func New(store *models.Store) *Keys { return &Keys{store: store} }

// person is a user as the library wants one.
type person struct {
	user models.User
	keys []webauthn.Credential
}

func (p person) WebAuthnID() []byte                         { return []byte(p.user.ID) }
func (p person) WebAuthnName() string                       { return p.user.Email }
func (p person) WebAuthnDisplayName() string                { return p.user.Name }
func (p person) WebAuthnCredentials() []webauthn.Credential { return p.keys }

func personOf(user models.User, keys []models.Passkey) (person, error) {
	p := person{user: user}
	for _, k := range keys {
		var c webauthn.Credential
		if err := json.Unmarshal([]byte(k.Credential), &c); err != nil {
			return p, err
		}
		p.keys = append(p.keys, c)
	}
	return p, nil
}

func (s Site) party() (*webauthn.WebAuthn, error) {
	return webauthn.New(&webauthn.Config{RPID: s.ID, RPDisplayName: "apdesk", RPOrigins: []string{s.Origin}, AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{ResidentKey: protocol.ResidentKeyRequirementPreferred, UserVerification: protocol.VerificationPreferred},
		// Password managers add outputs nobody asked for; none of them is looked at.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore})
}

// offer begins a ceremony: what the browser is asked, as JSON.
func (s Site) offer(begin func(*webauthn.WebAuthn, person) (any, *webauthn.SessionData, error), out *[]byte) models.MakeChallenge {
	return func(user models.User, keys []models.Passkey) (string, string, error) {
		party, err := s.party()
		if err != nil {
			return "", "", err
		}
		p, err := personOf(user, keys)
		if err != nil {
			return "", "", err
		}
		asked, session, err := begin(party, p)
		if err != nil {
			return "", "", err
		}
		if *out, err = json.Marshal(asked); err != nil {
			return "", "", err
		}
		data, err := json.Marshal(session)
		return session.Challenge, string(data), err
	}
}

func beginUse(party *webauthn.WebAuthn, p person) (any, *webauthn.SessionData, error) {
	return party.BeginLogin(p)
}

func beginNew(party *webauthn.WebAuthn, p person) (any, *webauthn.SessionData, error) {
	known := make([]protocol.CredentialDescriptor, len(p.keys))
	for i := range p.keys {
		known[i] = p.keys[i].Descriptor()
	}
	return party.BeginRegistration(p, webauthn.WithExclusions(known))
}

// AskNew is what a browser is asked to add a passkey, as JSON. It fails as models.Store.RegisterPasskey.
func (k *Keys) AskNew(ctx context.Context, site Site, id models.Identity) (options []byte, err error) {
	err = k.store.NewPasskeyChallenge(ctx, id, models.PasskeyRegister, site.offer(beginNew, &options))
	return options, err
}

// AskConfirm is what a browser is asked to confirm that it is the person, as JSON.
func (k *Keys) AskConfirm(ctx context.Context, site Site, id models.Identity) (options []byte, err error) {
	err = k.store.NewPasskeyChallenge(ctx, id, models.PasskeyConfirm, site.offer(beginUse, &options))
	return options, err
}

// AskSignIn is what a browser is asked after the password, as JSON; half is the secret of the sign-in.
func (k *Keys) AskSignIn(ctx context.Context, site Site, half string) (options []byte, err error) {
	err = k.store.NewSignInChallenge(ctx, half, site.offer(beginUse, &options))
	return options, err
}

// unreadable is the refusal of an answer that no browser gives.
func unreadable() error {
	return models.Invalid(models.Issue{Path: "/passkey", Message: "could not be read; try again"})
}

// Add keeps the passkey of a browser's answer. It fails as models.Store.RegisterPasskey.
func (k *Keys) Add(ctx context.Context, site Site, id models.Identity, name, answer string) (codes []string, err error) {
	if len(answer) > maxAnswer {
		return nil, unreadable()
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(answer))
	if err != nil {
		return nil, unreadable()
	}
	check := func(user models.User, keys []models.Passkey, data string) (models.Passkey, string) {
		party, p, session, err := site.resume(user, keys, data)
		if err != nil {
			return models.Passkey{}, why(err)
		}
		c, err := party.CreateCredential(p, session, parsed)
		if err != nil {
			return models.Passkey{}, why(err)
		}
		key, err := keep(models.Passkey{CredentialID: base64.RawURLEncoding.EncodeToString(c.ID)}, c)
		if err != nil {
			return models.Passkey{}, why(err)
		}
		return key, ""
	}
	return k.store.RegisterPasskey(ctx, id, parsed.Response.CollectedClientData.Challenge, name, check)
}

// Confirm marks the session as freshly confirmed. It fails as models.Store.ConfirmByPasskey.
func (k *Keys) Confirm(ctx context.Context, site Site, id models.Identity, answer string) (models.Identity, error) {
	parsed, err := parseUse(answer)
	if err != nil {
		return id, err
	}
	return k.store.ConfirmByPasskey(ctx, id, parsed.Response.CollectedClientData.Challenge, site.checkUse(parsed))
}

// SignIn opens the session of a sign-in that waited for a passkey; half is its secret. It fails as
// models.Store.FinishSignIn.
func (k *Keys) SignIn(ctx context.Context, site Site, half, answer string) (secret string, id models.Identity, err error) {
	parsed, err := parseUse(answer)
	if err != nil {
		return "", models.Identity{}, err
	}
	return k.store.FinishSignIn(ctx, half, parsed.Response.CollectedClientData.Challenge, site.checkUse(parsed))
}

func parseUse(answer string) (*protocol.ParsedCredentialAssertionData, error) {
	if len(answer) > maxAnswer {
		return nil, unreadable()
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer))
	if err != nil {
		return nil, unreadable()
	}
	return parsed, nil
}

func (s Site) resume(user models.User, keys []models.Passkey, data string) (*webauthn.WebAuthn, person, webauthn.SessionData, error) {
	var session webauthn.SessionData
	party, err := s.party()
	if err != nil {
		return nil, person{}, session, err
	}
	p, err := personOf(user, keys)
	if err != nil {
		return nil, p, session, err
	}
	return party, p, session, json.Unmarshal([]byte(data), &session)
}

// Why an answer of a passkey does not count, as the trail says it.
const (
	RefusedCounter = "its counter went back, so there may be a copy of it"
	refusedOther   = "the answer is not good"
)

func (s Site) checkUse(parsed *protocol.ParsedCredentialAssertionData) models.CheckPasskey {
	return func(user models.User, keys []models.Passkey, data string) (used models.Passkey, refused string) {
		party, p, session, err := s.resume(user, keys, data)
		if err != nil {
			return used, why(err)
		}
		id := base64.RawURLEncoding.EncodeToString(parsed.RawID)
		for _, k := range keys {
			if k.CredentialID == id {
				used = k
			}
		}
		c, err := party.ValidateLogin(p, session, parsed)
		if err != nil {
			return used, why(err)
		}
		if c.Authenticator.CloneWarning {
			return used, RefusedCounter
		}
		if used, err = keep(used, c); err != nil {
			return used, why(err)
		}
		return used, ""
	}
}

// keep puts what is to be remembered of a credential into the row.
func keep(key models.Passkey, c *webauthn.Credential) (models.Passkey, error) {
	// What a device says about its maker is not asked for, and not kept where one says it all the same.
	c.Attestation = webauthn.CredentialAttestation{}
	text, err := json.Marshal(c)
	key.Credential = string(text)
	return key, err
}

// why is the cause of a refusal in the library's words, which hold no secret.
func why(err error) string {
	var perr *protocol.Error
	if errors.As(err, &perr) && perr.Details != "" {
		return perr.Details
	}
	return refusedOther
}
