package models

// WithoutPassword is for tests.
var WithoutPassword = withoutPassword
