package confirm

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/apdesk/apdesk/models"
)

// secretField names the first field that asks for a secret: a password, key, token, PIN, one-time code
// or the numbers of a card or bank account. A form must never ask for one (MCP 2026-07-28), and nobody
// at the desk is to type one. Only fields are judged into which a secret could be typed; a yes or no
// about a password is none. what is the tell-tale word.
func secretField(questions []Question) (key, field, what string, found bool) {
	for _, q := range questions {
		if q.Form == nil {
			continue
		}
		asked := asksFor(q.Message)
		if asked == "" {
			asked = asksFor(q.Form.Title)
		}
		if asked == "" {
			asked = asksFor(q.Form.Description)
		}
		for _, f := range q.Form.Fields {
			if !f.takesSecrets() {
				continue
			}
			for _, word := range []string{namesSecret(f.Name, f.Kind), namesSecret(f.Title, f.Kind), describesSecret(f.Description), asked} {
				if word != "" {
					return q.Key, f.Name, word, true
				}
			}
		}
	}
	return "", "", "", false
}

// refuseSecrets is UNPROCESSABLE_ENTITY for a form that asks for a secret.
func refuseSecrets(questions []Question) error {
	key, field, what, found := secretField(questions)
	if !found {
		return nil
	}
	return models.E(models.Unprocessable, "This form asks for a secret ("+what+"). Passwords, keys, tokens, PINs, codes and card or bank numbers are never asked for in a form. "+
		"The server must use url mode for them.", map[string]any{"reason": "asks_for_secret", "key": key, "field": field})
}

// plainSecrets are words that name a secret wherever they stand.
var plainSecrets = words(`password passwords passwd pwd passphrase passphrases passcode passcodes passwort passworter kennwort kennworter losungswort
	contrasena contrasenas senha geheimzahl geheimnummer zugangsdaten zugangscode
	secret secrets credential credentials apikey apikeys privatekey secretkey accesskey accesstoken authtoken bearertoken refreshtoken jwt
	pin pins pincode cvv cvv2 cvc cvc2 otp totp mtan itan pushtan chiptan phototan kartenprufnummer
	cardnumber creditcard debitcard kreditkarte kreditkartennummer kartennummer iban ibans bankverbindung
	mnemonic seedphrase`)

// insideWords are long enough to name a secret also as part of a longer word, such as newpassword2.
var insideWords = words(`password passwort passphrase passcode kennwort apikey privatekey secretkey accesskey accesstoken authtoken bearertoken refreshtoken
	cardnumber creditcard debitcard kreditkart clientsecret zugangsdaten`)

// secretPhrases are words that name a secret only side by side.
var secretPhrases = phrases(`api key,api keys,secret key,secret keys,private key,private keys,access key,access keys,encryption key,decryption key,signing key,
	ssh key,pgp key,gpg key,hmac key,master key,auth key,authentication key,authorization key,shared key,webhook key,license key,licence key,recovery key,
	access token,auth token,bearer token,refresh token,session token,api token,id token,session cookie,
	security code,verification code,one time code,onetime code,one time password,access code,login code,authentication code,sms code,backup code,recovery code,
	unlock code,reset code,security answer,secret answer,mother s maiden name,mothers maiden name,seed phrase,recovery phrase,
	card number,card no,card details,card data,card expiry,card expiration,card code,card security,card verification,credit card,debit card,payment card,
	bank account number,bank details,account details of the bank,mot de passe,code secret,code pin,clave de acceso,mobile tan,sms tan`)

// aloneSecrets name a secret only when they are all that a label says.
var aloneSecrets = words(`key keys token tokens bearer card tan pan schlussel jeton clave`)

// harmlessAfter are words after which the word before is only what is spoken about.
var harmlessAfter = words(`policy policies expiry expires expiration expired age lifetime validity rotation rotated reset resets type types kind name names label
	figure figures count limit limits budget usage used cost costs owner holder holders status state reason reasons length strength last required reference
	request requests ticket version date scope scopes manager brand statement statements expense expenses fee fees programme program provider issuer`)

// harmlessIDs are what an id may follow: the id of a token is not the token.
var harmlessIDs = words(`token tokens key keys card cards`)

// harmlessBefore are words before token, pin or code that make it something else.
var harmlessBefore = words(`max maximum min minimum total remaining prompt completion input output used postal post zip public`)

// aloneFillers may stand around a word of aloneSecrets.
var aloneFillers = words(`the a an your my please enter provide paste new current old here in value field`)

// asking are words that ask for what follows them.
var asking = words(`enter type provide paste supply input insert give send share submit fill write put tell reveal disclose authenticate eingeben gib geben`)

// notAskedFor are words between an asking one and the secret that make something else the thing asked
// for.
var notAskedFor = words(`reason why because whether that how when comment note notes explanation ticket date about for if after before once amount name`)

// negations turn a request into a warning.
var negations = words(`not never no without dont don cannot nicht nie niemals kein keine keinen`)

// possessive are words that make a description start with the thing it describes.
var possessive = words(`the a an your my its their this current new old existing valid full your personal account user users admin administrator portal supplier bank system corporate company der die das ihr ihre`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

func phrases(list string) [][]string {
	var all [][]string
	for _, p := range strings.Split(list, ",") {
		all = append(all, strings.Fields(p))
	}
	return all
}

// lookalikes are letters of other scripts that read as Latin ones.
var lookalikes = map[rune]rune{'а': 'a', 'с': 'c', 'е': 'e', 'о': 'o', 'р': 'p', 'х': 'x', 'у': 'y', 'і': 'i', 'ѕ': 's', 'ј': 'j', 'ԁ': 'd', 'һ': 'h', 'к': 'k', 'т': 't', 'м': 'm', 'в': 'b', 'н': 'h',
	'ο': 'o', 'α': 'a', 'ρ': 'p', 'ν': 'v', 'ι': 'i', 'κ': 'k', 'τ': 't', 'ϲ': 'c', 'ı': 'i'}

// tokens splits a text, or a name such as apiKey or api_key, into lower-case words without accents.
// Letters set apart one by one are put together again.
func tokens(text string) []string {
	var list []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			list = append(list, string(word))
			word = word[:0]
		}
	}
	var before, beforeThat rune
	for _, r := range norm.NFKD.String(text) {
		if unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r) {
			continue
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '@' && r != '$' {
			flush()
			beforeThat, before = 0, 0
			continue
		}
		// A new word starts at a capital after a small letter, and at the last capital of several.
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			flush()
		} else if unicode.IsLower(r) && unicode.IsUpper(before) && unicode.IsUpper(beforeThat) && len(word) > 1 {
			last := word[len(word)-1]
			word = word[:len(word)-1]
			flush()
			word = append(word, last)
		}
		beforeThat, before = before, r
		r = unicode.ToLower(r)
		if latin, ok := lookalikes[r]; ok {
			r = latin
		}
		word = append(word, r)
	}
	flush()
	return joinSingles(list)
}

// joinSingles puts single letters in a row together: P.I.N. is pin.
func joinSingles(list []string) []string {
	var out []string
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && len([]rune(list[j])) == 1 {
			j++
		}
		if j-i >= 3 {
			out = append(out, strings.Join(list[i:j], ""))
			i = j
			continue
		}
		out = append(out, list[i])
		i++
	}
	return out
}

// leet are digits and signs written for letters.
var leet = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s")

// span is where a secret is named: words from..to of a text.
type span struct {
	from, to int
	what     string
}

// secretsIn finds what names a secret and is not only spoken about.
func secretsIn(list []string) []span {
	var found []span
	for i, w := range list {
		s := span{from: i, to: i + 1}
		switch {
		case plainSecrets[w] || plainSecrets[leet.Replace(w)]:
			s.what = w
		case containsSecret(w) || containsSecret(leet.Replace(w)):
			s.what = w
		default:
			for _, p := range secretPhrases {
				if len(p) > 1 && i+len(p) <= len(list) && slices.Equal(p, list[i:i+len(p)]) && i+len(p) > s.to {
					s.to, s.what = i+len(p), strings.Join(p, " ")
				}
			}
		}
		if s.what != "" && !harmless(list, s) {
			found = append(found, s)
		}
	}
	return found
}

func containsSecret(word string) bool {
	for w := range insideWords {
		if strings.Contains(word, w) {
			return true
		}
	}
	return false
}

func harmless(list []string, s span) bool {
	if s.to < len(list) {
		next := list[s.to]
		last := list[s.to-1]
		if harmlessAfter[next] || ((next == "id" || next == "ids") && harmlessIDs[last]) {
			return true
		}
	}
	return s.from > 0 && harmlessBefore[list[s.from-1]]
}

// namesSecret says which secret a name or title stands for; empty for none.
func namesSecret(label string, kind Kind) string {
	list := tokens(label)
	if found := secretsIn(list); len(found) > 0 {
		return found[0].what
	}
	// "Key" alone is a key to something; "posting key" is a word of accounting.
	rest := slices.DeleteFunc(slices.Clone(list), func(w string) bool { return aloneFillers[w] })
	if len(rest) == 1 && aloneSecrets[rest[0]] {
		return rest[0]
	}
	// Whatever token it is: the text of one is a credential, the number of some is a quantity.
	if n := len(list); kind == KindText && n > 1 && list[n-1] == "token" && !harmlessBefore[list[n-2]] {
		return list[n-2] + " token"
	}
	return ""
}

// describesSecret says which secret a description asks for, or is of.
func describesSecret(description string) string {
	for _, sentence := range sentences(description) {
		list := tokens(sentence)
		for _, s := range secretsIn(list) {
			if !slices.ContainsFunc(list[:s.from], func(w string) bool { return !possessive[w] }) {
				return s.what
			}
		}
	}
	return asksFor(description)
}

// asksFor says which secret a text asks its reader for; empty when it only speaks of one.
func asksFor(text string) string {
	for _, sentence := range sentences(text) {
		list := tokens(sentence)
		for _, s := range secretsIn(list) {
			if slices.ContainsFunc(list[:s.from], func(w string) bool { return negations[w] }) {
				continue
			}
			for i := s.from - 1; i >= 0 && s.from-i <= 7 && !notAskedFor[list[i]]; i-- {
				if asking[list[i]] {
					return s.what
				}
			}
			before := list[max(0, s.from-3):s.from]
			if slices.Contains(before, "your") && strings.HasSuffix(strings.TrimSpace(sentence), "?") {
				return s.what
			}
			if i := slices.Index(list[:s.from], "confirm"); i >= 0 && slices.Contains(before, "your") {
				return s.what
			}
		}
	}
	return ""
}

// sentences splits a text at its stops, which it keeps.
func sentences(text string) []string {
	var list []string
	start := 0
	for i, r := range text {
		if strings.ContainsRune("!?;\n", r) || (r == '.' && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n')) {
			list = append(list, text[start:i+1])
			start = i + 1
		}
	}
	return append(list, text[start:])
}
