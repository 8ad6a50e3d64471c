// Package auth finds out who calls: the holder of a bearer token, or the person in a signed-in
// browser. It also guards forms against being sent from elsewhere. What somebody may do is decided by
// the services, never here.
package auth
