package pages

func mountDelegations(_, _ route) {}
