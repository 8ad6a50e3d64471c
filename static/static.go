// Package static holds the style sheet, the script and the icon, and gives each
// an address that changes with its content, so that a browser may keep it for
// ever. It knows no HTTP: web serves what File returns.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"
)

// Prefix is where the assets live on the server.
const Prefix = "/static/"

//go:embed css/*.css js/*.js favicon.svg
var sources embed.FS

// bundles says which sources make up an asset, in their order.
var bundles = map[string][]string{
	"css/app.css": {"css/tokens.css", "css/base.css", "css/layout.css", "css/components.css", "css/print.css"},
	// What only some kinds of pages need (views.Assets), so that the pages people open most stay small.
	"css/lists.css":    {"css/lists.css"},
	"css/records.css":  {"css/records.css"},
	"css/settings.css": {"css/settings.css"},
	"js/app.js":        {"js/app.js", "js/passkey.js", "js/upload.js"},
	"favicon.svg":      {"favicon.svg"},
}

var types = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// Asset is one file as it is served. ETag is its quoted content hash.
type Asset struct {
	Body []byte
	Type string
	ETag string
	// Immutable says that the path carried the content's hash: whoever has it
	// may keep it for ever.
	Immutable bool
}

type built struct {
	Asset
	url string
}

// all are the assets by name, and names their names by the path with the hash. They are made when the
// first is asked for, so that commands without pages do not wait for them.
var all = sync.OnceValue(build)

type catalogue struct {
	assets map[string]built
	names  map[string]string
}

func build() catalogue {
	out := catalogue{assets: map[string]built{}, names: map[string]string{}}
	short := tokenNames()
	for name, parts := range bundles {
		var body bytes.Buffer
		for _, part := range parts {
			if body.Len() > 0 {
				body.WriteByte('\n') // a script without a semicolon at its end ends with the line
			}
			body.Write(squeezed(part, read(part)))
		}
		if path.Ext(name) == ".css" {
			body = *bytes.NewBuffer(shortTokens(body.Bytes(), short))
		}
		sum := sha256.Sum256(body.Bytes())
		hash := hex.EncodeToString(sum[:8])
		ext := path.Ext(name)
		hashed := strings.TrimSuffix(name, ext) + "." + hash + ext
		out.assets[name] = built{
			Asset: Asset{Body: body.Bytes(), Type: types[ext], ETag: `"` + hash + `"`},
			url:   Prefix + hashed,
		}
		out.names[hashed] = name
	}
	return out
}

var (
	tokenUsed = regexp.MustCompile(`var\((--[a-z0-9-]+)`)
	token     = regexp.MustCompile(`--[a-z][a-z0-9-]*([):])`)
)

// small leaves out of style and script what only people read.
var small = func() *minify.M {
	m := minify.New()
	m.AddFunc(".css", css.Minify)
	m.AddFunc(".js", js.Minify)
	return m
}()

func squeezed(name string, source []byte) []byte {
	out, err := small.Bytes(path.Ext(name), source)
	if errors.Is(err, minify.ErrNotExist) {
		return source
	}
	if err != nil {
		panic(fmt.Sprintf("static: %s: %v", name, err))
	}
	return out
}

// tokenNames gives the custom properties of the style sheets short names: they stand in them more than a
// thousand times, and nothing else knows them. All sheets share the names.
func tokenNames() map[string]string {
	const digits = "abcdefghijklmnopqrstuvwxyz"
	short := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(bundles)) {
		for _, part := range bundles[name] {
			if path.Ext(part) != ".css" {
				continue
			}
			for _, used := range tokenUsed.FindAllSubmatch(read(part), -1) {
				if name := string(used[1]); short[name] == "" {
					n := len(short)
					short[name] = "--" + string(digits[n/len(digits)%len(digits)]) + string(digits[n%len(digits)])
				}
			}
		}
	}
	return short
}

func read(part string) []byte {
	b, err := sources.ReadFile(part)
	if err != nil {
		panic(fmt.Sprintf("static: %s is named but not embedded: %v", part, err))
	}
	return b
}

func shortTokens(style []byte, short map[string]string) []byte {
	return token.ReplaceAllFunc(style, func(found []byte) []byte {
		end := len(found) - 1
		if s, ok := short[string(found[:end])]; ok {
			return append([]byte(s), found[end])
		}
		return found
	})
}

// URL is the address of an asset: URL("css/app.css") is
// "/static/css/app.<hash>.css". It panics for a name that does not exist,
// which only a programmer can cause.
func URL(name string) string {
	a, ok := all().assets[name]
	if !ok {
		panic("static: no asset " + name)
	}
	return a.url
}

// File finds an asset by its path below Prefix, with the hash or without. Only
// the path with the current hash gives an immutable asset.
func File(name string) (Asset, bool) {
	if plain, ok := all().names[name]; ok {
		a := all().assets[plain].Asset
		a.Immutable = true
		return a, true
	}
	if m := hashedName.FindStringSubmatch(name); m != nil {
		// A page of another release, while both run side by side.
		name = m[1] + m[2]
	}
	a, ok := all().assets[name]
	return a.Asset, ok
}

var hashedName = regexp.MustCompile(`^([a-z/]+)\.[0-9a-f]{16}(\.[a-z]+)$`)
