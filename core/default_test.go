package core

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOrDefault(t *testing.T) {
	t.Parallel()
	type bounds struct {
		Name  string
		Wait  time.Duration
		Most  int
		Other []string
	}
	defaults := bounds{Wait: time.Second, Most: 3}
	want := bounds{Name: "n", Wait: time.Second, Most: 7}
	if diff := cmp.Diff(want, OrDefault(bounds{Name: "n", Most: 7}, defaults)); diff != "" {
		t.Error(diff)
	}
	if defaults.Most != 3 {
		t.Errorf("the defaults became %+v", defaults)
	}
}
