package models_test

import (
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
)

func TestAPasswordMustNotBeEasyToGuess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ password, want string }{
		{"correct horse battery staple", ""},
		{"another horse of mine", ""},
		{"xk7ggqpz0wnd", ""},
		{"Nebel auf dem Kanal", ""},
		{"brücke-ofen-tinte", ""},
		{"eleven chars"[:11], "at least 12 characters"},
		{"äöüäöüäöüäö", "at least 12 characters"}, // eleven characters, 22 bytes
		{strings.Repeat("a1B.", 33), "at most 128 characters"},
		{"password1234", "many people use"},
		{"Password2026!", "many people use"},
		{"P@ssw0rd2026", "many people use"},
		{"passwordpassword", "many people use"},
		{"123456789012", "many people use"},
		{"qwertzuiop12", "many people use"},
		{"1qaz2wsx3edc", "many people use"},
		{"aaaaaaaaaaaaaaaaaaaa", "many people use"},
		{"abcabcabcabcabc", "many people use"},
		{"Sommer2026!!", "many people use"},
		{"Passwort123!", "many people use"},
		{"iloveyou1234", "many people use"},
		{"dragonmonkey", "many people use"},
		{"anna.klein@example.com", "your name"},
		{"Anna-Klein-2026", "your name"},
		{"kleinkleinanna", "your name"},
		{"\xff\xfe not text at all", "must be text"},
	} {
		got := models.CheckPassword(c.password, "anna.klein@example.com", "Anna Klein")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q is answered %q, want %q", c.password, got, c.want)
		}
		if c.want != "" && strings.Contains(got, c.password) {
			t.Errorf("the answer repeats the password: %q", got)
		}
	}
}

func TestHowAPasswordIsTypedMakesNoDifference(t *testing.T) {
	t.Parallel()
	// "ü" in one character or two, and letters of full width.
	if models.NormalPassword("bru\u0308cke ofen tinte") != models.NormalPassword("br\u00fccke ofen tinte") || models.NormalPassword("ｏｆｅｎ") != "ofen" {
		t.Error("the same text has two forms")
	}
	if got := models.CheckPassword("u\u0308u\u0308u\u0308u\u0308u\u0308u\u0308"); !strings.Contains(got, "12 characters") {
		t.Errorf("six characters are answered %q", got)
	}
}
