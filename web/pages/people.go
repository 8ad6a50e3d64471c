package pages

func mountPeople(_, _ route) {}
