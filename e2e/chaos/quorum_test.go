package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-hpc/weft/dev/effort"
)

// Without etcd's quorum no job starts, for a minute. With it they start again, and all is well.
func TestAMinuteWithoutQuorum(t *testing.T) {
	need(t)
	needEtcd(t)
	if !effort.Night() {
		t.Skip("it takes more than a minute; `make night` runs it")
	}
	t.Parallel()
	e := episode{weft: filepath.Join(os.Getenv(binEnv), "weft"), servers: 3, members: 3, seed: rand.Uint64N(1 << 32)}
	_, err := e.live(t, func(l *load) error {
		l.pauseTwo("")
		<-time.After(2 * lease) // a grant may have been on its way
		before := l.started()
		<-time.After(time.Minute)
		after := l.started()
		l.resumeTwo("")
		if fmt.Sprint(before) != fmt.Sprint(after) {
			return fmt.Errorf("jobs started without a quorum: %v, and then %v", before, after)
		}
		return l.goesOn()
	})
	if err != nil {
		t.Errorf("seed %d: %v", e.seed, err)
	}
}
