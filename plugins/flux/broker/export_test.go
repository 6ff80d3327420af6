package broker

// Bound sets how many bytes of a stream may wait to be read.
func (c *Conn) Bound(n int) { c.most = n }
