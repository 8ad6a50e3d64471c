package views_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/a-h/templ"
	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"

	"github.com/apdesk/apdesk/views"
)

// An ordinary approval, with two people, a stand-in and a refused attempt, is filed on one sheet of A4.
func TestTheProofOfAnApprovalFitsOneSheet(t *testing.T) {
	b := browse(t)
	d := openDesk(t, views.ProofRecord(sampleProof()))
	page := b.MustPage(d.URL)
	t.Cleanup(func() { _ = page.Close() })
	page.MustWaitLoad()
	pdf, err := page.PDF(&proto.PagePrintToPDF{PreferCSSPageSize: true})
	if err != nil {
		t.Fatal(err)
	}
	sheet, err := io.ReadAll(pdf)
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("APDESK_GALLERY"); dir != "" {
		asPrinted(t, page, filepath.Join(dir, "proof-print.png"))
	}
	if n := bytes.Count(sheet, []byte("/Type /Page\n")) + bytes.Count(sheet, []byte("/Type /Page ")); n != 1 {
		t.Errorf("the record takes %d sheets", n)
	}
	if !bytes.Contains(sheet, []byte("/MediaBox [0 0 594")) && !bytes.Contains(sheet, []byte("/MediaBox [0 0 595")) {
		t.Error("the sheet is not A4")
	}
}

// asPrinted takes a picture of a page as it goes to paper.
func asPrinted(t *testing.T, page *rod.Page, file string) {
	t.Helper()
	if err := (proto.EmulationSetEmulatedMedia{Media: "print"}).Call(page); err != nil {
		t.Fatal(err)
	}
	page.MustSetViewport(696, 1040, 2, false)
	page.MustScreenshotFullPage(file)
	if err := (proto.EmulationSetEmulatedMedia{}).Call(page); err != nil {
		t.Fatal(err)
	}
}

// On paper there is nothing to type into or to press, and no frame without words.
func TestARecordPrintsWithoutControlsAndEmptyFrames(t *testing.T) {
	b := browse(t)
	for name, record := range map[string]templ.Component{"a case": views.Case(sampleCase()), "an approval": views.Approval(sampleApproval()), "a confirmation": views.Confirmation(sampleConfirmation()),
		"a case somebody else decided": views.Case(lateCase())} {
		d := openDesk(t, record)
		page := b.MustPage(d.URL)
		page.MustWaitLoad()
		if err := (proto.EmulationSetEmulatedMedia{Media: "print"}).Call(page); err != nil {
			t.Fatal(err)
		}
		left := page.MustEval(`() => {
			const seen = (e) => e.checkVisibility();
			const controls = Array.from(document.querySelectorAll("input:not([type=hidden]), textarea, button, [role=search], .bell")).filter(seen);
			const frames = Array.from(document.querySelectorAll(".panel, .aside-act, .block, .notice")).filter((e) => seen(e) && !e.innerText.trim());
			return controls.concat(frames).map((e) => e.outerHTML.slice(0, 90)).join("\n");
		}`).Str()
		if left != "" {
			t.Errorf("%s prints with\n%s", name, left)
		}
		_ = page.Close()
	}
}
