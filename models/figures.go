package models

import (
	"slices"
	"time"
)

// MostCounted bounds how many records of each kind the figures of a period count, so that no period costs what
// the history is long.
const MostCounted = 100_000

// Median is the middle one of many lengths of time, the shorter of two in the middle; 0 of none.
func Median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)-1)/2]
}
