package pages

func mountInvoice(_, _ route) {}
