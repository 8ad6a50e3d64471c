package erp

import (
	"slices"
	"testing"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
)

func TestNumbersThatPeopleReadAsTheSameAreTheSame(t *testing.T) {
	for _, same := range [][2]string{{"INV-778", "inv 00778"}, {"INV-001", "inv 1"}, {"01234-0001", "1234-1"}, {"ＩＮＶ００１", "INV001"}, {"A-000", "a 0"}} {
		if normalNumber(same[0]) != normalNumber(same[1]) {
			t.Errorf("%q is %q, %q is %q", same[0], normalNumber(same[0]), same[1], normalNumber(same[1]))
		}
	}
	if normalNumber("INV-778") == normalNumber("INV-787") {
		t.Error("other numbers are other numbers")
	}
}

func TestNearIsOneLetterAway(t *testing.T) {
	known := []string{"4500018812", "4500018801", "4600027701"}
	for id, want := range map[string][]string{
		"450001812": {"4500018812"}, "45000188122": {"4500018812"}, "4500O18801": {"4500018801"}, "4500018812": {}, "4500018": {}, "": {},
	} {
		if got := nearIDs(id, known); !slices.Equal(got, want) {
			t.Errorf("near %q: %v, want %v", id, got, want)
		}
	}
}

func TestMatchIsExact(t *testing.T) {
	order := func(quantity, price, received string) data.Order {
		return data.Order{Lines: []data.OrderLine{{Line: 10, Quantity: quantity, UnitPrice: price, Received: received}}}
	}
	tests := []struct {
		name                          string
		order                         data.Order
		amount                        string
		twoWay                        bool
		expected, difference, percent string
		exceeded                      bool
	}{
		{"clean", order("50", "24.69", "50"), "1234.50", false, "1234.50", "0.00", "0.0", false},
		{"exactly at the limit", order("100", "1.00", "100"), "102.00", false, "100.00", "2.00", "2.0", false},
		{"a hair above it", order("100", "1.00", "100"), "102.01", false, "100.00", "2.01", "2.0", true},
		{"below the order counts too", order("100", "1.00", "100"), "90", false, "100.00", "-10.00", "-10.0", true},
		{"tenths are exact", order("3", "0.1", "3"), "0.3", false, "0.3", "0.0", "0.0", false},
		{"nothing received", order("3", "10", ""), "30", false, "0", "30", "", true},
		{"two-way takes the order", order("25", "5200", ""), "130000", true, "130000", "0", "0.0", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := compare(tt.order, tt.amount, tt.twoWay)
			if err != nil {
				t.Fatal(err)
			}
			if m.Expected != tt.expected || m.Difference != tt.difference || m.Percent != tt.percent || m.Exceeded != tt.exceeded {
				t.Errorf("got %+v", m)
			}
		})
	}
}
