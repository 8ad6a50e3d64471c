package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/mcpcall"
)

// correctID proposes another id for one that was not found: the nearest one the
// ERP names, else what a scanner usually means by letters among digits. It
// answers "" when there is nothing better to try.
func correctID(id string, tried []string, err *mcpcall.NamedError) string {
	var d struct {
		NearIDs []string `json:"near_ids"`
	}
	_ = json.Unmarshal(err.Details, &d)
	for _, near := range d.NearIDs {
		if !slices.Contains(tried, near) {
			return near
		}
	}
	if read := unscan(id); read != id && !slices.Contains(tried, read) {
		return read
	}
	return ""
}

// correctSupplier takes a near supplier only if it bears the name on the
// invoice: a supplier is who is paid, and near is not good enough for that.
func correctSupplier(id, name string, tried []string, err *mcpcall.NamedError) string {
	var d struct {
		Near []struct {
			SupplierID string `json:"supplier_id"`
			Name       string `json:"name"`
		} `json:"near"`
	}
	_ = json.Unmarshal(err.Details, &d)
	for _, near := range d.Near {
		if strings.EqualFold(near.Name, name) && !slices.Contains(tried, near.SupplierID) {
			return near.SupplierID
		}
	}
	if read := unscan(id); read != id && !slices.Contains(tried, read) {
		return read
	}
	return ""
}

var scanned = strings.NewReplacer("O", "0", "o", "0", "I", "1", "l", "1", "S", "5", "B", "8")

// unscan reads letters that look like digits as digits, in the part of the id
// behind its prefix.
func unscan(id string) string {
	if prefix, rest, ok := strings.Cut(id, "-"); ok {
		return prefix + "-" + scanned.Replace(rest)
	}
	return scanned.Replace(id)
}
