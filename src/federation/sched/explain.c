/* SPDX-License-Identifier: Apache-2.0 */

/* A decision in words, for people. */

#include "base/banned.h"
#include "federation/sched/sched_internal.h"

enum { NAMED_MAX = 8 }; /* clusters in the sentence; the rest is a number */

static const char *const way_words[] = {
    [SCHED_WHOLE] = "whole",
    [SCHED_DUPLICATED] = "duplicated",
    [SCHED_STATIC_WEIGHT] = "static weight",
    [SCHED_DYNAMIC_WEIGHT] = "dynamic weight",
    [SCHED_AGGREGATED] = "aggregated",
};

static const char *const step_words[] = {
    [SCHED_NO_API] = "APIEnablement",
    [SCHED_TAINTED] = "TaintToleration",
    [SCHED_NOT_AFFINE] = "ClusterAffinity",
    [SCHED_NO_PROPERTY] = "SpreadConstraint",
    [SCHED_EVICTING] = "ClusterEviction",
    [SCHED_NOT_SELECTED] = "Select",
    [SCHED_NO_SHARE] = "Divide",
    [SCHED_UNDECIDED] = "Divide",
    [SCHED_CHOSEN] = "Chosen",
};

static const char *const outcome_words[] = {
    [SCHED_DONE] = "Success",
    [SCHED_NO_FIT] = "NoClusterFit",
    [SCHED_UNSCHEDULABLE] = "Unschedulable",
    [SCHED_ERROR] = "SchedulerError",
};

static str no_share(struct arena *a, const struct sched_decision *d, const struct sched_row *row)
{
    if (d->way == SCHED_DUPLICATED)
        return STR("there are 0 replicas");
    if (d->way == SCHED_STATIC_WEIGHT)
        return row->weight > 0 ? str_printf(a, "weight %lld of %lld is less than one replica",
                                            (long long)row->weight, (long long)d->weights)
                               : STR("no static weight names it");
    if (d->kept)
        return str_printf(a, "nothing is to be placed anew, and it had none; room for %lld",
                          (long long)row->room);
    if (d->scaled_down)
        return row->had ? STR("scaled down, and others keep the replicas")
                        : STR("scaled down, and it had none");
    if (row->room == 0)
        return STR("no room for one replica");
    if (d->way == SCHED_AGGREGATED)
        return str_printf(a, "others suffice (room for %lld here)", (long long)row->room);
    return str_printf(a, "room for %lld of %lld is less than one replica", (long long)row->weight,
                      (long long)d->weights);
}

static str share(struct arena *a, const struct sched_request *r, const struct sched_decision *d,
                 const struct sched_row *row)
{
    long long n = row->replicas, had = row->before, of = r->replicas, w = row->weight;

    switch (d->way) {
    case SCHED_WHOLE:
        return row->had ? STR("matches, and has it already") : STR("matches");
    case SCHED_DUPLICATED:
        return str_printf(a, "matches: all %lld replicas, as every chosen one", of);
    case SCHED_STATIC_WEIGHT:
        return str_printf(a, "%lld of %lld replicas: weight %lld of %lld", n, of, w,
                          (long long)d->weights);
    case SCHED_DYNAMIC_WEIGHT:
    case SCHED_AGGREGATED:
        break;
    }
    if (d->kept)
        return str_printf(a, "%lld of %lld replicas, as before; room for %lld more", n, of,
                          (long long)row->room);
    if (d->scaled_down)
        return str_printf(a, "had %lld, keeps %lld of %lld", had, n, of);
    if (d->scaled_up && w < 0)
        return str_printf(a, "keeps its %lld of %lld", n, of);
    if (d->scaled_up)
        return str_printf(a, "had %lld, gets %lld more: room for %lld of %lld", had, n - had, w,
                          (long long)d->weights);
    return str_printf(a, "%lld of %lld replicas: room for %lld of %lld", n, of, w,
                      (long long)d->weights);
}

static str taint_text(struct arena *a, const struct sched_taint *t)
{
    return str_printf(a, "%.*s%s%.*s:%.*s", STR_ARG(t->key), t->value.n ? "=" : "",
                      STR_ARG(t->value), STR_ARG(t->effect));
}

static str chosen(struct arena *a, const struct sched_request *r, const struct sched_decision *d,
                  const struct sched_row *row)
{
    str why = share(a, r, d, row);

    if (row->tier)
        why = str_printf(a, "%.*s (overflow group %u)", STR_ARG(why), row->tier);
    if (row->taint)
        why = str_printf(a, "%.*s; it was there before the taint %.*s", STR_ARG(why),
                         STR_ARG(taint_text(a, row->taint)));
    return why;
}

str sched_why(struct arena *a, const struct sched_request *r, const struct sched_decision *d,
              const struct sched_row *row)
{
    switch (row->verdict) {
    case SCHED_NO_API:
        return str_printf(a, "does not serve %.*s %.*s", STR_ARG(r->api_version), STR_ARG(r->kind));
    case SCHED_TAINTED:
        return str_printf(a, "taint %.*s is not tolerated", STR_ARG(taint_text(a, row->taint)));
    case SCHED_NOT_AFFINE:
        return d->affinity.n ? str_printf(a, "not in the affinity group %.*s", STR_ARG(d->affinity))
                             : STR("not what the placement's affinity asks for");
    case SCHED_NO_PROPERTY:
        return str_printf(a, "has no %.*s, by which the placement spreads", STR_ARG(row->property));
    case SCHED_EVICTING:
        return STR("the workload is being evicted from it");
    case SCHED_NOT_SELECTED:
        return row->room < 0 ? str_printf(a, "spread constraints chose others (score %lld)",
                                          (long long)row->score)
                             : str_printf(a,
                                          "spread constraints chose others (score %lld, room for "
                                          "%lld)",
                                          (long long)row->score, (long long)row->room);
    case SCHED_NO_SHARE:
        return no_share(a, d, row);
    case SCHED_UNDECIDED:
        return row->room < 0
                   ? STR("passes the filters, but the whole fails")
                   : str_printf(a, "passes the filters with room for %lld, but the whole fails",
                                (long long)row->room);
    case SCHED_CHOSEN:
        break;
    }
    return chosen(a, r, d, row);
}

static size_t count_chosen(const struct sched_decision *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->nrows; i++)
        n += d->rows[i].verdict == SCHED_CHOSEN;
    return n;
}

static str group_note(struct arena *a, const struct sched_decision *d)
{
    if (d->affinity.n == 0)
        return STR("");
    if (d->tried == 0)
        return str_printf(a, ", by affinity group %.*s", STR_ARG(d->affinity));
    return str_printf(a, ", by affinity group %.*s after %zu that did not fit",
                      STR_ARG(d->affinity), d->tried);
}

/* "m1 5, m2 1"; kept: of the previous result, which stays when there is no new one. */
static str result(struct arena *a, const struct sched_decision *d, bool kept)
{
    size_t n = 0;
    str list = STR("");

    for (size_t i = 0; i < d->nrows; i++) {
        const struct sched_row *row = &d->rows[i];
        int64_t replicas = kept ? row->before : row->replicas;

        if (!(kept ? row->had : row->verdict == SCHED_CHOSEN) || n++ >= NAMED_MAX)
            continue;
        list = str_printf(a, "%.*s%s%.*s", STR_ARG(list), list.n ? ", " : "",
                          STR_ARG(row->cluster->name));
        if (kept ? replicas > 0 : d->way != SCHED_WHOLE)
            list = str_printf(a, "%.*s %lld", STR_ARG(list), (long long)replicas);
    }
    if (n > NAMED_MAX)
        list = str_printf(a, "%.*s and %zu more", STR_ARG(list), n - NAMED_MAX);
    return list;
}

str sched_result(struct arena *a, const struct sched_decision *d)
{
    return result(a, d, false);
}

static str not_scheduled(struct arena *a, const struct sched_decision *d)
{
    str kept = result(a, d, true), text;

    text = str_printf(a, "Not scheduled%.*s: %.*s", STR_ARG(group_note(a, d)), STR_ARG(d->message));
    if (kept.n == 0)
        return text;
    return str_printf(a, "%.*s%s It stays where it is: %.*s.", STR_ARG(text),
                      str_ends(d->message, STR(".")) ? "" : ".", STR_ARG(kept));
}

str sched_sentence(struct arena *a, const struct sched_request *r, const struct sched_decision *d)
{
    size_t n = count_chosen(d);
    str what = d->way == SCHED_WHOLE ? STR("The object goes")
               : d->way == SCHED_DUPLICATED
                   ? str_printf(a, "%lld replicas go to each, duplicated,", (long long)r->replicas)
                   : str_printf(a, "%lld replicas are divided by %s", (long long)r->replicas,
                                d->way == SCHED_AGGREGATED ? "aggregation" : way_words[d->way]);

    if (d->outcome != SCHED_DONE)
        return not_scheduled(a, d);
    if (n == 0)
        return STR("No cluster gets anything: there are 0 replicas.");
    return str_printf(a, "%.*s %s %zu of %zu clusters%.*s: %.*s.", STR_ARG(what),
                      d->way == SCHED_WHOLE || d->way == SCHED_DUPLICATED ? "to" : "over", n,
                      d->nrows, STR_ARG(group_note(a, d)), STR_ARG(sched_result(a, d)));
}

const struct json *sched_whys(struct arena *a, const struct sched_request *r,
                              const struct sched_decision *d)
{
    struct json_object o = json_object_new(a);

    if (d->outcome != SCHED_DONE || (d->way != SCHED_DYNAMIC_WEIGHT && d->way != SCHED_AGGREGATED))
        return NULL;
    for (size_t i = 0; i < d->nrows && o.n < SCHED_WHY_MAX; i++)
        if (d->rows[i].verdict == SCHED_CHOSEN)
            json_add(&o, d->rows[i].cluster->name, json_of_str(share(a, r, d, &d->rows[i])));
    return json_object_done(&o);
}

static struct json explain_row(struct arena *a, const struct sched_request *r,
                               const struct sched_decision *d, const struct sched_row *row)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("name"), json_of_str(row->cluster->name));
    json_add(&o, STR("chosen"), json_of_bool(row->verdict == SCHED_CHOSEN));
    if (d->way != SCHED_WHOLE && row->verdict == SCHED_CHOSEN)
        json_add(&o, STR("replicas"), json_of_int(row->replicas));
    if (row->had)
        json_add(&o, STR("before"), json_of_int(row->before));
    if (row->room >= 0)
        json_add(&o, STR("room"), json_of_int(row->room));
    if (row->weight >= 0)
        json_add(&o, STR("weight"), json_of_int(row->weight));
    json_add(&o, STR("step"), json_of_str(str_of(step_words[row->verdict])));
    json_add(&o, STR("why"), json_of_str(sched_why(a, r, d, row)));
    if (d->outcome != SCHED_DONE && row->had)
        json_add(&o, STR("kept"), json_of_bool(true));
    return json_object_value(&o);
}

const struct json *sched_explain(struct arena *a, const struct sched_request *r,
                                 const struct sched_decision *d)
{
    struct json_object o = json_object_new(a);
    struct json_array rows = json_array_new(a);

    json_add(&o, STR("outcome"), json_of_str(str_of(outcome_words[d->outcome])));
    if (d->message.n)
        json_add(&o, STR("message"), json_of_str(d->message));
    if (d->affinity.n)
        json_add(&o, STR("affinity"), json_of_str(d->affinity));
    json_add(&o, STR("strategy"), json_of_str(str_of(way_words[d->way])));
    json_add(&o, STR("sentence"), json_of_str(sched_sentence(a, r, d)));
    for (size_t i = 0; i < d->nrows; i++)
        json_push(&rows, explain_row(a, r, d, &d->rows[i]));
    json_add(&o, STR("clusters"), json_array_value(&rows));
    return json_object_done(&o);
}
