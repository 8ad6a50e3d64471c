package models

import (
	"database/sql"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"gorm.io/gorm/schema"
)

// What every call of the desk does runs on the database's driver alone: building a statement with GORM
// costs more time than such a statement itself. Places are marked with ? for both databases.

// Exec runs one statement in the transaction and answers how many rows it changed.
func (tx *Tx) Exec(query string, args ...any) (rows int64, err error) {
	done, err := tx.DB.Statement.ConnPool.ExecContext(tx.DB.Statement.Context, tx.store.places(query), args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// Query runs a SELECT in the transaction. The rows must be closed before the next statement.
func (tx *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	return tx.DB.Statement.ConnPool.QueryContext(tx.DB.Statement.Context, tx.store.places(query), args...)
}

// Value reads the one value of a SELECT; ErrNoRow when there is none.
func (tx *Tx) Value(into any, query string, args ...any) error {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return err
	}
	return firstRow(rows, into)
}

// ForChange ends a SELECT whose rows are to stay locked until the transaction ends, where the database
// has more than one writer; see Lock.
func (tx *Tx) ForChange() string {
	if !tx.store.postgres {
		return ""
	}
	return " FOR NO KEY UPDATE"
}

// firstRow reads one row and closes the rest.
func firstRow(rows *sql.Rows, into ...any) error {
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return ErrNoRow
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	return rows.Close()
}

// All reads what a SELECT finds into structs of the kind GORM keeps, by the columns' names. What has no
// field is left out.
func All[T any](tx *Tx, query string, args ...any) ([]T, error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	var fields [][]int
	var into []any
	for rows.Next() {
		if fields == nil {
			if fields, err = fieldsOf[T](rows); err != nil {
				return nil, err
			}
			into = make([]any, len(fields))
		}
		all = append(all, *new(T))
		row := reflect.ValueOf(&all[len(all)-1]).Elem()
		for i, index := range fields {
			if index == nil {
				into[i] = new(any)
				continue
			}
			into[i] = row.FieldByIndex(index).Addr().Interface()
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
	}
	return all, rows.Err()
}

// One reads the first row a SELECT finds; ErrNoRow when there is none.
func One[T any](tx *Tx, query string, args ...any) (T, error) {
	all, err := All[T](tx, query, args...)
	if err == nil && len(all) == 0 {
		err = ErrNoRow
	}
	if err != nil {
		return *new(T), err
	}
	return all[0], nil
}

var schemas sync.Map // what GORM knows of a type, by type

// fieldsOf finds where in T each column belongs.
func fieldsOf[T any](rows *sql.Rows) ([][]int, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	s, err := schema.Parse(new(T), &schemas, schema.NamingStrategy{})
	if err != nil {
		return nil, err
	}
	fields := make([][]int, len(columns))
	for i, name := range columns {
		if field := s.FieldsByDBName[name]; field != nil {
			fields[i] = field.StructField.Index
		}
	}
	return fields, nil
}

// places writes ? as the database wants it.
func (s *Store) places(query string) string {
	if !s.postgres {
		return query
	}
	if known, ok := s.placed.Load(query); ok {
		return known.(string)
	}
	var out strings.Builder
	quoted, n := false, 0
	for _, r := range query {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == '?' && !quoted:
			n++
			out.WriteString("$" + strconv.Itoa(n))
			continue
		}
		out.WriteRune(r)
	}
	s.placed.Store(query, out.String()) // only constant texts come here, so they are few
	return out.String()
}
