/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/index.h"

#include "base/banned.h"
#include "store/store.h"

enum domain { DOMAIN_LABEL = 1, DOMAIN_FIELD, DOMAIN_OWNER, DOMAIN_OWNED };

static uint64_t hash(enum domain d, str key, str value)
{
    /* Two keyed hashes rather than one of a joined string: no copy, no ambiguity. */
    uint64_t h = str_hash(value, str_hash(key, d, 0x6b616972), 0x73686970);

    return h ? h : 1;
}

uint64_t index_owner(str uid)
{
    return hash(DOMAIN_OWNER, STR_NONE, uid);
}

uint64_t index_owned(void)
{
    return hash(DOMAIN_OWNED, STR_NONE, STR_NONE);
}

str index_field(struct arena *a, const struct field_label *f, const struct json *tree)
{
    const struct json *v = json_path(tree, f->path);
    str s = json_is(v, JSON_STRING) || !v ? json_str(v) : json_text(a, v);

    if (s.n == 0 && f->alias)
        s = json_get_str(tree, f->alias);
    return s.n == 0 && f->zero ? str_of(f->zero) : s;
}

const struct json *index_values(struct arena *a, const struct field_label *f,
                                const struct json *tree)
{
    struct json_array all = json_array_new(a);

    f->each(a, tree, &all);
    return json_array_done(&all);
}

size_t index_hashes(struct arena *a, const struct kind *k, const struct json *tree,
                    const uint64_t **out)
{
    const struct json *labels = json_path(tree, "metadata.labels");
    const struct json *owners = json_path(tree, "metadata.ownerReferences");
    size_t n = 0, max = json_len(labels) + json_len(owners) + 1 + k->nfield_labels;
    const struct json **several = arena_array(a, const struct json *, k->nfield_labels + 1);
    uint64_t *hashes;

    for (size_t i = 0; i < k->nfield_labels; i++)
        if (k->field_labels[i].indexed && k->field_labels[i].each) {
            several[i] = index_values(a, &k->field_labels[i], tree);
            max += json_len(several[i]);
        }
    hashes = arena_array(a, uint64_t, max + 1);

    json_for_each_member (m, labels)
        hashes[n++] = hash(DOMAIN_LABEL, m->name, json_str(&m->value));
    json_for_each (o, owners)
        hashes[n++] = index_owner(json_get_str(o, "uid"));
    if (json_len(owners) ||
        (json_path(tree, "metadata.deletionTimestamp") && json_path(tree, "metadata.finalizers")))
        hashes[n++] = index_owned();
    for (size_t i = 0; i < k->nfield_labels; i++) {
        const struct field_label *f = &k->field_labels[i];

        json_for_each (v, several[i])
            hashes[n++] = hash(DOMAIN_FIELD, f->label, json_str(v));
        if (f->indexed && !f->each)
            hashes[n++] = hash(DOMAIN_FIELD, f->label, index_field(a, f, tree));
    }
    *out = hashes;
    return n;
}

static bool is_indexed(const struct kind *k, str label)
{
    for (size_t i = 0; i < k->nfield_labels; i++)
        if (str_eq(k->field_labels[i].label, label))
            return k->field_labels[i].indexed;
    return false;
}

uint64_t index_pick(const struct kind *k, const struct selector *labels,
                    const struct selector *fields)
{
    for (size_t i = 0; i < fields->nterms; i++) {
        const struct selector_term *t = &fields->terms[i];

        if (t->op == SELECTOR_IN && t->nvalues == 1 && is_indexed(k, t->key))
            return hash(DOMAIN_FIELD, t->key, t->values[0]);
    }
    for (size_t i = 0; i < labels->nterms; i++) {
        const struct selector_term *t = &labels->terms[i];

        if (t->op == SELECTOR_IN && t->nvalues == 1)
            return hash(DOMAIN_LABEL, t->key, t->values[0]);
    }
    return 0;
}
