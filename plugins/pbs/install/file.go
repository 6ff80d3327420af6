package install

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Script is the hook file's text, without its seal.
//
//go:embed weft_hook.py
var Script string

// Names of the files.
const (
	hookFile   = "weft_hook.py"
	configFile = "weft.json"
	linesFile  = "install.qmgr"
)

// maxFile bounds a file that is looked at, in bytes.
const maxFile = 1 << 20

// seal ends a file that Weft wrote, so that one that was edited by hand is known.
const seal = "# weft seal "

func sealed(text string) []byte {
	return []byte(text + seal + sum(text) + "\n")
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:8])
}

// Config is what the hook file is told, as PBS's hook configuration.
type Config struct {
	Hook      string   `json:"weft_hook"`
	Scheduler string   `json:"scheduler"`
	Dir       string   `json:"dir,omitempty"`        // the agent's run directory; empty: weft-hook's default
	ServerDir string   `json:"server_dir,omitempty"` // where the Weft server listens for hooks
	Resources []string `json:"resources"`
	Seal      string   `json:"seal"`
}

func (c Config) text() []byte {
	plain := func(c Config) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		_ = e.Encode(c) // strings alone
		return b.String()
	}
	c.Seal = ""
	c.Seal = sum(plain(c))
	return []byte(plain(c))
}

// isOurs reports whether a file is one of Weft's at all, and whether it is as Weft wrote it.
func isOurs(path string, text []byte) (ours, intact bool) {
	if filepath.Base(path) == configFile {
		var c Config
		if json.Unmarshal(text, &c) != nil || c.Seal == "" {
			return false, false
		}
		return true, bytes.Equal(c.text(), text)
	}
	i := strings.LastIndex(string(text), seal)
	if i < 0 {
		return false, false
	}
	return true, bytes.Equal(sealed(string(text[:i])), text)
}

// read gives a regular file's text, nil where there is none.
func read(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = errors.New("it is too long to be Weft's")
	}
	return text, err
}
