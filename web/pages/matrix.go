package pages

func mountMatrix(_, _ route) {}
