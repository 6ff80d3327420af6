package core

import (
	"testing"
	"time"
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
	if got := OrDefault(bounds{Name: "n", Most: 7}, defaults); got.Name != "n" || got.Wait != time.Second || got.Most != 7 || got.Other != nil {
		t.Errorf("got %+v", got)
	}
	if defaults.Most != 3 {
		t.Errorf("the defaults became %+v", defaults)
	}
}
