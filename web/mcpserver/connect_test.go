package mcpserver

func (w *world) connect() {}
