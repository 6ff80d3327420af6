#!/usr/bin/env python3
"""A NIC driver of Weft in Python: NICs that exist in its memory only. docs/plugins.md walks through it.

It needs grpcio (Debian: python3-grpcio) and the message classes of Weft's .proto files, made once:

    protoc -I rpc/proto --python_out=DIR rpc/proto/weft/core/v1/*.proto rpc/proto/weft/nic/v1/*.proto rpc/proto/weft/plugin/v1/*.proto

DIR is searched where WEFT_PROTO says, else beside this file.
"""
import os
import signal
import sys
import tempfile
import threading
from concurrent import futures

sys.path.insert(0, os.environ.get("WEFT_PROTO", os.path.dirname(os.path.abspath(__file__))))

import grpc  # noqa: E402
from weft.core.v1 import core_pb2 as core  # noqa: E402
from weft.nic.v1 import nic_pb2 as nic  # noqa: E402
from weft.plugin.v1 import plugin_pb2 as plugin  # noqa: E402


class Driver:
    def __init__(self):
        self.lock, self.nics, self.held, self.next = threading.Lock(), 4, [], 1

    # weft.plugin.v1.Plugin

    def info(self, request, context):
        return plugin.InfoReply(name="pythondriver", kind="driver", version="1.0", services=["weft.nic.v1.NIC"])

    def schema(self, request, context):
        doc, four = "How many NICs the node has, 1 to 8.", plugin.Value(int=4)
        return plugin.SchemaReply(schema=plugin.Schema(fields=[plugin.Field(name="nics", kind=plugin.KIND_INT, default=four, doc=doc)]))

    def configure(self, request, context):
        nics = request.values.values["nics"].int
        if not 1 <= nics <= 8:
            self.complain(context, ["nics"], f"nics: {nics}: it must be 1 to 8")
        self.nics = nics
        return plugin.ConfigureReply()

    def complain(self, context, path, what):
        """Ends a Configure so that the administrator sees the line of config.hcl: the status carries Complaints as a detail."""
        from google.protobuf import any_pb2

        error = core.Error(code=core.CODE_INVALID, reason="bad-config", what=what)
        detail = any_pb2.Any()
        detail.Pack(plugin.Complaints(complaints=[plugin.Complaint(path=path, error=error)]))
        whole = any_pb2.Any()
        whole.Pack(error)
        # google.rpc.Status by hand: code = 1, message = 2, details = 3. It spares the package grpcio-status.
        status = field(1, grpc.StatusCode.INVALID_ARGUMENT.value[0]) + field(2, what.encode())
        status += field(3, whole.SerializeToString()) + field(3, detail.SerializeToString())
        context.set_trailing_metadata([("grpc-status-details-bin", status)])
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, what)

    def health(self, request, context):
        return plugin.HealthReply()

    # weft.nic.v1.NIC

    def devices(self, request, context):
        return nic.DevicesReply(devices=[nic.Device(name=f"mem{i}", address=i, up=True, retry=True) for i in range(self.nics)])

    def services(self, request, context):
        with self.lock:
            return nic.ServicesReply(services=self.held)

    def create(self, request, context):
        with self.lock:
            reply = nic.CreateReply()
            if late(context):
                context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "create: there is no time left to begin")
            for s in request.specs:
                if s.device not in {f"mem{i}" for i in range(self.nics)} or not s.owner.kind or not 1 <= len(s.vnis) <= 4 or 0 in s.vnis:
                    what = f"NIC {s.device}: create: there is no such NIC, owner or VNI"
                    reply.results.add().error.CopyFrom(core.Error(code=core.CODE_INVALID, reason="bad-call", what=what))
                    continue
                made = next((h for h in self.held if all(getattr(h, f) == getattr(s, f) for f in ("device", "owner", "vnis", "classes", "limits"))), None)
                if made is None:
                    self.next += 1
                    made = core.Service(device=s.device, id=self.next, owner=s.owner, vnis=s.vnis, classes=s.classes, limits=s.limits, enabled=True)
                    self.held.append(made)
                reply.results.add().service.CopyFrom(made)
            return reply

    def destroy(self, request, context):
        with self.lock:
            reply = nic.DestroyReply()
            for s in request.services:
                at = [h for h in self.held if (h.device, h.id) == (s.device, s.id)]
                if at and (at[0].owner, list(at[0].vnis)) != (s.owner, list(s.vnis)):
                    what = f"NIC {s.device}: service {s.id}: it is another"
                    reply.results.add().error.CopyFrom(core.Error(code=core.CODE_CONFLICT, reason="nic-conflict", what=what))
                    continue
                self.held = [h for h in self.held if h not in at]
                reply.results.add()
            return reply


def late(context):
    """Whether the time is over within which a call that changes something must return; the call's own deadline is a little later."""
    within = dict(context.invocation_metadata()).get("weft-within-ms")
    return within == "0" or (context.time_remaining() or 1) <= 0


def field(number, value):
    """One field of protobuf's wire format: a small number or bytes."""

    def varint(n):
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def handler(module, service, name, function):
    request, reply = getattr(module, name + "Request"), getattr(module, name + "Reply")
    return grpc.unary_unary_rpc_method_handler(function, request_deserializer=request.FromString, response_serializer=reply.SerializeToString)


def main():
    if os.environ.get("WEFT_PLUGIN") is None:
        sys.exit("pythondriver is a plugin of Weft and is started by its daemon: see docs/plugins.md")
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, signal.SIG_IGN)  # the daemon ends its plugins itself
    driver, limit = Driver(), 64 << 20
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=16),
        options=[("grpc.max_receive_message_length", limit), ("grpc.max_send_message_length", limit)],
    )
    for module, service, names in (
        (plugin, "weft.plugin.v1.Plugin", ("Info", "Schema", "Configure", "Health")),
        (nic, "weft.nic.v1.NIC", ("Devices", "Services", "Create", "Destroy")),
    ):
        handlers = {n: handler(module, service, n, getattr(driver, n.lower())) for n in names}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    socket = tempfile.mktemp(prefix="plugin", dir=os.environ["PLUGIN_UNIX_SOCKET_DIR"])
    server.add_insecure_port("unix:" + socket)
    server.start()
    print(f"1|1|unix|{socket}|grpc", flush=True)
    os.dup2(2, 1)  # what a C library prints must not come after the handshake
    sys.stdin.buffer.read()  # ends when the daemon does
    os._exit(3)


if __name__ == "__main__":
    main()
