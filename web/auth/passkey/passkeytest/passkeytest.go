// Package passkeytest is a security key in software, for tests: it answers what a desk asks a browser as a
// device would, without a browser.
package passkeytest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// Device is one security key. Its Counter grows with every signature; a test sets it back to look like a
// copy of the device.
type Device struct {
	Counter uint32

	id     []byte
	key    *ecdsa.PrivateKey
	handle []byte
}

type options struct {
	PublicKey struct {
		Challenge string `json:"challenge"`
		RPID      string `json:"rpId"`
		RP        struct {
			ID string `json:"id"`
		} `json:"rp"`
		User struct {
			ID string `json:"id"`
		} `json:"user"`
	} `json:"publicKey"`
}

// New makes a device with a new key.
func New(t testing.TB) *Device {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	d := &Device{id: make([]byte, 16), key: key}
	if _, err := rand.Read(d.id); err != nil {
		t.Fatal(err)
	}
	return d
}

func read(t testing.TB, asked []byte) options {
	t.Helper()
	var o options
	if err := json.Unmarshal(asked, &o); err != nil || o.PublicKey.Challenge == "" {
		t.Fatalf("no challenge in %s: %v", asked, err)
	}
	return o
}

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (d *Device) clientData(t testing.TB, kind, challenge, origin string) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": false})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// data is what a device signs: for whom, how, and how often it has.
func (d *Device) data(site string, flags byte) []byte {
	sum := sha256.Sum256([]byte(site))
	d.Counter++
	return binary.BigEndian.AppendUint32(append(sum[:], flags), d.Counter)
}

const (
	present  = 0x01
	verified = 0x04
	attested = 0x40
)

// Add answers what AskNew asked at origin.
func (d *Device) Add(t testing.TB, asked []byte, origin string) string {
	t.Helper()
	o := read(t, asked)
	handle, err := base64.RawURLEncoding.DecodeString(o.PublicKey.User.ID)
	if err != nil {
		t.Fatal(err)
	}
	d.handle = handle
	point, err := d.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	public, err := cbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
	if err != nil {
		t.Fatal(err)
	}
	data := d.data(o.PublicKey.RP.ID, present|verified|attested)
	data = append(data, make([]byte, 16)...) // no maker
	data = binary.BigEndian.AppendUint16(data, uint16(len(d.id)))
	data = append(append(data, d.id...), public...)
	object, err := cbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": data})
	if err != nil {
		t.Fatal(err)
	}
	return d.answer(t, map[string]any{"clientDataJSON": text(d.clientData(t, "webauthn.create", o.PublicKey.Challenge, origin)), "attestationObject": text(object),
		"transports": []string{"usb"}})
}

// Use answers what AskConfirm or AskSignIn asked at origin.
func (d *Device) Use(t testing.TB, asked []byte, origin string) string {
	t.Helper()
	o := read(t, asked)
	client := d.clientData(t, "webauthn.get", o.PublicKey.Challenge, origin)
	data := d.data(o.PublicKey.RPID, present|verified)
	hash := sha256.Sum256(client)
	sum := sha256.Sum256(bytes.Join([][]byte{data, hash[:]}, nil))
	signature, err := ecdsa.SignASN1(rand.Reader, d.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return d.answer(t, map[string]any{"clientDataJSON": text(client), "authenticatorData": text(data), "signature": text(signature), "userHandle": text(d.handle)})
}

func (d *Device) answer(t testing.TB, response map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"id": text(d.id), "rawId": text(d.id), "type": "public-key", "authenticatorAttachment": "cross-platform",
		"clientExtensionResults": map[string]any{}, "response": response})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
