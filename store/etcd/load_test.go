package etcd_test

import (
	"testing"
	"time"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/etcdtest"
)

// A reader of a long list holds up neither the standby, which follows the leader, nor a status.
func TestAReaderHoldsUpNothing(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	leader := open(t, client, etcdtest.Lead(t, client, prefix))
	commit(t, leader, meta(1), engine.Node{Name: "n1"})
	standby := open(t, client, 0)
	told := 0
	err := standby.Load(t.Context(), func(engine.Record) error {
		if told++; told == 1 {
			commit(t, leader, meta(2), engine.Node{Name: "n2"})
		}
		followed := make(chan error, 1)
		go func() {
			_, err := standby.Follow(t.Context())
			followed <- err
		}()
		select {
		case err := <-followed:
			if got := standby.Head().Revision; err != nil || got != 2 {
				t.Errorf("meanwhile it is at revision %d, %v", got, err)
			}
		case <-time.After(5 * time.Second):
			t.Error("the standby cannot follow meanwhile")
		}
		return nil
	})
	if err != nil || told != 2 {
		t.Errorf("%d records, %v", told, err)
	}
}
