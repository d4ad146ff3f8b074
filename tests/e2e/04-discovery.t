#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the server says about itself: versions, groups, resources, schemas.
. "$(dirname "$0")/lib.sh"
start_server

scenario() {
	test_expect_success 'version' '
		k version >out 2>&1
		grep "v1.35.0+kairship" out
	'
	test_expect_success 'api-versions' '
		k api-versions >out
		for v in v1 coordination.k8s.io/v1 events.k8s.io/v1 tenancy.kairship.io/v1alpha1; do
			grep -x $v out
		done
	'
	test_expect_success 'api-resources' '
		k api-resources >out
		grep -E "^configmaps +cm +v1 +true +ConfigMap\$" out
		grep -E "^namespaces +ns +v1 +false +Namespace\$" out
		grep -E "^secrets +v1 +true +Secret\$" out
		grep -E "^serviceaccounts +sa +v1 +true +ServiceAccount\$" out
		grep -E "^events +ev +v1 +true +Event\$" out
		grep -E "^events +ev +events.k8s.io/v1 +true +Event\$" out
		grep -E "^leases +coordination.k8s.io/v1 +true +Lease\$" out
		grep -E "^limitranges +limits +v1 +true +LimitRange\$" out
		grep -E "^resourcequotas +quota +v1 +true +ResourceQuota\$" out
		grep -E "^instances +.*tenancy.kairship.io/v1alpha1 +false +Instance\$" out
		k api-resources --namespaced=false --verbs=list -o name >out
		grep -x namespaces out
		test_must_fail grep -x configmaps out
	'
	test_expect_success 'every kind that says it can be listed can be' '
		k api-resources --verbs=list -o name >names
		for n in $(cat names); do
			k get -A $n >/dev/null
		done
	'
	test_expect_success 'explain' '
		k explain configmap >out
		grep -E "KIND: +ConfigMap" out
		grep -E "binaryData" out
		k explain configmap.data >out
		grep "map\[string\]string" out
		k explain namespace.spec.finalizers >out
		grep -i finalizers out
		k explain --recursive secret >out
		grep stringData out
		test_must_fail k explain configmap.nothing
	'
	test_expect_success 'discovery without a cache' '
		rm -rf "$tmp/cache-$kubectl_minor"
		k get cm -A
	'
	test_expect_success 'raw paths' '
		k get --raw /api/v1 >out
		grep "\"groupVersion\":\"v1\"" out
		k get --raw /openapi/v2 >out
		grep "io.k8s.api.core.v1.ConfigMap" out
		test_must_fail k get --raw /apis/no.such.group
	'
	# Old ones know types by v2, and not all names.
	raw="map\[string\]" fields="map\[string\]" json=
	if since 27; then
		raw=RawExtension fields=FieldsV1 json=JSON
	fi
	test_expect_success 'explain names types as Kubernetes does' '
		k explain pod.metadata.managedFields >out
		grep -E "fieldsV1[[:space:]]+<$fields>" out
		k explain controllerrevision >out
		grep -E "data[[:space:]]+<$raw>" out
		k explain crd.spec.versions.schema.openAPIV3Schema >out
		grep -E "default[[:space:]]+<$json>" out
		k explain gears.spec --api-version=shop.example.io/v1 >out
		grep -E "color[[:space:]]+<string>" out
	'
}

use_newest_kubectl
cat >"$tmp/crd.yaml" <<'EOF'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.shop.example.io}
spec:
  group: shop.example.io
  scope: Namespaced
  names: {plural: gears, kind: Gear, shortNames: [gr]}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}},
     selectableFields: [{jsonPath: .spec.color}],
     schema: {openAPIV3Schema: {type: object, description: A wheel with teeth., properties: {spec: {type: object,
       properties: {color: {type: string, enum: [red, blue]}}}}}}}
  - {name: v1beta1, served: true, storage: false, deprecated: true,
     schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
EOF

test_expect_success 'a CRD: its verbs, its lists, the warning of an old version' '
	k apply -f "$tmp/crd.yaml"
	k wait --for=condition=Established crd/gears.shop.example.io
	k get --raw /apis/shop.example.io/v1 >out
	grep "\"verbs\":\[\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"create\",\"update\",\"watch\"\]" out
	k get --raw /apis/shop.example.io/v1/gears >out
	grep "\"continue\":\"\"" out
	k get gears.v1beta1.shop.example.io 2>warned
	grep "^Warning: shop.example.io/v1beta1 Gear is deprecated; use shop.example.io/v1 Gear" warned
'
test_expect_success 'OpenAPI: below /watch, what paths share, free values, unions, selectable fields' '
	k get --raw /openapi/v2 >v2
	grep -o "\"/api/v1/watch/namespaces/{namespace}/pods/{name}\"" v2
	grep -o "\"#/parameters/namespace-[^\"]*\"" v2
	grep -o "\"x-kubernetes-unions\":\[{\"discriminator\":\"kind\"" v2
	grep -o "\"x-kubernetes-selectable-fields\":\[{\"fieldPath\":\"spec.color\"}\]" v2
	k get --raw /openapi/v3 >root
	for d in version apis/apps openid/v1/jwks; do
		k get --raw /openapi/v3/$d | grep "\"openapi\":\"3.0.0\""
	done
	test_must_fail k get --raw /openapi/v3/apis/shop.example.io
	k get --raw /openapi/v3/apis/shop.example.io/v1 >v3
	test_must_fail grep -o /watch/ v3
'

with_each_kubectl scenario
test_done
