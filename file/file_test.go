package file_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/file"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "conf")
	other := &file.Owner{UID: 65534, GID: 65533}
	for i, how := range []file.How{{Mode: 0o600}, {Mode: 0o755, Volatile: true}, {Mode: 0o666, Owner: other}} {
		if how.Owner != nil && os.Geteuid() != 0 {
			continue
		}
		text := string(rune('a' + i))
		if err := file.Replace(path, []byte(text), how); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		info, err2 := os.Stat(path)
		if err != nil || err2 != nil || string(got) != text || info.Mode() != how.Mode {
			t.Errorf("%q, %v, %v, %v", got, info.Mode(), err, err2)
		}
		like := file.Like(info)
		if how.Owner != nil && (like.Owner == nil || *like.Owner != *other) || like.Mode != how.Mode {
			t.Errorf("%+v", like)
		}
	}
}

// Sweep takes the leavings of a Replace that was killed, and nothing else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	if err := file.Sweep(filepath.Join(dir, "none")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{".conf.weft-1", ".6.7.weft-23", "conf", ".hidden", "conf.weft-1"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if diff := cmp.Diff([]string{".hidden", "conf", "conf.weft-1"}, left); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// A link goes, and the file behind it stays.
func TestReplaceALink(t *testing.T) {
	dir := t.TempDir()
	behind, link := filepath.Join(dir, "behind"), filepath.Join(dir, "link")
	if err := os.WriteFile(behind, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(behind, link); err != nil {
		t.Fatal(err)
	}
	if err := file.Replace(link, []byte("new"), file.How{Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if was, err := os.ReadFile(behind); err != nil || string(was) != "old" {
		t.Errorf("%q, %v", was, err)
	}
}

// A failed Replace leaves the old file and nothing else.
func TestReplaceThatFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := file.Replace(path, []byte("new"), file.How{Mode: 0o644}); err == nil {
		t.Error("a file replaced a folder")
	}
	if err := file.Replace(filepath.Join(dir, "none", "file"), nil, file.How{Mode: 0o644}); err == nil {
		t.Error("a file without a folder")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := file.Replace(path, nil, file.How{Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := file.Remove(path); err != nil {
			t.Error(err)
		}
	}
	if err := syscall.Rmdir(dir); err != nil {
		t.Error(err)
	}
	if err := file.Remove(path); err == nil {
		t.Error("a folder that is not there was synced")
	}
}

func TestAppend(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	if err := os.WriteFile(path, []byte("old "), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := file.Append(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("new")
	text, _ := os.ReadFile(path)
	info, _ := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil || string(text) != "old new" || info.Mode() != 0o600 {
		t.Errorf("%q, %s, %v", text, info.Mode(), err)
	}
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.Symlink(path, link), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{dir, link, pipe} {
		if _, err := file.Append(bad); err == nil {
			t.Errorf("%s was opened", bad)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(path, []byte("text"), 0o600), os.Symlink("f", link)); err != nil {
		t.Fatal(err)
	}
	if text, err := file.Read(link, 4); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := file.Read(path, 3); err == nil {
		t.Error("a file above the bound was read")
	}
	if _, err := file.Read(dir, 3); err == nil {
		t.Error("a folder was read")
	}
	if _, err := file.Read(filepath.Join(dir, "none"), 3); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
