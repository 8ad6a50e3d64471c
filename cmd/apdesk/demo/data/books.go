package data

func (d days) books() Books {
	return Books{
		Suppliers: []Supplier{
			{ID: "V-2001", Workspace: "1000", Name: "Nordwind GmbH", TaxID: "DE811234567", BankAccount: "DE89370400440532013000", Since: "2014-03-01", InvoicesLastYear: 64, LastPaid: d.ago(12)},
			{ID: "V-2002", Workspace: "1000", Name: "Kessler Werkzeuge KG", TaxID: "DE129876543", BankAccount: "DE02120300000000202051", Since: "2011-07-15", InvoicesLastYear: 118, LastPaid: d.ago(5)},
			{ID: "V-2003", Workspace: "1000", Name: "Baltic Papier AG", TaxID: "DE204681012", BankAccount: "DE02500105170137075030", Since: "2018-01-09", InvoicesLastYear: 23, LastPaid: d.ago(31)},
			{ID: "V-2004", Workspace: "1000", Name: "Rheintal Logistik GmbH", TaxID: "DE305070901", BankAccount: "DE02100100100006820101", Since: "2016-05-20", InvoicesLastYear: 42, LastPaid: d.ago(9)},
			{ID: "V-2005", Workspace: "1000", Name: "Harbor Components Inc.", TaxID: "US-36-4417724", BankAccount: "US-021000021-483920117", Since: "2020-10-02", InvoicesLastYear: 11, LastPaid: d.ago(44)},
			{ID: "V-2006", Workspace: "1000", Name: "Alster Büromöbel GmbH", TaxID: "DE118822330", BankAccount: "DE02300209000106531065", Since: "2019-02-11", InvoicesLastYear: 17, LastPaid: d.ago(20)},
			{ID: "V-3001", Workspace: "2000", Name: "Sakura Denki K.K.", TaxID: "T5010401012345", BankAccount: "0001-218-4471120", Since: "2009-04-01", InvoicesLastYear: 90, LastPaid: d.ago(8)},
			{ID: "V-3002", Workspace: "2000", Name: "Fuji Kami K.K.", TaxID: "T8013301067890", BankAccount: "0009-102-7730045", Since: "2015-09-14", InvoicesLastYear: 36, LastPaid: d.ago(15)},
			{ID: "V-3003", Workspace: "2000", Name: "Pacific Chips Inc.", TaxID: "US-94-2281007", BankAccount: "US-121000248-118830924", Since: "2021-06-30", InvoicesLastYear: 14, LastPaid: d.ago(27)},
		},
		Orders: []Order{
			d.order("4500018801", "1000", "V-2001", "EUR", line("Bearing unit 6204", "50", "24.69")),
			closed(d.order("4500018802", "1000", "V-2002", "EUR", line("Milling cutter set", "12", "310.00")), d.ago(18), "S. Brandt", "quarter-end clean-up of orders without movement"),
			closed(d.order("4500018803", "1000", "V-2003", "EUR", line("Copy paper A4, pallet box", "200", "8.40")), d.ago(40), "P. Lindqvist", "fully invoiced; follow-on order 4500018804"),
			d.order("4500018804", "1000", "V-2003", "EUR", line("Copy paper A4, pallet box", "200", "8.40")),
			d.order("4500018805", "1000", "V-2001", "EUR", line("Service kit, pumps", "4", "245.00")),
			d.order("4500018806", "1000", "V-2004", "EUR", line("Freight Hamburg-Basel", "1", "2450.00")),
			d.order("4500018807", "1000", "V-2002", "EUR", line("Carbide insert", "20", "118.00")),
			d.order("4500018808", "1000", "V-2003", "EUR", line("Folding cartons", "500", "8.40")),
			d.order("4500018809", "1000", "V-2001", "EUR", line("Hydraulic aggregate", "3", "7500.00")),
			d.order("4500018810", "1000", "V-2005", "USD", line("Servo controller", "6", "1200.00")),
			d.order("4500018811", "1000", "V-2006", "EUR", line("Office chair", "2", "395.00")),
			d.order("4500018812", "1000", "V-2001", "EUR", line("Seal ring, large", "150", "6.20")),
			d.order("4500018813", "1000", "V-2006", "EUR", OrderLine{Text: "Desk, height adjustable", Quantity: "10", UnitPrice: "145.00", ReceiptAfterMisses: 2}),
			d.order("4600027701", "2000", "V-3001", "JPY", line("Relay module", "300", "1480")),
			d.order("4600027702", "2000", "V-3002", "JPY", line("Offset paper, ream", "40", "9800")),
			d.order("4600027704", "2000", "V-3003", "USD", line("Microcontroller, tray", "5", "850.00")),
			d.order("4600027705", "2000", "V-3001", "JPY", line("Power supply, rack", "2", "64000")),
			d.order("4600027706", "2000", "V-3002", "JPY", OrderLine{Text: "Label stock, roll", Quantity: "25", UnitPrice: "5200", ReceiptAfterMisses: 99}),
		},
		Invoices: []Invoice{
			{ID: "5105600088", Workspace: "1000", Number: "RL 042", SupplierID: "V-2004", SupplierName: "Rheintal Logistik GmbH", OrderID: "4500016120", Amount: "2390.00", Currency: "EUR", InvoiceDate: d.ago(371), DueDate: d.ago(341), Status: "posted", DocumentNumber: "1900004417", PaidOn: d.ago(343)},
			{ID: "5105600099", Workspace: "1000", Number: "INV-778", SupplierID: "V-2001", SupplierName: "Nordwind GmbH", OrderID: "4500018805", Amount: "980.00", Currency: "EUR", InvoiceDate: d.ago(34), DueDate: d.ago(4), Status: "posted", DocumentNumber: "1900005102", PaidOn: d.ago(12)},

			d.invoice("5105600101", "1000", "NW-4101", "V-2001", "Nordwind GmbH", "4500018801", "1234.50", "EUR", 9),
			d.invoice("5105600102", "1000", "KW-2207", "V-2002", "Kessler Werkzeuge KG", "4500018802", "3720.00", "EUR", 8),
			d.invoice("5105600103", "1000", "BP-9931", "V-2003", "Baltic Papier AG", "4500018803", "1680.00", "EUR", 8),
			d.invoice("5105600104", "1000", "inv 00778", "V-2001", "Nordwind GmbH", "4500018805", "980.00", "EUR", 34),
			d.invoice("5105600105", "1000", "RL-42", "V-2004", "Rheintal Logistik GmbH", "4500018806", "2450.00", "EUR", 6),
			d.invoice("5105600106", "1000", "KW-2213", "V-2002", "Kessler Werkzeuge KG", "4500018807", "2478.00", "EUR", 5),
			d.invoice("5105600107", "1000", "BP-9940", "V-2003", "Baltic Papier AG", "4500018808", "5040.00", "EUR", 5),
			d.invoice("5105600108", "1000", "NW-4120", "V-2001", "Nordwind GmbH", "4500018809", "23400.00", "EUR", 4),
			d.invoice("5105600109", "1000", "HC-1188", "V-2005", "Harbor Components Inc.", "4500018810", "7500.00", "USD", 7),
			d.invoice("5105600110", "1000", "AM-310", "V-2006", "Alster Büromöbel GmbH", "4500018811", "860.00", "EUR", 33),
			d.invoice("5105600111", "1000", "NW-4133", "V-2001", "Nordwind GmbH", "450001812", "930.00", "EUR", 3),
			d.invoice("5105600112", "1000", "AM-322", "V-2006", "Alster Büromöbel GmbH", "4500018813", "1450.00", "EUR", 3),

			d.invoice("5205600201", "2000", "SD-5001", "V-3001", "Sakura Denki K.K.", "4600027701", "444000", "JPY", 6),
			d.invoice("5205600202", "2000", "FK-88", "V-3002", "Fuji Kami K.K.", "4600027702", "392000", "JPY", 5),
			unknownSupplier(d.invoice("5205600203", "2000", "SD-5017", "V-3O91", "Sakura Denki Holdings", "4600027705", "128000", "JPY", 2), "T9999999999999", "0330-900-1177093"),
			unknownSupplier(d.invoice("5205600204", "2000", "PC-7340", "V-3O13", "Pacific Chips Inc", "4600027704", "4250.00", "USD", 7), "US-94-2281007", "US-121000248-118830924"),
			d.invoice("5205600205", "2000", "SD-5020", "V-3001", "Sakura Denki K.K.", "46OOO31399", "88000", "JPY", 4),
			d.invoice("5205600206", "2000", "FK-93", "V-3002", "Fuji Kami K.K.", "4600027706", "130000", "JPY", 4),
		},
	}
}

func (d days) inbox() []Document {
	var docs []Document
	for _, inv := range d.books().Invoices {
		if inv.Status != "open" {
			continue
		}
		docs = append(docs, Document{
			Key: inv.ID, Workspace: inv.Workspace, InvoiceID: inv.ID, Number: inv.Number, SupplierName: inv.SupplierName,
			OrderID: inv.OrderID, Amount: inv.Amount, Currency: inv.Currency, InvoiceDate: inv.InvoiceDate,
		})
	}
	change := func(key string, f func(*Document)) {
		for i := range docs {
			if docs[i].Key == key {
				f(&docs[i])
			}
		}
	}
	change("5105600110", func(doc *Document) {
		doc.PostingDate = d.lastMonth(4)
		doc.Note = "Delivered and to be booked in the month of delivery."
	})
	change("5205600201", func(doc *Document) { doc.InvoiceID = "52O5600201" })
	change("5205600202", func(doc *Document) {
		doc.InvoiceID = "52O5690802"
		doc.Note = "The stamp with the registration number is smeared."
	})
	change("5205600205", func(doc *Document) {
		doc.Note = "Emergency repair of the rack supply, ordered by telephone by Mr Tanaka (maintenance); no order was written."
	})
	change("5205600206", func(doc *Document) { doc.MaxChecks = 2 })
	return docs
}

func (d days) order(id, workspace, supplier, currency string, l OrderLine) Order {
	l.Line = 10
	return Order{ID: id, Workspace: workspace, SupplierID: supplier, Currency: currency, OrderedOn: d.ago(45), Lines: []OrderLine{l}}
}

func line(text, quantity, price string) OrderLine {
	return OrderLine{Text: text, Quantity: quantity, UnitPrice: price, Received: quantity}
}

func closed(o Order, on, by, because string) Order {
	o.Closed, o.ClosedOn, o.ClosedBy, o.ClosedBecause = true, on, by, because
	return o
}

func (d days) invoice(id, workspace, number, supplier, name, order, amount, currency string, daysAgo int) Invoice {
	return Invoice{ID: id, Workspace: workspace, Number: number, SupplierID: supplier, SupplierName: name, OrderID: order,
		Amount: amount, Currency: currency, InvoiceDate: d.ago(daysAgo), DueDate: d.ago(daysAgo - 30), Status: "open"}
}

func unknownSupplier(inv Invoice, taxID, bankAccount string) Invoice {
	inv.TaxID, inv.BankAccount = taxID, bankAccount
	return inv
}
