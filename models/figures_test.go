package models_test

import (
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all  []time.Duration
		want time.Duration
	}{{nil, 0}, {[]time.Duration{5}, 5}, {[]time.Duration{9, 1}, 1}, {[]time.Duration{9, 1, 5}, 5}, {[]time.Duration{4, 3, 2, 1}, 2}} {
		if got := models.Median(c.all); got != c.want {
			t.Errorf("of %v: %v", c.all, got)
		}
	}
}
