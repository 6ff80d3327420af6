package facts

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/weft-hpc/weft/core"
)

// Seconds are a time limit: a number from 0, or core.Unlimited, which is written "unlimited".
type Seconds int64

const unlimited = "unlimited"

// ParseSeconds reads what people write.
func ParseSeconds(text string) (Seconds, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case text == unlimited:
		n = core.Unlimited
	case err != nil || n < 0:
		return 0, errors.New("time_limit: it must be a number of seconds, or \"" + unlimited + "\"")
	}
	return Seconds(n), nil
}

// UnmarshalJSON takes a number with and without quotes.
func (s *Seconds) UnmarshalJSON(text []byte) (err error) {
	var name string
	if json.Unmarshal(text, &name) != nil {
		name = string(text)
	}
	*s, err = ParseSeconds(name)
	return err
}

// MarshalJSON writes a number, or "unlimited".
func (s Seconds) MarshalJSON() ([]byte, error) {
	if int64(s) == core.Unlimited {
		return json.Marshal(unlimited)
	}
	return json.Marshal(int64(s))
}
