# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the folders of tests/data hold, by kind, place, name and uid; tests/data/make writes it down,
# tests/e2e/09-older-data.t compares it.

objects() { # KUBECONFIG KUBECTL…
	config=$1
	shift
	server=$(sed -n 's/^ *server: *"\{0,1\}\([^"]*\).*/\1/p' "$config" | head -n 1)
	columns='custom-columns=:kind,:metadata.namespace,:metadata.name,:metadata.uid'
	for of in \
		'/ instances,users,groups,workspaces,secrets,configmaps,namespaces,serviceaccounts' \
		'/clusters/shop customresourcedefinitions,orders.shop.example.com,deployments,secrets' \
		'/clusters/shop configmaps,propagationpolicies,overridepolicies,resourcebindings,works' \
		'/clusters/shop clusters.cluster.karmada.io,namespaces,serviceaccounts' \
		'/clusters/bare namespaces,secrets,configmaps'; do
		"$@" --kubeconfig "$config" --server "$server${of%% *}" get "${of#* }" -A --no-headers -o "$columns" |
			grep -v 'kairship-installation' | sed "s|^|${of%% *} |" || return
	done | sort
}
