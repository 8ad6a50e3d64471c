package confirm

import "testing"

func TestAFormMayNotAskForASecret(t *testing.T) {
	t.Parallel()
	text := func(name, title, description string) Field {
		return Field{Name: name, Kind: KindText, Title: title, Description: description}
	}
	for _, c := range []struct {
		field   Field
		message string
		secret  bool
	}{
		{field: text("password", "", ""), secret: true},
		{field: text("userPassword", "", ""), secret: true},
		{field: text("new_password_2", "", ""), secret: true},
		{field: text("NEWPASSWORD", "", ""), secret: true},
		{field: text("x", "Passwort", ""), secret: true},
		{field: text("x", "Mot de passe", ""), secret: true},
		{field: text("x", "Contraseña", ""), secret: true},
		{field: text("x", "Pass\u200bword", ""), secret: true},
		{field: text("x", "Рassword", ""), secret: true}, // a Cyrillic P
		{field: text("x", "p@ssw0rd", ""), secret: true},
		{field: text("x", "P a s s w o r d", ""), secret: true},
		{field: text("x", "Ｐａｓｓｗｏｒｄ", ""), secret: true},
		{field: text("pwd", "", ""), secret: true},
		{field: text("apiKey", "", ""), secret: true},
		{field: text("APIKey", "", ""), secret: true},
		{field: text("api_key", "", ""), secret: true},
		{field: text("key", "", ""), secret: true},
		{field: text("k", "Your key", ""), secret: true},
		{field: text("token", "", ""), secret: true},
		{field: text("access_token", "", ""), secret: true},
		{field: text("client-secret", "", ""), secret: true},
		{field: text("githubToken", "", ""), secret: true},
		{field: text("x", "Portal token", ""), secret: true},
		{field: text("secret_id", "", ""), secret: true},
		{field: text("credentials", "", ""), secret: true},
		{field: Field{Name: "pin", Kind: KindInteger}, secret: true},
		{field: text("x", "P.I.N.", ""), secret: true},
		{field: Field{Name: "cvv", Kind: KindNumber}, secret: true},
		{field: text("cvc2", "", ""), secret: true},
		{field: text("card_number", "", ""), secret: true},
		{field: text("creditCardNumber", "", ""), secret: true},
		{field: text("x", "Card no.", ""), secret: true},
		{field: text("x", "IBAN", ""), secret: true},
		{field: text("supplier_iban", "", ""), secret: true},
		{field: text("otp", "", ""), secret: true},
		{field: text("x", "One-time code", ""), secret: true},
		{field: text("x", "Security code", ""), secret: true},
		{field: text("value", "Value", "The API key of the bank portal."), secret: true},
		{field: text("value", "Value", "Your current password"), secret: true},
		{field: text("value", "Value", "Please enter the six digit PIN."), secret: true},
		{field: text("value", "", ""), message: "Please enter your password to continue.", secret: true},
		{field: text("value", "", ""), message: "What is your PIN?", secret: true},
		{field: text("value", "", ""), message: "Type in the supplier's portal password", secret: true},

		{field: text("approval_key_figure", "Approval key figure", "")},
		{field: text("posting_key", "Posting key", "SAP posting key, such as 31 or 40.")},
		{field: text("key_date", "Key date", "")},
		{field: text("distribution_key", "", "")},
		{field: text("keyword", "", "")},
		{field: text("key_account", "Key account manager", "")},
		{field: text("x", "Public key fingerprint", "")},
		{field: Field{Name: "max_tokens", Kind: KindInteger}},
		{field: Field{Name: "token_count", Kind: KindInteger}},
		{field: text("token_id", "", "")},
		{field: Field{Name: "cost_per_token", Kind: KindNumber}},
		{field: text("account_key", "Account key", "")},
		{field: text("x", "Kontonummer", "Sachkonto der Gegenbuchung")},
		{field: text("x", "Password policy", "")},
		{field: text("x", "Reason", "Why the password reset is needed.")},
		{field: text("x", "Reason", "Do not enter a password here.")},
		{field: text("x", "Card type", "")},
		{field: text("x", "Credit card statement", "")},
		{field: text("x", "Scorecard", "")},
		{field: text("x", "Secretary", "")},
		{field: text("x", "Shipping", "")},
		{field: text("x", "Spinning mill", "")},
		{field: text("x", "Cost centre", "")},
		{field: text("x", "Compass", "")},
		{field: text("x", "Company code", "")},
		{field: text("x", "Tax code", "")},
		{field: text("x", "Postal PIN", "")},
		{field: text("x", "Japan", "Pan-European supplier")},
		{field: Field{Name: "rotate_password", Kind: KindBoolean}},
		{field: Field{Name: "card", Kind: KindChoice}},
		{field: Field{Name: "token_expires", Kind: KindText, Format: FormatDate}},
		{field: text("reason", "Reason", ""), message: "This resets the password of the portal user M. Maier. Go on?"},
		{field: text("reason", "Reason", ""), message: "Please provide the reason why the API token was revoked."},
		{field: text("reason", "Reason", ""), message: "Never enter passwords here. Delete the supplier?"},
	} {
		q := Question{Key: "k", Mode: ModeForm, Message: c.message, Form: &Form{Fields: []Field{c.field}}}
		_, _, what, found := secretField([]Question{q})
		if found != c.secret {
			t.Errorf("%q %q %q, asked %q: secret %v (%s), want %v", c.field.Name, c.field.Title, c.field.Description, c.message, found, what, c.secret)
		}
	}
}
