package models

import (
	"slices"
	"time"
)

// Median is the middle one of many lengths of time, the shorter of two in the middle; 0 of none.
func Median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)-1)/2]
}
