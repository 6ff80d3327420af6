package flux

import (
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// A job's id is a number of 64 bits that is written in several ways (RFC 19). Weft spells it as flux-jobs(1) does.
const (
	f58      = "ƒ" // U+0192
	plainF58 = "f" // where a locale, or a unit's name, has no ƒ
	digits58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	maxID58  = 11 // digits of 2^64-1
)

// parseID reads an id as hooks have it: ƒ and base58 in prolog, epilog and jobs, a decimal number in housekeeping that runs without a systemd unit, f and
// base58 behind flux-core's units.
func parseID(text string) (uint64, error) {
	digits, ok := strings.CutPrefix(text, f58)
	if !ok {
		digits, ok = strings.CutPrefix(text, plainF58)
	}
	if !ok {
		if id, err := strconv.ParseUint(text, 10, 63); err == nil && strconv.FormatUint(id, 10) == text {
			return id, nil
		}
		return 0, badID(text)
	}
	if digits == "" || len(digits) > maxID58 {
		return 0, badID(text)
	}
	id := uint64(0)
	for _, c := range []byte(digits) {
		id = id*58 + uint64(max(0, strings.IndexByte(digits58, c))) //nolint:gosec // not negative
	}
	if id >= 1<<63 || formatID(id) != f58+digits { // what is no digit, zeros in front, or more than 64 bits
		return 0, badID(text)
	}
	return id, nil
}

func badID(text string) error {
	return core.Errorf(core.BadCall, "job id %q: it is no id of Flux: ƒ or f and base58, or a decimal number", core.Clip(text)).
		WithRemedy("the hook must be run by Flux, which sets FLUX_JOB_ID")
}

// formatID spells an id as flux-jobs(1) does.
func formatID(id uint64) string {
	var b [maxID58]byte
	i := len(b)
	for {
		i--
		b[i] = digits58[id%58]
		if id /= 58; id == 0 {
			return f58 + string(b[i:])
		}
	}
}

// parsePath reads FLUX_JOB_ID_PATH, which names a job by the jobs around it, and spells it anew.
func parsePath(text string) (string, error) {
	parts := strings.Split(text, "/")
	if len(text) > core.MaxJobID || len(parts) < 2 || parts[0] != "" {
		return "", core.Errorf(core.BadCall, "path of a job %q: it is none of Flux: /ƒ1/ƒ2", core.Clip(text))
	}
	for i, part := range parts[1:] {
		id, err := parseID(part)
		if err != nil {
			return "", err
		}
		parts[i+1] = formatID(id)
	}
	return strings.Join(parts, "/"), nil
}
