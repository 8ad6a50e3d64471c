// Package modelstest gives tests a real database of each kind the product runs
// on: a SQLite file of their own, and a fresh database in a PostgreSQL cluster
// that this test process started for itself.
//
// A package that uses it calls Main from its TestMain, so that the cluster ends
// with the tests:
//
//	func TestMain(m *testing.M) { modelstest.Main(m) }
//
// It knows how databases are started, migrated and thrown away. It must not
// know any table.
package modelstest
