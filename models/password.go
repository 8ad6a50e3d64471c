package models

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"github.com/trustelem/zxcvbn/frequency"
	"golang.org/x/text/unicode/norm"
)

// The length of a password, in characters of its normal form.
const (
	MinPassword = 12
	MaxPassword = 128 // so that hashing stays bounded
)

// NormalPassword is the form in which passwords are compared, whatever keyboard or system they were typed
// with: NFKC.
func NormalPassword(password string) string { return norm.NFKC.String(password) }

// CheckPassword says in words why nobody should sign in with a password; empty when it is good enough. about
// is what anybody knows of the person: their e-mail address and name.
func CheckPassword(password string, about ...string) string {
	if !utf8.ValidString(password) {
		return "must be text"
	}
	password = NormalPassword(password)
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		return fmt.Sprintf("must have at least %d characters; four words that have nothing to do with one another make a good one", MinPassword)
	case n > MaxPassword:
		return fmt.Sprintf("must have at most %d characters", MaxPassword)
	}
	words := commonWords()
	if guesses([]rune(password), words, nil) < enoughGuesses {
		return "is too easy to guess: it is one that many people use, or made of such words, rows of keys or repetitions. Four words that have nothing to do with one another are better"
	}
	if guesses([]rune(password), words, personalWords(about)) < enoughGuesses {
		return "is too easy to guess: it is made of your name or e-mail address. Choose one that has nothing to do with you"
	}
	return ""
}

// HashPassword makes the argon2id hash kept for a password. about is what CheckPassword takes. It fails with
// VALIDATION_ERROR on /password.
func HashPassword(password string, about ...string) (string, error) {
	if wrong := CheckPassword(password, about...); wrong != "" {
		return "", Invalid(Issue{"/password", wrong})
	}
	defer giveBack()
	return argon2id.CreateHash(NormalPassword(password), argon2id.DefaultParams)
}

// ChangePassword gives a person in a session a new password, for which they must know the present one. Their
// other sessions end, and every browser they were known in is a stranger's again. It fails with
// VALIDATION_ERROR on /current or /password, RATE_LIMITED when the present one was wrong too often, and
// UNPROCESSABLE_ENTITY for a person who has none. It answers how many sessions ended.
func (s *Store) ChangePassword(ctx context.Context, id Identity, current, password string) (ended int64, err error) {
	if err := id.needOwnSession(); err != nil {
		return 0, err
	}
	if wrong := CheckPassword(password, id.User.Email, id.User.Name); wrong != "" {
		return 0, Invalid(Issue{"/password", wrong})
	}
	was, counted, err := s.knowsPassword(ctx, id, current, "/current", func(_ *Tx, user User) error {
		if user.PasswordHash == "" {
			return E(Unprocessable, "You have no password here. The operator of the desk can give you a link to set one.", map[string]any{"reason": "no_password"})
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	hash, err := HashPassword(password, id.User.Email, id.User.Name)
	if err != nil {
		return 0, err
	}
	same, err := comparePassword(ctx, password, was)
	if err != nil {
		return 0, err
	}
	if same {
		return 0, Invalid(Issue{"/password", "is the one you have"})
	}
	err = s.InTx(ctx, id.themself(), func(tx *Tx) error {
		changed, err := tx.Exec("UPDATE users SET password_hash = ? WHERE id = ? AND password_hash = ?", hash, id.User.ID, was)
		if err != nil {
			return err
		}
		if changed == 0 {
			return E(Conflict, "Your password was changed meanwhile. Sign in with the new one.", nil)
		}
		if err := tx.succeeded(counted); err != nil {
			return err
		}
		if err := tx.withdrawResets(id.User.ID); err != nil {
			return err
		}
		if ended, err = tx.endSessions(id.User.ID, id.Session.ID); err != nil {
			return err
		}
		if err := tx.auditEverywhere(id, "person.password_changed", map[string]any{"user": id.User.Email, "sessions_ended": ended}); err != nil {
			return err
		}
		return tx.tellEverywhere(id, NoticePasswordChanged, map[string]any{"by": id.User.Name})
	})
	return ended, err
}

// knowsPassword asks a person in a session for their present password once more, counting wrong ones as
// sign-ins are counted. may refuses who is not asked for one. It answers the hash the password fits, and what
// is to be given to succeeded; it fails with VALIDATION_ERROR on path, and RATE_LIMITED.
func (s *Store) knowsPassword(ctx context.Context, id Identity, password, path string, may func(*Tx, User) error) (hash string, counted []signInLimit, err error) {
	counted = []signInLimit{{Subject: "password:" + id.User.ID, Kind: limitPassword, Email: id.User.Email}}
	var reached []signInLimit
	err = s.InTx(ctx, id.themself(), func(tx *Tx) error {
		user, err := tx.User(id.User.ID)
		if err != nil {
			return err
		}
		if err := may(tx, user); err != nil {
			return err
		}
		hash = user.PasswordHash
		reached, err = tx.count(counted)
		return err
	})
	if err != nil {
		return "", nil, err
	}
	match, err := comparePassword(ctx, password, hash)
	if ctx.Err() != nil {
		return "", nil, ctx.Err()
	}
	if err == nil && match {
		return hash, counted, nil
	}
	err = s.InTx(ctx, id.themself(), func(tx *Tx) error {
		if err := tx.auditEverywhere(id, "person.confirmation_failed", map[string]any{"how": FactorPassword}); err != nil {
			return err
		}
		return tx.locked(id, reached)
	})
	if err == nil {
		err = Invalid(Issue{path, "is not right"})
	}
	return "", nil, err
}

// UserByEmail finds a user; ErrNoRow when there is none.
func (s *Store) UserByEmail(ctx context.Context, email string) (u User, err error) {
	err = s.View(ctx, Principal{}, func(tx *Tx) error {
		u, err = tx.UserByEmail(email)
		return err
	})
	return u, err
}

// How hard a password is to guess is estimated as zxcvbn does it: whoever guesses knows the passwords that
// many people use, rows of keys, sequences, repetitions, years, and what stands in an e-mail address; what is
// none of these costs a factor of ten for each character. Only the list of passwords is taken from a library:
// its own estimate builds tables of ninety thousand words whenever a program starts, 6 MB of memory for something
// done once in a while.

// enoughGuesses is the logarithm (base 10) of how many guesses a password must withstand. Whoever guesses at
// the sign-in form has a few dozen a day; this is for who holds a copy of the hashes.
const enoughGuesses = 8.0

// germanWords stand beside the library's list, which is English.
var germanWords = strings.Fields(`passwort kennwort geheim hallo willkommen sommer winter herbst fruehling frühling januar februar märz april juni juli
	august september oktober november dezember montag dienstag mittwoch donnerstag freitag samstag sonntag schatz liebe ichliebedich schalke bayern
	dortmund borussia muenchen münchen berlin hamburg koeln köln frankfurt deutschland firma buchhaltung rechnung finanzen apdesk desk`)

// keyRows are what fingers follow, forwards and backwards.
var keyRows = []string{"1234567890", "qwertyuiop", "qwertzuiop", "asdfghjkl", "yxcvbnm", "zxcvbnm", "azertyuiop", "abcdefghijklmnopqrstuvwxyz", "1qaz2wsx3edc4rfv5tgb6zhn7ujm",
	"1qaz2wsx3edc4rfv5tgb6yhn7ujm", "1q2w3e4r5t6z7u8i9o0p", "1q2w3e4r5t6y7u8i9o0p", "qayxswedcvfr"}

var unleet = strings.NewReplacer("4", "a", "@", "a", "3", "e", "1", "i", "!", "i", "0", "o", "5", "s", "$", "s", "7", "t")

// longestPiece bounds what is looked up as one word, in characters.
const longestPiece = 64

// commonWords are what passwords are commonly made of, each with the logarithm of how many guesses it costs.
// The list is gone through once a check, since keeping it would take megabytes for something done rarely.
func commonWords() map[string]float64 {
	list := frequency.FrequencyLists["passwords"]
	words := make(map[string]float64, len(list)+len(germanWords))
	for rank, word := range list {
		if len(word) >= 3 {
			words[word] = math.Log10(float64(rank + 2))
		}
	}
	for _, word := range germanWords {
		words[word] = 2
	}
	return words
}

// personalWords are what anybody would try first for one person.
func personalWords(about []string) map[string]float64 {
	words := map[string]float64{}
	for _, text := range about {
		text = strings.ToLower(norm.NFKC.String(text))
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if utf8.RuneCountInString(word) >= 3 {
				words[word] = 0.3
			}
		}
		words[text] = 0
	}
	return words
}

// guesses is the logarithm of how many guesses a password withstands: of all ways to cut it into pieces the
// one that costs least.
func guesses(password []rune, words, personal map[string]float64) float64 {
	lower := []rune(strings.ToLower(string(password)))
	if len(lower) != len(password) { // a letter that becomes two
		password = lower
	}
	plain := []rune(unleet.Replace(string(lower)))
	least := make([]float64, len(password)+1)
	for end := 1; end <= len(password); end++ {
		least[end] = least[end-1] + 1 // a character that is part of nothing
		for start := range end {
			if cost, ok := pieceCost(password[start:end], lower[start:end], plain[start:end], words, personal); ok {
				// Where a piece begins is unknown too.
				least[end] = min(least[end], least[start]+cost+math.Log10(2))
			}
		}
	}
	return least[len(password)]
}

// pieceCost is what a piece of a password costs as a whole; ok is false when it is nothing known.
func pieceCost(raw, lower, plain []rune, words, personal map[string]float64) (cost float64, ok bool) {
	best, n := math.Inf(1), len(lower)
	if n >= 3 && n <= longestPiece {
		for _, list := range []map[string]float64{words, personal} {
			if c, ok := list[string(lower)]; ok {
				best = min(best, c)
			}
			if c, ok := list[string(plain)]; ok {
				best = min(best, c+math.Log10(2))
			}
		}
	}
	if !math.IsInf(best, 1) && !slices.Equal(raw, lower) { // capitals
		best += math.Log10(2)
	}
	if n >= 3 && n <= longestPiece && row(string(lower)) {
		best = min(best, math.Log10(float64(20*n)))
	}
	if n >= 3 { // one thing over and over
		for size := 1; size <= n/2; size++ {
			if n%size == 0 && repeats(lower, size) {
				unit := float64(size)
				if c, ok := words[string(lower[:size])]; ok {
					unit = min(unit, c)
				}
				best = min(best, unit+math.Log10(float64(n/size)))
				break
			}
		}
	}
	if n == 4 && (lower[0] == '1' && lower[1] == '9' || lower[0] == '2' && lower[1] == '0') && unicode.IsDigit(lower[2]) && unicode.IsDigit(lower[3]) { // a year
		best = min(best, math.Log10(120))
	}
	return best, !math.IsInf(best, 1)
}

// row says whether a piece follows a row of keys or the alphabet.
func row(piece string) bool {
	for _, r := range keyRows {
		if strings.Contains(r, piece) || strings.Contains(backwards(r), piece) {
			return true
		}
	}
	return false
}

func backwards(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

func repeats(piece []rune, size int) bool {
	for i := size; i < len(piece); i++ {
		if piece[i] != piece[i-size] {
			return false
		}
	}
	return true
}
