// Package problem turns an error into what a caller may see of it: a named error, its HTTP status and
// the JSON envelope. What is no named error becomes INTERNAL, its cause goes to the log alone.
package problem
