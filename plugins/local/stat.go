package local

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// maxProc bounds, in bytes, what is read of a file in /proc. A status file lists up to 65,536 groups (NGROUPS_MAX), at most 11 bytes each.
const maxProc = 1 << 20

// stat is what /proc/PID/stat tells of a process, see proc_pid_stat(5).
type stat struct {
	pid   int
	state byte   // R, S, D, Z …
	start uint64 // since boot, in ticks of USER_HZ, 100 a second on every architecture
}

// parseStat reads /proc/PID/stat. The second field is the command's name in parentheses; a process chooses it and may put blanks, parentheses and
// newlines in it, so fields are counted from the last closing one.
func parseStat(text []byte) (stat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return stat{}, fmt.Errorf("process's stat: the command's name is missing")
	}
	pid, err := strconv.ParseInt(strings.TrimRight(string(text[:open]), " "), 10, 32)
	if err != nil || pid <= 0 {
		return stat{}, fmt.Errorf("process's stat: its pid is no pid")
	}
	fields := bytes.Fields(text[end+1:])
	const state, start = 0, 22 - 3 // fields 3 and 22
	if len(fields) <= start || len(fields[state]) != 1 {
		return stat{}, fmt.Errorf("process's stat: it has %d fields after the name and %d are needed", len(fields), start+1)
	}
	ticks, err := strconv.ParseUint(string(fields[start]), 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("process's stat: its start time is no number")
	}
	return stat{int(pid), fields[state][0], ticks}, nil
}

// owner is what /proc/PID/status tells of a process's credentials.
type owner struct {
	uids   [4]uint32 // real, effective, saved, file system
	gids   [4]uint32
	groups []uint32
}

// parseStatus reads the credentials from /proc/PID/status, see proc_pid_status(5). The kernel escapes newlines in the one field that a process chooses.
func parseStatus(text []byte) (owner, error) {
	var o owner
	seen := 0
	for line := range bytes.Lines(text) {
		name, rest, _ := strings.Cut(string(line), ":")
		var err error
		switch name {
		case "Uid":
			err = ids(rest, o.uids[:])
		case "Gid":
			err = ids(rest, o.gids[:])
		case "Groups":
			o.groups = make([]uint32, len(strings.Fields(rest)))
			err = ids(rest, o.groups)
		default:
			continue
		}
		if err != nil {
			return owner{}, fmt.Errorf("process's status: its %s: %w", name, err)
		}
		seen++
	}
	if seen != 3 {
		return owner{}, fmt.Errorf("process's status: %d of its lines Uid, Gid and Groups are there", seen)
	}
	return o, nil
}

func ids(text string, out []uint32) error {
	fields := strings.Fields(text)
	if len(fields) != len(out) {
		return fmt.Errorf("it has %d numbers and %d are needed", len(fields), len(out))
	}
	for i, f := range fields {
		n, err := strconv.ParseUint(f, 10, 32)
		if err != nil {
			return fmt.Errorf("there is no number")
		}
		out[i] = uint32(n)
	}
	return nil
}
