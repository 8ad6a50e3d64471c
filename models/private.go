package models

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// privateNames are names of values that are tax or bank data; in lower case, letters only.
var privateNames = []string{"taxid", "taxnumber", "vatid", "vatnumber", "bankaccount", "bankaccounts", "accountnumber", "iban", "bic", "swift", "sortcode",
	"routingnumber", "bank", "bankdata", "bankdetails", "bankname", "bankkey", "bankcode"}

// IsPrivateName says whether a member of an object, or a column of a table, holds tax or bank data by
// its name. Such data is for master data, finance leads and auditors (design: words, people, tokens).
func IsPrivateName(name string) bool {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
	if slices.Contains(privateNames, plain) {
		return true
	}
	// old_iban, supplier_tax_id, bank_account_on_invoice
	for _, p := range []string{"taxid", "vatid", "bankaccount", "iban"} {
		if strings.HasPrefix(plain, p) || strings.HasSuffix(plain, p) {
			return true
		}
	}
	return false
}

// approvalID is an approval id inside other text.
var approvalID = regexp.MustCompile(`\b` + PrefixApproval + `_[0-9a-z]{30,}`)

// MaskIDs masks every approval id in a text, also in JSON: whoever reads one could use it.
func MaskIDs(text string) string {
	if !strings.Contains(text, PrefixApproval+"_") {
		return text
	}
	return approvalID.ReplaceAllStringFunc(text, MaskID)
}
