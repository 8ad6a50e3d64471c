package data

// decisions is the script of the people for a run without a person. Where two
// finance leads could decide, the script names one, so that the trail is the
// same every time.
func (d days) decisions() []Decision {
	const post, notify = "post_invoice_adjustment", "notify_supplier"
	return []Decision{
		{Invoice: "5105600102", Person: Procurement, Code: "PO_CLOSED", Exit: "reopen_po",
			Reason: "Closed by the clean-up although 12 pieces were still to be invoiced. Reopened in the ERP."},
		{Invoice: "5105600103", Person: Procurement, Code: "PO_CLOSED", Exit: "use_other_po", Inputs: map[string]string{"po_id": "4500018804"},
			Reason: "Belongs to the follow-on order."},
		{Invoice: "5105600104", Person: Clerk, Code: "DUPLICATE_INVOICE", Exit: "confirm_duplicate",
			Reason: "Same delivery, same amount; the first copy was paid."},
		{Invoice: "5105600105", Person: Clerk, Code: "DUPLICATE_INVOICE", Exit: "not_duplicate",
			Reason: "The supplier starts at 1 every year; this is this year's freight."},
		{Invoice: "5105600106", Person: FinanceA, Tool: post, Vote: "reject", Amount: "2478.00", Inputs: map[string]string{"amount": "2360.00"},
			Reason: "The price increase begins next month; pay the old price."},
		{Invoice: "5105600106", Person: FinanceB, Tool: post, Vote: "approve", Amount: "2360.00",
			Reason: "At the agreed price."},
		{Invoice: "5105600107", Person: FinanceA, Tool: post, Vote: "reject",
			Reason: "20 % above the order and nobody agreed to it."},
		{Invoice: "5105600107", Person: Lead, Tool: notify, Vote: "approve",
			Reason: "Supplier must send a corrected invoice."},
		{Invoice: "5105600108", Person: FinanceA, Tool: post, Vote: "approve",
			Reason: "Surcharge for express delivery was agreed."},
		{Invoice: "5105600108", Person: FinanceB, Tool: post, Vote: "approve",
			Reason: "Seen the delivery note; agreed."},
		{Invoice: "5105600109", Person: Lead, Code: "APPROVER_NOT_FOUND", Exit: "name_approver", Inputs: map[string]string{"person": "fumiko@demo.example"},
			Reason: "The dollar rules have a gap; Fumiko holds the limit."},
		{Invoice: "5105600109", Person: FinanceA, Tool: post, Vote: "approve",
			Reason: "Customs handling is ours under the terms."},
		{Invoice: "5105600110", Person: FinanceA, Code: "PERIOD_CLOSED", Exit: "post_next_period", Inputs: map[string]string{"posting_date": d.ago(0)},
			Reason: "The period stays closed; small amount."},
		{Invoice: "5105600110", Person: FinanceB, Tool: post, Vote: "approve",
			Reason: "Delivery charge is on the quotation."},
		{Invoice: "5205600202", Person: Clerk, Code: "INVOICE_NOT_FOUND", Exit: "correct_id", Inputs: map[string]string{"invoice_id": "5205600202"},
			Reason: "Read from the original; the stamp is smeared."},
		{Invoice: "5205600203", Person: MasterData, Code: "SUPPLIER_NOT_FOUND", Exit: "suspected_fraud",
			Reason: "Name close to a known supplier, other tax id and bank account; Sakura Denki knows nothing of it."},
		{Invoice: "5205600204", Person: MasterData, Code: "SUPPLIER_NOT_FOUND", Exit: "link_supplier", Inputs: map[string]string{"supplier_id": "V-3003"},
			Reason: "Tax id and bank account agree with the master record."},
		{Invoice: "5205600205", Person: Clerk, Code: "PO_NOT_FOUND", Exit: "treat_as_non_po",
			Ask: "What does the document say about who ordered this?", Reason: "Emergency repair without an order; maintenance confirmed it."},
		{Invoice: "5205600205", Person: FinanceB, Tool: post, Vote: "approve",
			Reason: "Repair confirmed by maintenance."},
		{Invoice: "5205600206", Person: Clerk, Code: "GR_MISSING", Exit: "two_way_match",
			Reason: "Labels were used on the day they came; the warehouse confirms 25 rolls, no receipt will be posted."},
	}
}

func wants() []Want {
	return []Want{
		{Invoice: "5105600101", Status: "released"},
		{Invoice: "5105600102", Codes: []string{"PO_CLOSED"}, Deciders: []string{Procurement}, Status: "released", Cases: 1},
		{Invoice: "5105600103", Codes: []string{"PO_CLOSED"}, Deciders: []string{Procurement}, Status: "released", Cases: 1},
		{Invoice: "5105600104", Codes: []string{"DUPLICATE_INVOICE"}, Deciders: []string{Clerk}, Status: "duplicate", Cases: 1},
		{Invoice: "5105600105", Codes: []string{"DUPLICATE_INVOICE"}, Deciders: []string{Clerk}, Status: "released", Cases: 1},
		{Invoice: "5105600106", Codes: []string{"TOLERANCE_EXCEEDED"}, Deciders: []string{FinanceA, FinanceB}, Status: "posted", Document: true, Writes: 1},
		{Invoice: "5105600107", Codes: []string{"TOLERANCE_EXCEEDED", "APPROVAL_MISSING"}, Deciders: []string{FinanceA, Lead}, Status: "disputed", Writes: 1},
		{Invoice: "5105600108", Codes: []string{"TOLERANCE_EXCEEDED"}, Deciders: []string{FinanceA, FinanceB}, Status: "posted", Document: true, Writes: 1},
		{Invoice: "5105600109", Codes: []string{"TOLERANCE_EXCEEDED", "APPROVER_NOT_FOUND"}, Deciders: []string{Lead, FinanceA}, Status: "posted", Document: true, Writes: 1, Cases: 1},
		{Invoice: "5105600110", Codes: []string{"TOLERANCE_EXCEEDED", "PERIOD_CLOSED"}, Deciders: []string{FinanceA, FinanceB}, Status: "posted", Document: true, Writes: 1, Cases: 1},
		{Invoice: "5105600111", Codes: []string{"PO_NOT_FOUND"}, Status: "released", Retries: 1},
		{Invoice: "5105600112", Codes: []string{"GR_MISSING"}, Status: "released"},
		{Invoice: "5205600201", Codes: []string{"INVOICE_NOT_FOUND"}, Status: "released", Retries: 1},
		{Invoice: "5205600202", Codes: []string{"INVOICE_NOT_FOUND"}, Deciders: []string{Clerk}, Status: "released", Retries: 1, Cases: 1},
		{Invoice: "5205600203", Codes: []string{"SUPPLIER_NOT_FOUND"}, Deciders: []string{MasterData}, Status: "blocked", Retries: 1, Cases: 1},
		{Invoice: "5205600204", Codes: []string{"SUPPLIER_NOT_FOUND"}, Deciders: []string{MasterData}, Status: "released", Retries: 1, Cases: 1},
		{Invoice: "5205600205", Codes: []string{"PO_NOT_FOUND", "APPROVAL_MISSING"}, Deciders: []string{Clerk, FinanceB}, Status: "posted", Document: true, Writes: 1, Retries: 1, Cases: 1},
		{Invoice: "5205600206", Codes: []string{"GR_MISSING"}, Deciders: []string{Clerk}, Status: "released", Cases: 1},
	}
}
