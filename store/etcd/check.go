package etcd

import (
	"context"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/store/record"
)

// Check reads the store below a prefix, tells each fault of it, and gives where it was copied to. Servers may use it
// meanwhile. Its own error is that of Open, where the check cannot go on.
func Check(ctx context.Context, o Options, tell func(error)) (record.Move, error) {
	s := &Store{kv: keys{client: o.Client, prefix: o.Prefix}}
	r := reading{store: s, image: newImage()}
	corrupt := func(err error) error {
		if core.ReasonOf(err) != core.StoreCorrupt {
			return err
		}
		tell(err)
		return nil
	}
	err := s.kv.each(ctx, func(p pair) error {
		err := r.take(p)
		if number, part := strings.CutPrefix(p.key, partPrefix); err != nil && part {
			if n, bad := strconv.ParseUint(number, 16, 64); bad == nil { // the next part follows this one
				r.first, r.part, r.rest = max(r.first, 1), n, nil
			}
		}
		return corrupt(err)
	})
	if err != nil {
		return r.moved, err
	}
	var d record.Decoder
	between := record.Checker{Tell: tell}
	for _, c := range sorted(r.image.all()) {
		rec, err := d.Decode(c.record)
		if err == nil {
			between.Take(rec)
			continue
		}
		if err := corrupt(err); err != nil {
			return r.moved, err
		}
	}
	between.End()
	return r.moved, nil
}
