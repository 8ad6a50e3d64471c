package models_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
)

// FuzzOpenCheckpoints: nothing opens that was not signed with the key, whatever stands before, between and
// behind what was.
func FuzzOpenCheckpoints(f *testing.F) {
	key, err := models.NewAuditKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		f.Fatal(err)
	}
	var at models.Time
	if err := at.Scan("2026-10-05T09:12:44Z"); err != nil {
		f.Fatal(err)
	}
	genuine := models.Checkpoint{WorkspaceID: "1000", Seq: 7, Hash: strings.Repeat("ab", 32), At: at}
	signed, err := key.Sign(genuine)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(signed))
	f.Add([]byte(signed + "\n" + signed))
	f.Add([]byte(strings.ReplaceAll(signed, "\n7\n", "\n8\n")))
	f.Add([]byte(strings.ReplaceAll(signed, "\n", "\r\n")))
	f.Add([]byte("apdesk/1000\n1\n\n\n— x y\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		opened, err := key.Open(file)
		if err != nil {
			return
		}
		for _, c := range opened {
			if c.WorkspaceID != genuine.WorkspaceID || c.Seq != genuine.Seq || c.Hash != genuine.Hash || !c.At.Equal(genuine.At.Time) {
				t.Errorf("opened %+v", c)
			}
		}
	})
}
