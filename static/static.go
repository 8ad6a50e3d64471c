// Package static holds the style sheet, the script and the icon, and gives each
// an address that changes with its content, so that a browser may keep it for
// ever. It knows no HTTP: web serves what File returns.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Prefix is where the assets live on the server.
const Prefix = "/static/"

//go:embed css/*.css js/*.js favicon.svg
var sources embed.FS

// bundles says which sources make up an asset, in their order.
var bundles = map[string][]string{
	"css/app.css": {"css/tokens.css", "css/base.css", "css/layout.css", "css/components.css", "css/print.css"},
	"js/app.js":   {"js/app.js"},
	"favicon.svg": {"favicon.svg"},
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

var assets, byPath = build()

func build() (map[string]built, map[string]string) {
	all, names := map[string]built{}, map[string]string{}
	for name, parts := range bundles {
		var body bytes.Buffer
		for _, part := range parts {
			b, err := sources.ReadFile(part)
			if err != nil {
				panic(fmt.Sprintf("static: %s is named but not embedded: %v", part, err))
			}
			body.Write(squeezed(part, b))
		}
		if path.Ext(name) == ".css" {
			body = *bytes.NewBuffer(shortTokens(body.Bytes()))
		}
		sum := sha256.Sum256(body.Bytes())
		hash := hex.EncodeToString(sum[:8])
		ext := path.Ext(name)
		hashed := strings.TrimSuffix(name, ext) + "." + hash + ext
		all[name] = built{
			Asset: Asset{Body: body.Bytes(), Type: types[ext], ETag: `"` + hash + `"`},
			url:   Prefix + hashed,
		}
		names[hashed] = name
	}
	return all, names
}

// comments are those of the style sheet, and lines of the script that are nothing else.
var (
	styleComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	lineComment  = regexp.MustCompile(`(?m)^[ \t]*//.*$`)
	around       = regexp.MustCompile(`\s*([{};,])\s*`)
	afterName    = regexp.MustCompile(`([;{][a-z-]+): `)
	tokenUsed    = regexp.MustCompile(`var\((--[a-z0-9-]+)`)
	token        = regexp.MustCompile(`--[a-z][a-z0-9-]*([):])`)
	indent       = regexp.MustCompile(`(?m)^[ \t]+|[ \t]+$`)
	emptyLines   = regexp.MustCompile(`\n{2,}`)
)

// squeezed leaves out of style and script what only people read: comments and indentation. No text in
// them goes over several lines, so nothing else is touched.
func squeezed(name string, source []byte) []byte {
	switch path.Ext(name) {
	case ".css":
		source = styleComment.ReplaceAll(source, nil)
	case ".js":
		source = lineComment.ReplaceAll(source, nil)
	default:
		return source
	}
	source = emptyLines.ReplaceAll(indent.ReplaceAll(source, nil), []byte("\n"))
	if path.Ext(name) == ".css" {
		source = around.ReplaceAll(source, []byte("$1"))
		source = afterName.ReplaceAll(source, []byte("$1:"))
		source = bytes.ReplaceAll(source, []byte(";}"), []byte("}"))
	}
	return source
}

// shortTokens gives the custom properties of a style sheet short names: they stand in it more than a
// thousand times, and nothing outside it knows them.
func shortTokens(css []byte) []byte {
	const digits = "abcdefghijklmnopqrstuvwxyz"
	short := map[string]string{}
	for _, used := range tokenUsed.FindAllSubmatch(css, -1) {
		name := string(used[1])
		if _, ok := short[name]; !ok {
			n := len(short)
			short[name] = "--" + string(digits[n/len(digits)%len(digits)]) + string(digits[n%len(digits)])
		}
	}
	return token.ReplaceAllFunc(css, func(found []byte) []byte {
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
	a, ok := assets[name]
	if !ok {
		panic("static: no asset " + name)
	}
	return a.url
}

// File finds an asset by its path below Prefix, with the hash or without. Only
// the path with the current hash gives an immutable asset.
func File(name string) (Asset, bool) {
	if plain, ok := byPath[name]; ok {
		a := assets[plain].Asset
		a.Immutable = true
		return a, true
	}
	if m := hashedName.FindStringSubmatch(name); m != nil {
		// A page of another release, while both run side by side.
		name = m[1] + m[2]
	}
	a, ok := assets[name]
	return a.Asset, ok
}

var hashedName = regexp.MustCompile(`^([a-z/]+)\.[0-9a-f]{16}(\.[a-z]+)$`)
