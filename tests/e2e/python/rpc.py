# SPDX-License-Identifier: Apache-2.0
"""gRPC as a Python program uses it: argv[1] names the test, argv[2] is host:port.

Nothing but reflection tells this client what the server has, so it is tested with every call.
Certificates are in the current folder: certificate-authority, admin.crt, client-key.
"""

import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

API = "kairship.io.api.v1alpha1."


def read(name):
    with open(name, "rb") as f:
        return f.read()


def channel(anonymous=False):
    ca = read("certificate-authority")
    if anonymous:
        credentials = grpc.ssl_channel_credentials(ca)
    else:
        credentials = grpc.ssl_channel_credentials(ca, read("client-key"), read("admin.crt"))
    return grpc.secure_channel(sys.argv[2], credentials)


def varint_field(number, text):
    """A field that holds a string of less than 128 bytes: all that reflection needs to begin."""
    data = text.encode()
    return bytes([number << 3 | 2, len(data)]) + data


class Reflection:
    """Asks over one stream that stays open, one question after the other."""

    def __init__(self, chan, version="v1"):
        self.pool = descriptor_pool.DescriptorPool()
        self.known = set()
        self.call = chan.stream_stream(
            "/grpc.reflection.%s.ServerReflection/ServerReflectionInfo" % version
        )

    def ask(self, *requests):
        return list(self.call(iter(requests), timeout=20))

    @staticmethod
    def parts(message, number):
        """The values of a field of bytes."""
        out, at = [], 0
        while at < len(message):
            tag, at = Reflection.varint(message, at)
            if tag & 7 == 0:
                _, at = Reflection.varint(message, at)
                continue
            size, at = Reflection.varint(message, at)
            if tag >> 3 == number:
                out.append(message[at : at + size])
            at += size
        return out

    @staticmethod
    def varint(message, at):
        value = shift = 0
        while True:
            value |= (message[at] & 127) << shift
            shift += 7
            at += 1
            if message[at - 1] < 128:
                return value, at

    def services(self):
        answer = self.ask(varint_field(7, "*"))[0]
        listed = self.parts(self.parts(answer, 6)[0], 1)
        return [self.parts(s, 1)[0].decode() for s in listed]

    def load(self, request):
        answer = self.ask(request)[0]
        for data in self.parts(self.parts(answer, 4)[0], 1):
            file = descriptor_pb2.FileDescriptorProto.FromString(data)
            if file.name in self.known:
                continue
            self.known.add(file.name)
            for name in file.dependency:
                if name not in self.known:
                    self.load(varint_field(3, name))
            self.pool.Add(file)

    def method(self, service, name):
        self.load(varint_field(4, service))
        m = self.pool.FindServiceByName(service).FindMethodByName(name)
        factory = message_factory.MessageFactory(self.pool)
        return factory.GetPrototype(m.input_type), factory.GetPrototype(m.output_type)


def call(chan, reflection, of, method, **fields):
    given, got = reflection.method(of, method)
    return chan.unary_unary(
        "/%s/%s" % (of, method),
        request_serializer=given.SerializeToString,
        response_deserializer=got.FromString,
    )(given(**fields), timeout=20)


def fails(code, fn, *args, **kwargs):
    try:
        fn(*args, **kwargs)
    except grpc.RpcError as e:
        assert e.code() == code, (e.code(), e.details())
        return e
    raise AssertionError("it does not fail")


def health():
    for anonymous in (False, True):
        chan = channel(anonymous)
        answer = chan.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=20)
        assert answer == b"\x08\x01", answer
    fails(
        grpc.StatusCode.NOT_FOUND,
        channel().unary_unary("/grpc.health.v1.Health/Check"),
        varint_field(1, "no.Such"),
        timeout=20,
    )


def reflection_lists_all():
    for version in ("v1", "v1alpha"):
        services = Reflection(channel(), version).services()
        for name in ("Instance", "Cluster", "Apps", "Policy", "Aggregation", "Core"):
            assert API + name in services, services
        assert "grpc.health.v1.Health" in services


def reflection_stays_open():
    questions = [varint_field(4, API + "Core.ListPodsForMemberCluster")] * 50
    r = Reflection(channel())
    answers = r.ask(varint_field(4, "no.such.symbol"), *questions)
    assert len(answers) == 51
    assert b"no.such.symbol" in r.parts(answers[0], 7)[0]
    assert r.parts(answers[50], 4)


def reflection_is_enough_to_call():
    chan = channel()
    r = Reflection(chan)
    answer = call(chan, r, "grpc.health.v1.Health", "Check", service=API + "Core")
    assert json_format.MessageToDict(answer) == {"status": "SERVING"}


def failures_are_statuses():
    chan = channel()
    fails(grpc.StatusCode.UNIMPLEMENTED, chan.unary_unary("/no.Such/Method"), b"", timeout=20)
    get = chan.unary_unary("/%sInstance/GetInstance" % API)
    fails(grpc.StatusCode.INVALID_ARGUMENT, get, b"\xff", timeout=20)
    fails(grpc.StatusCode.RESOURCE_EXHAUSTED, get, b"\x0a" * (5 << 20), timeout=20)


def nobody_is_let_in():
    chan = channel(anonymous=True)
    get = chan.unary_unary("/%sInstance/ListInstances" % API)
    fails(grpc.StatusCode.PERMISSION_DENIED, get, b"", timeout=20)
    e = fails(
        grpc.StatusCode.UNAUTHENTICATED,
        get,
        b"",
        timeout=20,
        metadata=(("authorization", "Bearer nothing"),),
    )
    assert e.details() == "Unauthorized", e.details()  # ours, and not this client's for HTTP 401
    e = fails(
        grpc.StatusCode.PERMISSION_DENIED, get, b"", timeout=20, metadata=(("impersonate-user", "jane"),)
    )
    assert "impersonate" in e.details(), e.details()


def many_at_once():
    check = channel().unary_unary("/grpc.health.v1.Health/Check")
    for answer in [check.future(b"", timeout=20) for _ in range(200)]:
        assert answer.result() == b"\x08\x01"


if __name__ == "__main__":
    globals()[sys.argv[1]]()
