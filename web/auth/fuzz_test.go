package auth

import (
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// FuzzCookies: no cookie that the desk did not sign makes a browser known, and none signs anybody in.
func FuzzCookies(f *testing.F) {
	store, clock := modelstest.SQLite(f)
	a, err := New(store, testKey, "https://desk.example.com")
	if err != nil {
		f.Fatal(err)
	}
	const id = "abcdefghijklmnopqrst"
	genuine := id + ".usr_1:e:" + "1:" + a.signDevice(id, "usr_1", "e", "1")
	f.Add(genuine, "x")
	f.Add(id+".usr_1:e:1:", strings.Repeat("a", 43))
	f.Add(id+"..:::.::::", "")
	f.Add(strings.ReplaceAll(genuine, "usr_1", "usr_2"), "a; b=c")
	app := fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true})
	at := clock.Advance(time.Hour)
	f.Fuzz(func(t *testing.T, device, session string) {
		c := app.AcquireCtx(&fasthttp.RequestCtx{})
		defer app.ReleaseCtx(c)
		c.Request().Header.SetCookie("__Host-apdesk_device", device)
		c.Request().Header.SetCookie("__Host-apdesk_session", session)
		_, claims := a.readDevice(c)
		for _, claim := range claims {
			if claim.user != "usr_1" || claim.epoch != "e" || claim.at.After(at) {
				t.Errorf("%q is known as %+v", device, claim)
			}
		}
		if _, err := a.Session(c); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("%q signs in: %v", session, err)
		}
	})
}

// FuzzBearerSecret: a credential is one of what was sent, without blanks around it.
func FuzzBearerSecret(f *testing.F) {
	f.Add("Bearer apd_x")
	f.Add("bearer  apd_x ")
	f.Add("Basic eDp5")
	f.Add("Bearer")
	f.Fuzz(func(t *testing.T, header string) {
		secret := BearerSecret(header)
		if !strings.Contains(header, secret) || secret != strings.TrimSpace(secret) {
			t.Errorf("%q carries %q", header, secret)
		}
		if secret != "" && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(header)), "bearer ") {
			t.Errorf("%q carries %q", header, secret)
		}
	})
}
