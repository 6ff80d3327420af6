// Package peopletest is a user database for tests.
package peopletest

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/weft-hpc/weft/command"
)

// Table is a user database: names of users and groups by their numbers, and each user's groups, the primary one first.
type Table struct {
	Users  map[uint32]string
	Groups map[uint32]string
	Member map[string][]uint32
}

// One is a database with one user, ann, whose group has her name and number.
func One(uid uint32) Table {
	own := map[uint32]string{uid: "ann"}
	return Table{Users: own, Groups: own, Member: map[string][]uint32{"ann": {uid}}}
}

// Run answers getent and id.
func (t Table) Run(_ context.Context, name string, args ...string) ([]byte, error) {
	key := args[len(args)-1]
	switch {
	case name == "id" && t.Member[key] != nil:
		var out []byte
		for _, gid := range t.Member[key] {
			if args[0] == "-Gz" {
				out = fmt.Appendf(out, "%d\x00", gid)
			} else {
				out = fmt.Appendf(out, "%s\x00", t.Groups[gid])
			}
		}
		return out, nil
	case name == "getent" && args[0] == "passwd":
		if uid, user, ok := find(t.Users, key); ok {
			gid := slices.Concat(t.Member[user], []uint32{uid})[0]
			return fmt.Appendf(nil, "%s:x:%d:%d::/users/%s:/bin/sh\n", user, uid, gid, user), nil
		}
	case name == "getent" && args[0] == "group":
		if gid, group, ok := find(t.Groups, key); ok {
			return fmt.Appendf(nil, "%s:x:%d:\n", group, gid), nil
		}
	}
	return nil, &command.Failure{Command: name, Says: strconv.Quote(key) + ": none such", Code: 2}
}

// find is the entry of a number or a name.
func find(table map[uint32]string, key string) (uint32, string, bool) {
	for id, name := range table {
		if name == key || strconv.FormatUint(uint64(id), 10) == key {
			return id, name, true
		}
	}
	return 0, "", false
}
