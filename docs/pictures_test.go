package docs

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPicturesAreDrawn finds a picture whose text has changed since: `make pictures` leaves the text's sum in it.
func TestPicturesAreDrawn(t *testing.T) {
	texts, err := filepath.Glob("pictures/*.d2")
	if err != nil || len(texts) < 3 {
		t.Fatalf("texts of pictures: %v, %v; want at least 3", texts, err)
	}
	for _, path := range texts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := os.ReadFile(strings.TrimSuffix(path, ".d2") + ".svg")
		if err != nil {
			t.Errorf("%s: no picture: %v; `make pictures` draws it", path, err)
			continue
		}
		if !drawnFrom(picture, text) {
			t.Errorf("%s: its picture is of another text; `make pictures` draws it anew", path)
		}
	}
	if drawnFrom([]byte("<svg/>\n<!-- drawn from sha256 0 -->"), []byte("a -> b")) {
		t.Error("a picture of another text passes")
	}
}

func drawnFrom(picture, text []byte) bool {
	sum := sha256.Sum256(text)
	mark := "<!-- drawn from sha256 " + hex.EncodeToString(sum[:]) + " -->"
	return strings.HasSuffix(strings.TrimSpace(string(picture)), mark)
}
