package models

import (
	"context"
	"fmt"
	"regexp"
	"time"
)

var (
	tsqueryTerm = regexp.MustCompile(`'[\pL\pN]+'(:\*)?`)
	tsqueryRest = regexp.MustCompile(`^[()&|! ]*$`)
)

// TrySearch runs everything a query makes the database do, and checks what it would send to the other.
func (s *Store) TrySearch(ctx context.Context, q SearchQuery) error {
	return s.View(ctx, System("1000"), func(tx *Tx) error {
		f := newSearch(tx, q, time.UTC)
		if _, err := f.page(searchCursor{own: true}, 3); err != nil {
			return err
		}
		if _, err := f.count(); err != nil {
			return err
		}
		other := &Store{postgres: true}
		f = newSearch(&Tx{By: tx.By, store: other}, q, time.UTC)
		for _, expr := range []string{f.own, f.rest, f.scope} {
			if rest := tsqueryTerm.ReplaceAllString(expr, ""); !tsqueryRest.MatchString(rest) {
				return fmt.Errorf("no tsquery: %s", expr)
			}
		}
		return nil
	})
}

// SearchPlans are how the database reads the first page of a query.
func (s *Store) SearchPlans(ctx context.Context, by Principal, q SearchQuery) (plans []string, err error) {
	err = s.View(ctx, by, func(tx *Tx) error {
		f := newSearch(tx, q, time.UTC)
		exprs := []string{f.values.and(some(f.rest, f.scope))}
		if f.own != "" {
			exprs = []string{f.values.and(some(f.own, f.scope)), f.values.not(exprs[0], f.own)}
		}
		explain := "EXPLAIN QUERY PLAN "
		if s.postgres {
			explain = "EXPLAIN "
		}
		for _, expr := range exprs {
			query, args := f.statement(expr, 0, SearchLimit+1)
			var lines []struct {
				Lite     string `gorm:"column:detail"`
				Postgres string `gorm:"column:QUERY PLAN"`
			}
			if err := tx.DB.Raw(explain+query, args...).Scan(&lines).Error; err != nil {
				return err
			}
			plan := ""
			for _, line := range lines {
				plan += line.Lite + line.Postgres + "\n"
			}
			plans = append(plans, plan)
		}
		return nil
	})
	return plans, err
}
