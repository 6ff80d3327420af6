package policy

import (
	"errors"
	"testing"
)

// TestUntakenIsSaidOnce: whatever came of the two reloads, the folder is told of once, in one line.
func TestUntakenIsSaidOnce(t *testing.T) {
	refused, away := errors.New("server: the reload was refused"), errors.New("agent: no answer")
	for name, c := range map[string]struct {
		again error
		want  string
	}{
		"the one before was taken": {nil, "policy apply: it is not in force, and the folder rules is what it was: server: the reload was refused"},
		"it was refused as well":   {errors.New(refused.Error()), "policy apply: it is not in force, and the folder rules is what it was: server: the reload was refused"},
		"it failed otherwise": {away, "policy apply: it is not in force, and the folder rules is what it was: server: the reload was refused; " +
			"a daemon that took it has it until `weft reload`, which failed for the one before too: agent: no answer"},
	} {
		if got := untaken("rules", refused, c.again).Error(); got != c.want {
			t.Errorf("%s: it says\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
