package install

import "github.com/weft-hpc/weft/plugins/slurm/stack"

// Stacked reads the slurm.conf at conf and tells where its plugstack.conf is, and the lines that stack.Settings names.
func Stacked(conf string) (path string, lines []string, err error) {
	c, err := readConf(conf, readFile)
	if err != nil {
		return "", nil, err
	}
	return stacked(c), c.started(), nil
}

// Value reads the slurm.conf at conf and tells the value of a key; "" where it has none.
func Value(conf, key string) string {
	c, err := readConf(conf, readFile)
	if err != nil {
		return ""
	}
	s, _ := c.last(key)
	return s.Value
}

// started are the lines without which Slurm's commands may not start.
func (c *conf) started() []string {
	var lines []string
	for _, key := range stack.Settings() {
		if s, set := c.last(key); set {
			lines = append(lines, key+"="+s.Value)
		}
	}
	return lines
}
