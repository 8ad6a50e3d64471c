package pages

func mountNotices(_, _ route) {}
