package stack

import (
	"debug/elf"
	"fmt"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// Name is the name of Weft's plugin, which it tells Slurm, and that of its file.
const (
	Name = "weft"
	File = Name + ".so"
)

// Built tells for which release of Slurm the SPANK plugin at path was built, by the symbols that Slurm reads. It loads
// nothing. The error says why the file is not Weft's plugin, or who else could change it.
func Built(path string) (Release, error) {
	if d := file.Trust(path); d != nil {
		return 0, core.Errorf(core.BadConfig, "%w, and slurmstepd loads it as root", d).WithRemedy(d.Remedy)
	}
	f, err := elf.Open(path)
	if err != nil {
		return 0, core.Errorf(core.BadConfig, "%s: %w", path, file.Bare(err))
	}
	defer func() { _ = f.Close() }()
	all, err := f.DynamicSymbols()
	if err != nil {
		return 0, core.Errorf(core.BadConfig, "%s: %w", path, err)
	}
	value := func(name string) string {
		for _, s := range all {
			if s.Name == name {
				text, _ := bytesOf(f, s)
				return string(text)
			}
		}
		return ""
	}
	name, kind := strings.TrimRight(value("plugin_name"), "\x00"), strings.TrimRight(value("plugin_type"), "\x00")
	if name != Name || kind != "spank" {
		return 0, core.Errorf(core.BadConfig, "%s: it is plugin %q of type %q, not %q of type %q",
			path, core.Clip(name), core.Clip(kind), Name, "spank")
	}
	version := value("plugin_version")
	if len(version) != 4 {
		return 0, core.Errorf(core.BadConfig, "%s: it does not tell for which release of Slurm it was built", path)
	}
	return Release(f.ByteOrder.Uint32([]byte(version))), nil
}

// maxSymbol bounds a symbol that is read, in bytes.
const maxSymbol = 256

func bytesOf(f *elf.File, s elf.Symbol) ([]byte, error) {
	if int(s.Section) >= len(f.Sections) || s.Size > maxSymbol {
		return nil, fmt.Errorf("symbol %s: it has no bytes in the file", core.Clip(s.Name))
	}
	section := f.Sections[s.Section]
	if s.Value < section.Addr {
		return nil, fmt.Errorf("symbol %s: it has no bytes in the file", core.Clip(s.Name))
	}
	out := make([]byte, s.Size)
	_, err := section.ReadAt(out, int64(s.Value-section.Addr))
	return out, err
}
