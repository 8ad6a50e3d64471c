package erp

import (
	"encoding/json"
	"testing"
)

func TestTheOfficeCarriesOutWhatPeopleState(t *testing.T) {
	tests := []struct {
		name, given string
		check       func(s *state) bool
	}{
		{"a reopened order is open", `{"case_id":"c","invoice":{"id":"5105600102","po_id":"4500018802"},"resolution":{"exit":"reopen_po","input":{}}}`,
			func(s *state) bool { return !s.Orders["4500018802"].Closed }},
		{"a rejected invoice is rejected", `{"case_id":"c","invoice":{"id":"5105600102"},"resolution":{"exit":"reject_invoice","input":null}}`,
			func(s *state) bool { return s.Invoices["5105600102"].Status == Rejected }},
		{"a posted invoice stays posted", `{"case_id":"c","invoice":{"id":"5105600099"},"resolution":{"exit":"reject_invoice"}}`,
			func(s *state) bool { return s.Invoices["5105600099"].Status == Posted }},
		{"a verdict on a pair is remembered", `{"case_id":"c","invoice":{"id":"5105600105"},"handovers":[{"errors":[{"error":{"code":"DUPLICATE_INVOICE","details":{"duplicate_of":"5105600088"}}}]}],"resolution":{"exit":"not_duplicate"}}`,
			func(s *state) bool { return s.NotDuplicates["5105600088|5105600105"] }},
		{"a linked supplier is on the invoice", `{"case_id":"c","invoice":{"id":"5205600204"},"resolution":{"exit":"link_supplier","input":{"supplier_id":"V-3003"}}}`,
			func(s *state) bool { return s.Invoices["5205600204"].SupplierID == "V-3003" }},
		{"a created supplier exists", `{"case_id":"c","invoice":{"id":"5205600203","supplier_name":"Sakura Denki Holdings"},"resolution":{"exit":"supplier_created","input":{"supplier_id":"V-3091"}}}`,
			func(s *state) bool { return s.Suppliers["V-3091"].Name == "Sakura Denki Holdings" }},
		{"a confirmed receipt is there", `{"case_id":"c","invoice":{"id":"5205600206","po_id":"4600027706"},"resolution":{"exit":"receipt_confirmed"}}`,
			func(s *state) bool { return s.Orders["4600027706"].Lines[0].Received == "25" }},
		{"another company's case changes nothing", `{"case_id":"c","invoice":{"id":"5105600102"},"resolution":{"exit":"two_way_match"}}`,
			func(s *state) bool { return s.Invoices["5105600102"].Matching == "two_way" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			var c decidedCase
			if err := json.Unmarshal([]byte(tt.given), &c); err != nil {
				t.Fatal(err)
			}
			workspace := "1000"
			if c.Invoice.ID[:2] == "52" {
				workspace = "2000"
			}
			foreign := tt.name[:7] == "another"
			if foreign {
				workspace = "2000"
			}
			f.books.view(func(s *state) {
				carryOut(s, workspace, c)
				if tt.check(s) == foreign {
					t.Error("not so")
				}
			})
		})
	}
}
