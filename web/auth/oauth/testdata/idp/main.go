// Command idp is a small identity provider for the desk's tests, made of zitadel's OpenID provider: real
// discovery, keys, authorization code flow with PKCE and client credentials. It keeps everything in memory,
// prints its issuer when it is ready, and ends when its standard input does, so that it never outlives the
// test that started it.
package main

import (
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	listen := "127.0.0.1:0"
	if len(os.Args) > 1 {
		listen = os.Args[1]
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		log.Fatal(err)
	}
	issuer := "http://" + listener.Addr().String()
	store, err := newStore()
	if err != nil {
		log.Fatal(err)
	}
	var sealing [32]byte
	if _, err := rand.Read(sealing[:]); err != nil {
		log.Fatal(err)
	}
	provider, err := op.NewProvider(&op.Config{CryptoKey: sealing, CryptoKeyId: "sealing", CodeMethodS256: true, AuthMethodPost: true},
		store, op.StaticIssuer(issuer), op.WithAllowInsecure())
	if err != nil {
		log.Fatal(err)
	}

	mux := http.NewServeMux()
	mux.Handle("/", withResource(provider))
	mux.Handle("GET /login", op.NewIssuerInterceptor(provider.IssuerFromRequest).HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The form of a real provider would ask for a password here; a test names the user.
		id, user := r.FormValue("id"), r.FormValue("user")
		if user == "" {
			_, _ = io.WriteString(w, "who are you?\n")
			return
		}
		if err := store.signIn(id, user); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		http.Redirect(w, r, op.AuthCallbackURL(provider)(r.Context(), id), http.StatusFound)
	}))
	mux.HandleFunc("POST /operator/groups", func(_ http.ResponseWriter, r *http.Request) {
		store.group(r.FormValue("user"), r.Form["group"])
	})
	mux.HandleFunc("POST /operator/rotate", func(w http.ResponseWriter, _ *http.Request) {
		if err := store.rotate(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})

	server := &http.Server{Handler: mux}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	fmt.Println(issuer)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

func newKey() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) }
