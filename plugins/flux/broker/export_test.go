package broker

// Bound sets how many bytes of a stream may wait to be read.
func (c *Conn) Bound(n int) { c.most = n }

// Cancel asks the service to end the stream.
func (s *Stream) Cancel() error { return s.conn.send(s.cancel()) }
