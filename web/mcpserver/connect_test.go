package mcpserver

// connect lets cases and approvals know each other, as the program does.
func (w *world) connect() {
	w.queue.UseApprovals(w.approvals)
	w.approvals.UseCases(w.queue)
}
