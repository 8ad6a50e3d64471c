package queue

import "github.com/apdesk/apdesk/models"

// ReadsAll says whether by reads every record of the workspace, and not only what it filed itself.
func ReadsAll(by models.Principal) bool { return readsAll(by) }
