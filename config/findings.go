package config

import "github.com/weft-hpc/weft/hclfile"

type FindingsError struct{ Findings []hclfile.Finding }

func (e *FindingsError) Error() string { return hclfile.AsError(e.Findings).Error() }

// AsError carries findings to whoever can show them.
func AsError(findings []hclfile.Finding) error { return &FindingsError{findings} }
