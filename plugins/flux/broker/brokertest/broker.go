package brokertest

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// Broker is the fake.
type Broker struct {
	path     string
	listener net.Listener
	group    sync.WaitGroup

	mu       sync.Mutex
	owner    uint32 // of the instance
	config   any    // what config.get answers
	starting bool
	closed   bool
	clients  map[*client]bool
	instance instance
	before   func(topic string) // see Before
	asked    map[string]int
}

// client is one connection.
type client struct {
	b     *Broker
	net   net.Conn
	roles broker.Roles
	uid   uint32

	writing sync.Mutex
	streams map[uint32]string // the topics of the journals that it follows, by tag; under b.mu
}

// New is a broker whose socket lies in dir. The instance's owner is who runs the test.
func New(dir string) (*Broker, error) {
	b := &Broker{owner: uint32(os.Geteuid()), path: filepath.Join(dir, "local-0"), clients: map[*client]bool{}, asked: map[string]int{}} //nolint:gosec // a uid
	b.instance.init()
	return b, b.Start()
}

// Start listens, anew after a Stop or a Crash; jobs are as they were.
func (b *Broker) Start() error {
	l, err := net.Listen("unix", b.path)
	if err != nil {
		return err
	}
	if err := os.Chmod(b.path, 0o777); err != nil { //nolint:gosec // as Flux has it: who calls is known by SO_PEERCRED
		return errors.Join(err, l.Close())
	}
	b.mu.Lock()
	b.listener, b.closed = l, false
	b.mu.Unlock()
	b.group.Go(func() { b.accept(l) })
	return nil
}

func (b *Broker) locked(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

// URI of the broker.
func (b *Broker) URI() string { return "local://" + b.path }

// OwnedBy makes another user the instance's owner, for connections that are still to come.
func (b *Broker) OwnedBy(uid uint32) { b.locked(func() { b.owner = uid }) }

// Configure sets what config.get answers.
func (b *Broker) Configure(config any) { b.locked(func() { b.config = config }) }

// Starting makes the job manager one that is not there yet (ENOSYS), or there.
func (b *Broker) Starting(yes bool) { b.locked(func() { b.starting = yes }) }

// Before has f called before each request is served, outside of any lock: a test holds a broker up or lets something happen first.
func (b *Broker) Before(f func(topic string)) { b.locked(func() { b.before = f }) }

// Asked is how often topic was asked.
func (b *Broker) Asked(topic string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked[topic]
}

// Stop is a shutdown in order: ENODATA on every journal, the end of every connection, and no socket.
func (b *Broker) Stop() { b.end(true) }

// Crash is a broker that is gone at once.
func (b *Broker) Crash() { b.end(false) }

func (b *Broker) end(orderly bool) {
	b.mu.Lock()
	b.closed = true
	clients := b.clients
	b.clients = map[*client]bool{}
	for c := range clients {
		for tag, topic := range c.streams {
			if orderly {
				c.respond(topic, tag, broker.FlagStreaming, syscall.ENODATA, nil)
			}
		}
		_ = c.net.Close()
	}
	_ = b.listener.Close() // removes the socket
	b.mu.Unlock()
	b.group.Wait()
}

func (b *Broker) accept(l net.Listener) {
	for {
		n, err := l.Accept()
		if err != nil {
			return
		}
		uid, err := peer(n)
		c := &client{b: b, net: n, uid: uid, roles: broker.RoleUser | broker.RoleLocal, streams: map[uint32]string{}}
		b.mu.Lock()
		if uid == b.owner {
			c.roles = broker.RoleOwner | broker.RoleLocal
		}
		if b.closed || err != nil {
			b.mu.Unlock()
			_ = n.Close()
			continue
		}
		b.clients[c] = true
		b.mu.Unlock()
		b.group.Go(c.serve)
	}
}

func peer(n net.Conn) (uint32, error) {
	raw, err := n.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return cred.Uid, nil
}

func (c *client) serve() {
	defer func() {
		_ = c.net.Close()
		c.b.mu.Lock()
		delete(c.b.clients, c)
		c.b.mu.Unlock()
	}()
	if _, err := c.net.Write([]byte{0}); err != nil {
		return
	}
	for {
		m, err := broker.ReadFrame(c.net)
		if err != nil || m.Kind != broker.Request {
			return
		}
		c.b.mu.Lock()
		before := c.b.before
		c.b.asked[m.Topic]++
		c.b.mu.Unlock()
		if before != nil {
			before(m.Topic)
		}
		c.request(m)
	}
}

// request serves one request. Whatever its service does, it does under the broker's lock, so that what a connection is told is in the order in which it happened.
func (c *client) request(m *broker.Message) {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	payload := m.Payload
	if n := len(payload); n > 0 {
		if payload[n-1] != 0 {
			c.respond(m.Topic, m.Tag(), 0, syscall.EPROTO, nil)
			return
		}
		payload = payload[:n-1]
	}
	f, known := services[m.Topic]
	if !known || c.b.starting && strings.HasPrefix(m.Topic, "job-") {
		c.respond(m.Topic, m.Tag(), 0, syscall.ENOSYS, "No service matching "+m.Topic+" is registered")
		return
	}
	if f.owner && c.roles&broker.RoleOwner == 0 {
		c.respond(m.Topic, m.Tag(), 0, syscall.EPERM, "Request requires owner credentials")
		return
	}
	answer, no := f.serve(c, m, payload)
	switch {
	case m.Flags&broker.FlagNoResponse != 0, answer == streaming:
	case no != nil:
		c.respond(m.Topic, m.Tag(), 0, no.errno, no.text)
	default:
		c.respond(m.Topic, m.Tag(), 0, 0, answer)
	}
}

// respond sends a response: JSON, or of an error its text. A connection that does not take it is over.
func (c *client) respond(topic string, tag uint32, more broker.Flags, errno syscall.Errno, v any) {
	m := &broker.Message{
		Kind: broker.Response, Flags: broker.FlagTopic | broker.FlagRoute | more, User: c.b.owner, Roles: broker.RoleOwner | broker.RoleLocal,
		First: uint32(errno), Second: tag, Topic: topic,
	}
	var text []byte
	switch s, plain := v.(string); {
	case v == nil:
	case plain && errno != 0:
		text = []byte(s)
	default:
		var err error
		if text, err = json.Marshal(v); err != nil {
			panic(err)
		}
	}
	if text != nil {
		m.Flags |= broker.FlagPayload
		m.Payload = append(text, 0)
	}
	frame, err := broker.AppendFrame(nil, m)
	if err != nil {
		panic(err)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, _ = c.net.Write(frame)
}

// Dial connects to it as a client does.
func (b *Broker) Dial(ctx context.Context) (*broker.Conn, error) {
	return broker.Dial(ctx, b.URI(), nil)
}
