// Package pages serves the desk to people: every page and every form of the browser.
//
// A handler reads the form, calls one service, turns the answer into a view model and renders it whole,
// or answers 303. Rules live in the services, looks in views; here answers become words: amounts
// grouped, times in the workspace's zone, codes and roles by their titles. Text that agents,
// suppliers or documents wrote goes to the views as ui.Foreign and nowhere else.
package pages
