package models

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// timeLayout is RFC 3339 in UTC with a fixed number of digits, so that text order is time order.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Time is a moment in UTC, exact to the microsecond, kept alike in both databases.
type Time struct{ time.Time }

// At converts t, dropping what is below a microsecond.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Microsecond)} }

// Add is the moment d later.
func (t Time) Add(d time.Duration) Time { return Time{t.Time.Add(d)} }

// Value writes the fixed-width form; the zero time is NULL.
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	return t.UTC().Format(timeLayout), nil
}

// Scan reads what Value wrote, or a database's own timestamp.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t = Time{}
	case time.Time:
		*t = At(v)
	case string:
		p, err := time.Parse(time.RFC3339Nano, v)
		if err != nil {
			return err
		}
		*t = At(p)
	case []byte:
		return t.Scan(string(v))
	default:
		return fmt.Errorf("models: cannot read a time from %T", src)
	}
	return nil
}

// String is RFC 3339 in UTC without needless digits, as the wire shows it.
func (t Time) String() string { return t.UTC().Format(time.RFC3339Nano) }

// MarshalJSON writes null for the zero time.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(t.String())
}

// GormDataType keeps GORM from treating the wrapper as an embedded struct.
func (Time) GormDataType() string { return "time" }

// Date is a plain calendar date, the same in every time zone. The zero value is no date.
type Date struct{ text string }

// ParseDate reads a real calendar date in the form 2006-01-02.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return Date{}, fmt.Errorf("must be a calendar date such as 2026-10-05")
	}
	return Date{t.Format(time.DateOnly)}, nil
}

// DateOf is the calendar date of a moment in a zone.
func DateOf(t Time, zone *time.Location) Date { return Date{t.In(zone).Format(time.DateOnly)} }

// IsZero says whether there is no date.
func (d Date) IsZero() bool { return d.text == "" }

// String is the date as 2006-01-02.
func (d Date) String() string { return d.text }

// After says whether d is later than other.
func (d Date) After(other Date) bool { return d.text > other.text }

// AddDays is the date n days later.
func (d Date) AddDays(n int) Date {
	t := d.utc()
	if t.IsZero() {
		return d
	}
	return Date{t.AddDate(0, 0, n).Format(time.DateOnly)}
}

// StartIn is the moment the date begins in a zone, also where its midnight is skipped. No date begins
// never.
func (d Date) StartIn(zone *time.Location) Time {
	if d.IsZero() {
		return Time{}
	}
	return WallClock(d, 0, zone)
}

// utc is the date's midnight in UTC, to count with.
func (d Date) utc() time.Time {
	t, err := time.Parse(time.DateOnly, d.text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Value writes the date; no date is NULL.
func (d Date) Value() (driver.Value, error) {
	if d.IsZero() {
		return nil, nil
	}
	return d.text, nil
}

// Scan reads a date.
func (d *Date) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*d = Date{}
	case time.Time:
		*d = Date{v.Format(time.DateOnly)}
	case string:
		if len(v) > 10 {
			v = v[:10]
		}
		p, err := ParseDate(v)
		if err != nil {
			return err
		}
		*d = p
	case []byte:
		return d.Scan(string(v))
	default:
		return fmt.Errorf("models: cannot read a date from %T", src)
	}
	return nil
}

// MarshalJSON writes null for no date.
func (d Date) MarshalJSON() ([]byte, error) {
	if d.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(d.text)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Date) UnmarshalJSON(b []byte) error {
	var s *string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s == nil || *s == "" {
		*d = Date{}
		return nil
	}
	p, err := ParseDate(*s)
	if err != nil {
		return err
	}
	*d = p
	return nil
}

// GormDataType keeps GORM from treating the wrapper as an embedded struct.
func (Date) GormDataType() string { return "date" }
