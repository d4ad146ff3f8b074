#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The management API as gRPC and REST: what does not depend on its services.
. "$(dirname "$0")/lib.sh"

python=${PYTHON:-/usr/bin/python3}
need_python grpc python3-grpcio
need tsc node-typescript
make_clone
start_server --demo
eventually greeted
use_newest_kubectl
SHARE=$tmp/root/usr/local/share/kairship
export SHARE

test_expect_success 'credentials for curl' 'api /version'

for name in health reflection_lists_all reflection_stays_open reflection_is_enough_to_call \
	failures_are_statuses nobody_is_let_in many_at_once; do
	test_expect_success "gRPC: $name" \
		'timeout 60 "$python" "$top/tests/e2e/python/rpc.py" '$name' "${server#https://}"'
done

test_expect_success 'what is not served is no trouble for the log' '
	api /apis/kairship.io/v1alpha1/instances/x -X PATCH -w "%{http_code}" | grep "501$"
	test_must_fail grep "\"code\":501" server.log
'

test_expect_success 'gRPC: what the server refuses is 200 with trailers alone' '
	# Without a message: curl 7.88 takes the end of an answer before that of its request for an error.
	curl -skD - --http2 -H "authorization: Bearer x" -H "content-type: application/grpc" -H "te: trailers" \
		-d "" "$server/kairship.io.api.v1alpha1.Instance/ListInstances" |
		tr -d "\r" >out
	for line in "HTTP/2 200 " "content-type: application/grpc" "grpc-status: 16" "grpc-message: Unauthorized"; do
		grep -x "$line" out
	done
	sed "1,/^$/d" out >body
	test ! -s body
'

test_expect_success 'REST: failures have the same codes' '
	api /apis/kairship.io/v1alpha1/nothing -w "%{http_code}" >out
	grep -F "{\"code\":5,\"message\":\"Not Found\",\"details\":[]}404" out
	api "/apis/kairship.io/v1alpha1/instances?page=x" -w "%{http_code}" >out
	grep -F "{\"code\":3,\"message\":\"page: must be a 32-bit integer\",\"details\":[" out
	grep -F "{\"field\":\"page\",\"description\":\"must be a 32-bit integer\"}]}]}400" out
	api /apis/kairship.io/v1alpha1/instances -X POST -d "[" -w "%{http_code}" >out
	grep "\"code\":3,.*400$" out
	api /apis/kairship.io/v1alpha1/instances/x -X PATCH -w "%{http_code}" >out
	grep "\"code\":12,.*501$" out
'

test_expect_success 'REST: without a credential' '
	curl -sk "$server/apis/kairship.io/v1alpha1/instances" -w "%{http_code}" >out
	grep "\"code\":7,.*403$" out
	curl -sk -H "authorization: Bearer x" "$server/apis/kairship.io/v1alpha1/instances" \
		-w "%{http_code}" -o out2 >out
	grep -x 401 out
'

test_expect_success 'OpenAPI is that of the product' '
	api /apis/kairship.io/openapi.json >doc
	"$python" "$top/tests/e2e/python/openapi.py" doc \
		"$top/tests/reference/kairship-api-v0.23.0.json"
'

test_expect_success 'what programs need is installed' '
	meson install -C "$(dirname "$KAIRSHIP")" --no-rebuild --quiet --tags api --destdir "$tmp/root"
	(cd "$tmp/root" && find . -type f) | grep -vE "^\./usr/local/share/kairship/(proto|ts|openapi)/" >elsewhere || true
	test ! -s elsewhere
	api /apis/kairship.io/openapi3.json | cmp - "$SHARE/openapi/kairship_api3.json"
	cmp doc "$SHARE/openapi/kairship_api.json"
	protoc -I "$SHARE/proto" --descriptor_set_out=/dev/null "$SHARE"/proto/services/*.proto
'

test_expect_success 'the commands of docs/management-api.md work' '
	run_page docs/management-api.md >out
	grep "\"items\":\[{\"metadata\":{\"name\":\"demo\"" out
	grep "\"code\":7," out
	grep "^demo v1\\." out
	grep -x "demo INSTANCE_STATE_RUNNING" out
'

test_expect_success 'the TypeScript client is compiled and calls' '
	mkdir ts && cp "$SHARE/ts/kairship_api.ts" "$top/tests/e2e/node/rpc.ts" ts
	echo "{\"type\":\"module\"}" >ts/package.json
	tsc --strict --target es2020 --lib es2020,dom --module es2020 --outDir ts ts/rpc.ts
	api /api/v1/namespaces/default/serviceaccounts/default/token -X POST \
		-H "content-type: application/json" -d "{\"spec\":{}}" >out
	token=$(sed -n "s/.*\"token\": *\"\([^\"]*\)\".*/\1/p" out)
	NODE_EXTRA_CA_CERTS="$tmp/certificate-authority" timeout 60 node ts/rpc.js "$server" "$token"
'
test_done
