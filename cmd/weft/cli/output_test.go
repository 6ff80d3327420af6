package cli

import (
	"os"
	"os/user"
	"testing"
)

// Where the scheduler's name of a user was lost with a store, this host's is shown; a number is the last resort.
func TestAccount(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	for _, test := range []struct {
		name string
		uid  uint32
		want string
	}{
		{"ann", uint32(os.Getuid()), "ann"},
		{"", uint32(os.Getuid()), me.Username},
		{"", 4_000_000_001, "4000000001"},
	} {
		if got := Account(test.name, test.uid); got != test.want {
			t.Errorf("user %q, uid %d: %s, want %s", test.name, test.uid, got, test.want)
		}
	}
}
