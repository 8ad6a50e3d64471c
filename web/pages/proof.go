package pages

func mountProof(_, _ route) {}
