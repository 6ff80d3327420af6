package core

// Kind of a configuration value.
type Kind uint8

// Kinds of values a plugin's block can hold.
const (
	KindString Kind = iota + 1
	KindInt
	KindBool
	KindDuration // written "60s"; held as a time.Duration
	KindStrings
	KindBlocks // repeated blocks, held as []Values
)

// Schema describes a plugin's block as plain data, since only the host knows HCL.
type Schema struct {
	Fields []Field
}

// Field is one attribute or kind of block.
type Field struct {
	Name     string
	Kind     Kind
	Required bool
	Default  any    // of Kind's Go type; nil: the zero value
	Doc      string // one sentence, with unit and range
	Labels   int    // KindBlocks: how many labels; held under "label0", "label1"
	Block    Schema // KindBlocks
}

// Values are a block's values by field name: string, int64, bool, time.Duration, []string, []Values.
type Values map[string]any

// PathError is a plugin's complaint about a value; the host maps Path back to file, line and column.
type PathError struct {
	Path []string // field, index, field …
	Err  error
}

func (e *PathError) Error() string { return e.Err.Error() }
func (e *PathError) Unwrap() error { return e.Err }
