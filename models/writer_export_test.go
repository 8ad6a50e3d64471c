package models

// Queued is how many transactions wait for SQLite's writer.
func (s *Store) Queued() int { return len(s.writer.queue) }
