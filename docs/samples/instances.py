# SPDX-License-Identifier: Apache-2.0
"""Lists instances by gRPC: instances.py SERVER CA-FILE TOKEN-FILE DESCRIPTORS (kairship_api.pb).

Debian's python3-grpcio and python3-protobuf are enough: nothing is generated.
"""

import sys

import grpc
from google.protobuf import descriptor_pb2, message_factory

server, ca, token, descriptors = sys.argv[1:]


def read(name):
    with open(name, "rb") as f:
        return f.read()


files = descriptor_pb2.FileDescriptorSet.FromString(read(descriptors)).file
messages = message_factory.GetMessages(files)
request = messages["kairship.io.api.instance.v1alpha1.ListInstancesRequest"]
response = messages["kairship.io.api.instance.v1alpha1.ListInstanceResponse"]

channel = grpc.secure_channel(
    server.removeprefix("https://"),
    grpc.composite_channel_credentials(
        grpc.ssl_channel_credentials(read(ca)),
        grpc.access_token_call_credentials(read(token).decode().strip()),
    ),
)
list_instances = channel.unary_unary(
    "/kairship.io.api.v1alpha1.Instance/ListInstances",
    request_serializer=request.SerializeToString,
    response_deserializer=response.FromString,
)
try:
    for instance in list_instances(request(page=1, page_size=20), timeout=10).items:
        print(instance.metadata.name, instance.status.kubernetes_version)
except grpc.RpcError as failure:
    sys.exit("%s: %s" % (failure.code().name, failure.details()))
