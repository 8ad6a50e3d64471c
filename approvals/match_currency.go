package approvals

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apdesk/apdesk/models"
)

// currencyOf is a currency as evidence names it. One that is no ISO code is kept: it is another one than
// the invoice's.
func currencyOf(text string) string {
	text = strings.ToUpper(strings.TrimSpace(text))
	if utf8.RuneCountInString(text) > 12 {
		return string([]rune(text)[:12]) + "…"
	}
	return text
}

// currencyIn is what stands behind a figure where that is a currency.
func currencyIn(unit string) string {
	if unit = strings.ToUpper(unit); len(unit) == 3 && models.ValidCurrency(unit) {
		return unit
	}
	return ""
}

var (
	orderMoney   = []string{fieldOrderPrice, fieldExpected}
	invoiceMoney = []string{fieldInvoicePrice, fieldAmount}
)

// said is the currency in which a row states an amount, "" when nothing says it.
func (s matchSet) said(row matchRow, field string) string {
	f, ok := figureOf(row[field])
	if !ok {
		return ""
	}
	own := fieldOrderCurrency
	if slices.Contains(invoiceMoney, field) {
		own = fieldInvoiceCurrency
	}
	return orElse(currencyIn(f.unit), orElse(currencyOf(row[own]), orElse(currencyOf(row[fieldCurrency]), s.currency)))
}

// settleCurrency chooses the currency of the comparison and keeps every other amount out of the arithmetic:
// there is no exchange rate here.
func (m *matching) settleCurrency() {
	for _, set := range m.sets {
		if set.side == sideInvoice {
			continue
		}
		for _, row := range set.rows {
			for _, field := range orderMoney {
				m.orderIn(set.said(row, field))
			}
		}
	}
	m.currency = m.totalCurrency
	if len(m.orders) > 0 && !slices.Contains(m.orders, m.totalCurrency) {
		m.currency, m.apart = m.orders[0], m.totalCurrency != ""
	}
	ofOrder := m.currency // of amounts that do not say theirs
	if len(m.orders) > 1 {
		ofOrder = "?"
	}
	for _, set := range m.sets {
		for _, row := range set.rows {
			for field, otherwise := range map[string]string{fieldOrderPrice: ofOrder, fieldExpected: ofOrder, fieldInvoicePrice: m.totalCurrency, fieldAmount: m.totalCurrency} {
				f, ok := figureOf(row[field])
				if !ok {
					continue
				}
				if in := orElse(set.said(row, field), otherwise); in != m.currency && in != "" {
					row[field] = f.text + " (" + in + ")" // to be read, and no figure
				} else if currencyIn(f.unit) != "" {
					row[field] = f.text
				}
			}
		}
	}
	for _, total := range []*figure{&m.expected, &m.invoiced, &m.claimed} {
		otherwise := ofOrder
		if total == &m.invoiced {
			otherwise = m.totalCurrency
		}
		if orElse(orElse(total.unit, otherwise), m.currency) != m.currency {
			*total = figure{}
		}
	}
}
