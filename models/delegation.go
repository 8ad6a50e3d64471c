package models

// Delegation says that a person is away for some days and who decides in their place. Days are plain
// dates in the person's own zone: it starts with the first and ends with the midnight after the last.
type Delegation struct {
	ID            string `gorm:"primaryKey"`
	WorkspaceID   string
	FromID        string
	FromName      string
	ToID          *string // nil: away, and nobody decides in their place
	ToName        string
	DocumentType  string // empty: any
	FirstDay      Date
	LastDay       Date
	TimeZone      string // FromID's zone when it was made
	StartsAt      Time
	EndsAt        Time
	Note          string
	CreatedByID   *string
	CreatedByName string
	CreatedAt     Time
	EndedAt       Time // ended before its time
	EndedBy       string
}

// ActiveAt says whether the delegation holds at a moment.
func (d Delegation) ActiveAt(now Time) bool {
	return d.EndedAt.IsZero() && !now.Before(d.StartsAt.Time) && now.Before(d.EndsAt.Time)
}
