package proto_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	authorityv1 "github.com/weft-hpc/weft/rpc/proto/weft/authority/v1"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
	fabricv1 "github.com/weft-hpc/weft/rpc/proto/weft/fabric/v1"
	hooksv1 "github.com/weft-hpc/weft/rpc/proto/weft/hooks/v1"
	nicv1 "github.com/weft-hpc/weft/rpc/proto/weft/nic/v1"
	pluginv1 "github.com/weft-hpc/weft/rpc/proto/weft/plugin/v1"
	schedulerv1 "github.com/weft-hpc/weft/rpc/proto/weft/scheduler/v1"
)

var update = flag.Bool("update", false, "promise what was added; what was promised before stays promised")

const promised = "testdata/descriptors.binpb"

// present are the files as the Go code has them; what others import comes first.
func present() *descriptorpb.FileDescriptorSet {
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range []protoreflect.FileDescriptor{
		corev1.File_weft_core_v1_core_proto, schedulerv1.File_weft_scheduler_v1_scheduler_proto, authorityv1.File_weft_authority_v1_authority_proto, fabricv1.File_weft_fabric_v1_fabric_proto,
		hooksv1.File_weft_hooks_v1_hooks_proto, nicv1.File_weft_nic_v1_nic_proto, pluginv1.File_weft_plugin_v1_plugin_proto,
	} {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	return set
}

// TestPromise fails when a message or a service is not what it was: peers one release apart, and plugins of others, would misread each other.
func TestPromise(t *testing.T) {
	now := present()
	old := &descriptorpb.FileDescriptorSet{}
	text, err := os.ReadFile(promised)
	if err == nil {
		err = proto.Unmarshal(text, old)
	}
	if err != nil && !(*update && os.IsNotExist(err)) {
		t.Fatal(err)
	}
	for _, b := range breaks(t, old, now) {
		t.Errorf("%s: a plugin or a peer of another release breaks; add beside it, under a new number or name", b)
	}
	if t.Failed() {
		return
	}
	if *update {
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(now)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(promised, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, now, protocmp.Transform()); diff != "" {
		t.Errorf("what was added is not promised yet: go test ./rpc/proto -update (-promised +present)\n%s", diff)
	}
}

// TestGenerated fails when the Go code is not of these .proto files.
func TestGenerated(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("protoc is not installed, so nothing shows that the Go code is of these .proto files")
	}
	files, err := filepath.Glob("weft/*/v1/*.proto")
	if err != nil || len(files) != len(present().File) {
		t.Fatalf("%d files: %v", len(files), err)
	}
	out := filepath.Join(t.TempDir(), "set")
	if text, err := exec.Command(protoc, append([]string{"-I", ".", "--descriptor_set_out=" + out}, files...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	source := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(text, source); err != nil {
		t.Fatal(err)
	}
	now := present()
	for _, set := range []*descriptorpb.FileDescriptorSet{source, now} {
		slices.SortFunc(set.File, func(a, b *descriptorpb.FileDescriptorProto) int { return strings.Compare(a.GetName(), b.GetName()) })
	}
	if diff := cmp.Diff(source.File, now.File, protocmp.Transform()); diff != "" {
		t.Errorf("run rpc/proto/generate.sh (-.proto +Go)\n%s", diff)
	}
}

// TestPromiseCanBreak shows that each kind of break is seen, and that additions are none.
func TestPromiseCanBreak(t *testing.T) {
	type file = *descriptorpb.FileDescriptorProto
	find := func(set *descriptorpb.FileDescriptorSet, name string) file {
		return set.File[slices.IndexFunc(set.File, func(f file) bool { return f.GetName() == name })]
	}
	core := func(set *descriptorpb.FileDescriptorSet) file { return find(set, "weft/core/v1/core.proto") }
	nic := func(set *descriptorpb.FileDescriptorSet) file { return find(set, "weft/nic/v1/nic.proto") }
	scheduler := func(set *descriptorpb.FileDescriptorSet) file { return find(set, "weft/scheduler/v1/scheduler.proto") }
	plugin := func(set *descriptorpb.FileDescriptorSet) file { return find(set, "weft/plugin/v1/plugin.proto") }
	message := func(f file, name string) *descriptorpb.DescriptorProto {
		return f.MessageType[slices.IndexFunc(f.MessageType, func(m *descriptorpb.DescriptorProto) bool { return m.GetName() == name })]
	}
	field := func(f file, of, name string) *descriptorpb.FieldDescriptorProto {
		m := message(f, of)
		return m.Field[slices.IndexFunc(m.Field, func(f *descriptorpb.FieldDescriptorProto) bool { return f.GetName() == name })]
	}
	type set = *descriptorpb.FileDescriptorSet
	for name, test := range map[string]struct {
		change func(set)
		want   []string
	}{
		"nothing": {func(set) {}, nil},
		"a field more": {func(s set) {
			m := message(core(s), "Key")
			f := proto.CloneOf(m.Field[2])
			f.Name, f.JsonName, f.Number = proto.String("more"), proto.String("more"), proto.Int32(99)
			m.Field = append(m.Field, f)
		}, nil},
		"a message more": {func(s set) {
			core(s).MessageType = append(core(s).MessageType, &descriptorpb.DescriptorProto{Name: proto.String("New")})
		}, nil},
		"a method more": {func(s set) {
			v := nic(s).Service[0]
			m := proto.CloneOf(v.Method[0])
			m.Name = proto.String("More")
			v.Method = append(v.Method, m)
		}, nil},
		"an enum's value more": {func(s set) {
			e := core(s).EnumType[0]
			e.Value = append(e.Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String("CODE_NEW"), Number: proto.Int32(12)})
		}, nil},
		"a field less": {func(s set) {
			m := message(core(s), "Key")
			m.Field = m.Field[:2]
		}, []string{"weft.core.v1.Key: field 3 generation is gone"}},
		"another number": {func(s set) { field(core(s), "Key", "generation").Number = proto.Int32(4) },
			[]string{"weft.core.v1.Key: field 3 generation is gone"}},
		"another name": {func(s set) {
			f := field(core(s), "Key", "job")
			f.Name, f.JsonName = proto.String("id"), proto.String("id")
		},
			[]string{"weft.core.v1.Key: field 2 job is now id"}},
		"another type": {func(s set) { field(core(s), "Run", "uid").Type = descriptorpb.FieldDescriptorProto_TYPE_UINT64.Enum() },
			[]string{"weft.core.v1.Run: field 2 uid was uint32 and is uint64"}},
		"another message": {func(s set) { field(core(s), "Run", "key").TypeName = proto.String(".weft.core.v1.JobID") },
			[]string{"weft.core.v1.Run: field 1 key was weft.core.v1.Key and is weft.core.v1.JobID"}},
		"a list": {func(s set) {
			field(core(s), "Run", "uid").Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		},
			[]string{"weft.core.v1.Run: field 2 uid was optional and is repeated"}},
		"no presence": {func(s set) {
			m := message(scheduler(s), "LimitRequest")
			m.OneofDecl = nil
			for _, f := range m.Field {
				f.Proto3Optional, f.OneofIndex = nil, nil
			}
		}, []string{
			"weft.scheduler.v1.LimitRequest: field 1 per_core knew whether it is set and does not",
			"weft.scheduler.v1.LimitRequest: field 2 reserved knew whether it is set and does not",
			"weft.scheduler.v1.LimitRequest: field 3 max knew whether it is set and does not",
		}},
		"out of its oneof": {func(s set) { field(plugin(s), "Value", "blocks").OneofIndex = nil },
			[]string{"weft.plugin.v1.Value: field 6 blocks is in another oneof"}},
		"an enum's value less": {func(s set) { e := core(s).EnumType[0]; e.Value = e.Value[:11] },
			[]string{"weft.core.v1.Code: value 11 CODE_INTERNAL is gone"}},
		"an enum's value renamed": {func(s set) { core(s).EnumType[0].Value[11].Name = proto.String("CODE_OTHER") },
			[]string{"weft.core.v1.Code: value 11 CODE_INTERNAL is now CODE_OTHER"}},
		"a method less": {func(s set) { v := nic(s).Service[0]; v.Method = v.Method[:len(v.Method)-1] }, []string{"weft.nic.v1.NIC: method Destroy is gone"}},
		"a method's request": {func(s set) { nic(s).Service[0].Method[0].InputType = proto.String(".weft.nic.v1.ServicesRequest") },
			[]string{"weft.nic.v1.NIC: method Devices was weft.nic.v1.DevicesRequest to weft.nic.v1.DevicesReply and is weft.nic.v1.ServicesRequest to weft.nic.v1.DevicesReply"}},
		"a method's stream": {func(s set) { scheduler(s).Service[0].Method[1].ClientStreaming = nil },
			[]string{"weft.scheduler.v1.Scheduler: method Watch was stream weft.scheduler.v1.WatchRequest to stream weft.scheduler.v1.WatchReply and is weft.scheduler.v1.WatchRequest to stream weft.scheduler.v1.WatchReply"}},
		"a service less": {func(s set) { nic(s).Service = nil }, []string{"weft.nic.v1.NIC: the service is gone"}},
		"a message less": {func(s set) {
			m := scheduler(s)
			m.MessageType = slices.DeleteFunc(m.MessageType, func(m *descriptorpb.DescriptorProto) bool { return m.GetName() == "WatchReply" })
			m.Service = nil
		},
			[]string{"weft.scheduler.v1.WatchReply: the message is gone", "weft.scheduler.v1.Scheduler: the service is gone"}},
		"a file less": {func(s set) {
			s.File = slices.DeleteFunc(s.File, func(f file) bool { return f.GetName() == "weft/nic/v1/nic.proto" })
		},
			[]string{"weft/nic/v1/nic.proto: the file is gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := present()
			test.change(now)
			if diff := cmp.Diff(test.want, breaks(t, present(), now)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// breaks lists what old has and now has not, or has otherwise.
func breaks(t *testing.T, old, now *descriptorpb.FileDescriptorSet) []string {
	t.Helper()
	was, err := protodesc.NewFiles(old)
	if err != nil {
		t.Fatal(err)
	}
	is, err := protodesc.NewFiles(now)
	if err != nil {
		t.Fatal(err)
	}
	c := comparison{is: is}
	for _, f := range old.File {
		file, err := was.FindFileByPath(f.GetName())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := is.FindFileByPath(f.GetName()); err != nil {
			c.say("%s: the file is gone", f.GetName())
			continue
		}
		c.messages(file.Messages())
		c.enums(file.Enums())
		c.services(file.Services())
	}
	return c.broken
}

type comparison struct {
	is     *protoregistry.Files
	broken []string
}

func (c *comparison) say(format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf(format, args...))
}

func (c *comparison) messages(all protoreflect.MessageDescriptors) {
	for i := range all.Len() {
		was := all.Get(i)
		d, _ := c.is.FindDescriptorByName(was.FullName())
		is, ok := d.(protoreflect.MessageDescriptor)
		if !ok {
			c.say("%s: the message is gone", was.FullName())
			continue
		}
		for j := range was.Fields().Len() {
			c.field(was.Fields().Get(j), is)
		}
		c.messages(was.Messages())
		c.enums(was.Enums())
	}
}

func (c *comparison) field(was protoreflect.FieldDescriptor, in protoreflect.MessageDescriptor) {
	what := fmt.Sprintf("%s: field %d %s", in.FullName(), was.Number(), was.Name())
	is := in.Fields().ByNumber(was.Number())
	switch {
	case is == nil:
		c.say("%s is gone", what)
		return
	case is.Name() != was.Name():
		c.say("%s is now %s", what, is.Name())
	}
	if a, b := kind(was), kind(is); a != b {
		c.say("%s was %s and is %s", what, a, b)
	}
	if was.Cardinality() != is.Cardinality() {
		c.say("%s was %v and is %v", what, was.Cardinality(), is.Cardinality())
	} else if was.HasPresence() != is.HasPresence() {
		knew := map[bool]string{true: "knew whether it is set and does not", false: "did not know whether it is set and does"}
		c.say("%s %s", what, knew[was.HasPresence()])
	}
	if a, b := oneof(was), oneof(is); a != b {
		c.say("%s is in another oneof", what)
	}
}

// kind is a field's type with the name of its message or enum.
func kind(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return string(f.Message().FullName())
	case f.Enum() != nil:
		return string(f.Enum().FullName())
	}
	return f.Kind().String()
}

func oneof(f protoreflect.FieldDescriptor) protoreflect.Name {
	if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
		return o.Name()
	}
	return ""
}

func (c *comparison) enums(all protoreflect.EnumDescriptors) {
	for i := range all.Len() {
		was := all.Get(i)
		d, _ := c.is.FindDescriptorByName(was.FullName())
		is, ok := d.(protoreflect.EnumDescriptor)
		if !ok {
			c.say("%s: the enum is gone", was.FullName())
			continue
		}
		for j := range was.Values().Len() {
			v := was.Values().Get(j)
			switch n := is.Values().ByNumber(v.Number()); {
			case n == nil:
				c.say("%s: value %d %s is gone", was.FullName(), v.Number(), v.Name())
			case n.Name() != v.Name():
				c.say("%s: value %d %s is now %s", was.FullName(), v.Number(), v.Name(), n.Name())
			}
		}
	}
}

func (c *comparison) services(all protoreflect.ServiceDescriptors) {
	for i := range all.Len() {
		was := all.Get(i)
		d, _ := c.is.FindDescriptorByName(was.FullName())
		is, ok := d.(protoreflect.ServiceDescriptor)
		if !ok {
			c.say("%s: the service is gone", was.FullName())
			continue
		}
		for j := range was.Methods().Len() {
			m := was.Methods().Get(j)
			switch n := is.Methods().ByName(m.Name()); {
			case n == nil:
				c.say("%s: method %s is gone", was.FullName(), m.Name())
			case shape(m) != shape(n):
				c.say("%s: method %s was %s and is %s", was.FullName(), m.Name(), shape(m), shape(n))
			}
		}
	}
}

func shape(m protoreflect.MethodDescriptor) string {
	stream := map[bool]string{true: "stream "}
	return stream[m.IsStreamingClient()] + string(m.Input().FullName()) + " to " + stream[m.IsStreamingServer()] + string(m.Output().FullName())
}
