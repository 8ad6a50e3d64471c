// Package people plays the demo's people: each signs in with a browser's means
// (HTML forms, a cookie jar, the CSRF field of the form), looks into the own
// queue and at waiting approvals, and decides what the script says.
//
// They keep no state: what is decided is no longer in their lists, so people who
// were interrupted simply look again.
package people
