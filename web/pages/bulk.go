package pages

func mountBulk(_, _ route) {}
