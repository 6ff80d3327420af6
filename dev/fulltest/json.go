package fulltest

import (
	"bytes"
	"encoding/json"
)

// JSON is v as JSON without its zero values. A field that a later release adds is in it only once it is set: so it
// stays the same for an old value.
func JSON(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var whole any
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber() // a float64 has no room for each uint64
	if err := in.Decode(&whole); err != nil {
		return "", err
	}
	text, err = json.Marshal(bare(whole))
	return string(text), err
}

const zeroTime = "0001-01-01T00:00:00Z" // as encoding/json writes it

// bare leaves zero fields out; nil: v is zero. The elements of a list keep their places.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if v[name] = bare(field); v[name] == nil {
				delete(v, name)
			}
		}
		if len(v) > 0 {
			return v
		}
	case []any:
		for i := range v {
			v[i] = bare(v[i])
		}
		if len(v) > 0 {
			return v
		}
	case json.Number:
		if v != "0" {
			return v
		}
	case string:
		if v != "" && v != zeroTime {
			return v
		}
	case bool:
		if v {
			return v
		}
	}
	return nil
}
