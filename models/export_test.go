package models

// SeenQueries are the reads behind candidates of duplicates, by name.
func SeenQueries() map[string]string {
	return map[string]string{"seenByNumber": seenByNumber, "seenByAmount": seenByAmount, "seenUndated": seenUndated, "casesOfSeen": casesOfSeen, "approvalsOfSeen": approvalsOfSeen,
		"verdictsLow": verdictsLow, "verdictsHigh": verdictsHigh, "pairDecisions": pairDecisions, "supplierDecisions": supplierDecisions}
}
