/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A template's status out of those of its copies.
 * karmada: pkg/resourceinterpreter/default/native/aggregatestatus.go, pkg/util/helper/job.go
 */

#include <stdlib.h>

#include "base/banned.h"
#include "federation/interp/interp_table.h"

static int64_t number(const struct json *v, const char *name)
{
    return json_int(json_get(v, str_of(name)), 0);
}

static int64_t sum(int64_t a, int64_t b)
{
    int64_t s;

    return __builtin_add_overflow(a, b, &s) ? INT64_MAX : s;
}

/* The status as it is, to be changed. */
static struct json_object status_of(struct arena *a, const struct json *object)
{
    const struct json *now = json_get(object, STR("status"));

    return json_object_from(a, json_is(now, JSON_OBJECT) ? now : &json_empty_object);
}

static void put_number(struct json_object *o, const char *name, int64_t n, bool always)
{
    if (n || always)
        json_put(o, str_of(name), json_of_int(n));
    else
        json_remove(o, str_of(name));
}

/* Whether a member's numbers are of its newest spec, and that of the template's newest. */
static bool has_observed(const struct json *status, int64_t generation)
{
    return number(status, "observedGeneration") >= number(status, "generation") &&
           number(status, "resourceTemplateGeneration") >= generation;
}

/* What a member adds to a number. */
static int64_t part_of(const struct json *item, const struct interp_counter *c)
{
    const struct json *status = json_get(item, STR("status"));
    const char *name = c->name;

    if (c->silent && json_get(item, STR(INTERP_UNKNOWN_SINCE)))
        name = c->silent;
    return *name ? number(status, name) : 0;
}

const struct json *aggregate_counters(struct arena *a, const struct json *object,
                                      const struct json *aggregated)
{
    const struct interp_kind *k = interp_kind(object);
    int64_t generation = json_int(json_path(object, "metadata.generation"), 0);
    struct json_object o = status_of(a, object);
    bool observed = true;

    json_for_each (item, aggregated)
        observed &= has_observed(json_get(item, STR("status")), generation);
    for (const struct interp_counter *c = k->counters; c->name; c++) {
        int64_t n = 0;

        json_for_each (item, aggregated)
            n = sum(n, part_of(item, c));
        put_number(&o, c->name, n, c->always);
    }
    if (k->generations && observed && generation)
        json_put(&o, STR("observedGeneration"), json_of_int(generation));
    return json_object_done(&o);
}

static const struct json *condition(const struct json *status, const char *type)
{
    json_for_each (c, json_get(status, STR("conditions")))
        if (str_is(json_get_str(c, "type"), type))
            return c;
    return NULL;
}

static bool is_true(const struct json *status, const char *type)
{
    return str_is(json_get_str(condition(status, type), "status"), "True");
}

/* Times are RFC 3339 of one form, so that their order is that of the bytes. */
static str later(str a, str b)
{
    return str_cmp(a, b) < 0 ? b : a;
}

struct jobs { /* what the members say of theirs */
    size_t members, complete, started;
    str failed; /* names of clusters */
    str start, end;
};

static void add_job(struct arena *a, struct jobs *j, const struct json *item)
{
    const struct json *status = json_get(item, STR("status"));
    str start = json_get_str(status, "startTime"), end = json_get_str(status, "completionTime");
    str cluster = json_get_str(item, "clusterName");

    j->members++;
    if (is_true(status, "Complete"))
        j->complete++;
    else if (is_true(status, "Failed"))
        j->failed = str_printf(a, "%.*s%s%.*s", STR_ARG(j->failed), j->failed.n ? "," : "",
                               STR_ARG(cluster));
    if (start.n) {
        j->started++;
        if (!j->start.n || str_cmp(start, j->start) < 0)
            j->start = start;
    }
    if (end.n)
        j->end = later(j->end, end);
}

/* The time is that of the template's condition, or of the last member's end: this is pure. */
static void push_condition(struct arena *a, struct json_array *list, const struct jobs *j,
                           const char *type, const char *reason, str message)
{
    struct json_object o = json_object_new(a);
    str at = j->end.n ? j->end : j->start;

    json_add(&o, STR("type"), json_of_str(str_of(type)));
    json_add(&o, STR("status"), json_of_str(STR("True")));
    if (at.n) {
        json_add(&o, STR("lastProbeTime"), json_of_str(at));
        json_add(&o, STR("lastTransitionTime"), json_of_str(at));
    }
    json_add(&o, STR("reason"), json_of_str(str_of(reason)));
    json_add(&o, STR("message"), json_of_str(message));
    json_push(list, json_object_value(&o));
}

/* What was true of the template stays so, in the words of then. */
static bool keep_condition(struct json_array *list, const struct json *was, const char *type)
{
    json_for_each (c, json_get(was, STR("conditions")))
        if (str_is(json_get_str(c, "type"), type) && str_is(json_get_str(c, "status"), "True")) {
            json_push(list, *c);
            return true;
        }
    return false;
}

/*
 * As an API server takes them (src/kinds/k8s/job_status.c): a Job that failed in one member will
 * fail, and has failed when nothing runs any more; SuccessCriteriaMet goes with Complete, also
 * where members are too old to say it.  Karmada writes Failed alone, and at once.
 */
static struct json job_conditions(struct arena *a, const struct jobs *j, const struct json *was,
                                  int64_t active)
{
    struct json_array list = json_array_new(a);
    str why = str_printf(a, "Job executed failed in member clusters %.*s", STR_ARG(j->failed));
    bool fails = keep_condition(&list, was, "FailureTarget");

    if (!fails && j->failed.n) {
        push_condition(a, &list, j, "FailureTarget", "JobFailed", why);
        fails = true;
    }
    if (fails) {
        if (active == 0 && j->failed.n && (j->start.n || json_get(was, STR("startTime"))))
            push_condition(a, &list, j, "Failed", "JobFailed", why);
        return json_array_value(&list);
    }
    if (j->members == 0 || j->complete < j->members || !j->end.n || !j->start.n)
        return json_array_value(&list);
    push_condition(a, &list, j, "Complete", "Completed", STR("Job completed"));
    push_condition(a, &list, j, "SuccessCriteriaMet", "CompletionsReached",
                   STR("All member clusters have met success criteria"));
    return json_array_value(&list);
}

const struct json *aggregate_job(struct arena *a, const struct json *object,
                                 const struct json *aggregated)
{
    static const char *const counters[] = { "active", "succeeded", "failed" };
    const struct json *was = json_get(object, STR("status"));
    struct json_object o = json_object_new(a);
    struct jobs j = { 0 };
    struct json conditions;
    str start = json_get_str(was, "startTime");
    int64_t active = 0;

    if (is_true(was, "Complete") || is_true(was, "Failed"))
        return NULL; /* a finished Job's status stays */
    for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
        int64_t n = 0, had = i ? number(was, counters[i]) : 0; /* what has ended stays counted */

        json_for_each (item, aggregated)
            n = sum(n, number(json_get(item, STR("status")), counters[i]));
        active = i ? active : n;
        put_number(&o, counters[i], n < had ? had : n, false);
    }
    json_for_each (item, aggregated)
        add_job(a, &j, item);
    conditions = job_conditions(a, &j, was, active);
    if (conditions.n)
        json_add(&o, STR("conditions"), conditions);
    if (!start.n && (j.started == j.members || j.failed.n))
        start = j.start;
    if (start.n)
        json_add(&o, STR("startTime"), json_of_str(start));
    if (j.end.n && j.complete == j.members && !j.failed.n && !is_true(was, "FailureTarget"))
        json_add(&o, STR("completionTime"), json_of_str(j.end));
    return json_object_done(&o);
}

const struct json *aggregate_cronjob(struct arena *a, const struct json *object,
                                     const struct json *aggregated)
{
    static const char *const times[] = { "lastScheduleTime", "lastSuccessfulTime" };
    struct json_object o = status_of(a, object);
    struct json_array active = json_array_new(a);

    json_for_each (item, aggregated)
        json_for_each (ref, json_path(item, "status.active"))
            json_push(&active, *ref);
    json_remove(&o, STR("active"));
    if (active.n)
        json_add(&o, STR("active"), json_array_value(&active));
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        str at = STR_NONE;

        json_for_each (item, aggregated)
            at = later(at, json_str(json_get(json_get(item, STR("status")), str_of(times[i]))));
        json_remove(&o, str_of(times[i]));
        if (at.n)
            json_add(&o, str_of(times[i]), json_of_str(at));
    }
    return json_object_done(&o);
}

static int by_address(const void *a, const void *b)
{
    int c = str_cmp(json_get_str(a, "ip"), json_get_str(b, "ip"));

    return c ? c : str_cmp(json_get_str(a, "hostname"), json_get_str(b, "hostname"));
}

/* All addresses of all members, each once, in order. */
static struct json addresses(struct arena *a, const struct json *aggregated)
{
    struct json_array all = json_array_new(a), once = json_array_new(a);

    json_for_each (item, aggregated)
        json_for_each (in, json_path(item, "status.loadBalancer.ingress"))
            json_push(&all, *in);
    if (all.n > 1)
        qsort(all.items, all.n, sizeof(*all.items), by_address);
    for (uint32_t i = 0; i < all.n; i++)
        if (once.n == 0 || !json_equal(&once.items[once.n - 1], &all.items[i]))
            json_push(&once, all.items[i]);
    return json_array_value(&once);
}

const struct json *aggregate_ingress(struct arena *a, const struct json *object,
                                     const struct json *aggregated)
{
    struct json_object o = status_of(a, object), lb = json_object_new(a);
    struct json list = addresses(a, aggregated);

    if (list.n)
        json_add(&lb, STR("ingress"), list);
    json_put(&o, STR("loadBalancer"), json_object_value(&lb));
    return json_object_done(&o);
}

const struct json *aggregate_service(struct arena *a, const struct json *object,
                                     const struct json *aggregated)
{
    if (!str_is(json_get_str(object, "spec.type"), "LoadBalancer"))
        return NULL;
    return aggregate_ingress(a, object, aggregated);
}

/* The first of the phases, in order of weight, that a copy is in; one that says nothing is
 * Pending. */
static str phase(const struct json *aggregated, const char *const *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        json_for_each (item, aggregated) {
            const struct json *status = json_get(item, STR("status"));
            str p = status ? json_get_str(status, "phase") : STR("Pending");

            if (str_is(p, order[i]))
                return p;
        }
    return STR_NONE;
}

static void push_containers(struct arena *a, struct json_object *o, const char *name,
                            const struct json *aggregated)
{
    struct json_array list = json_array_new(a);

    json_for_each (item, aggregated)
        json_for_each (c, json_get(json_get(item, STR("status")), str_of(name))) {
            static const char *const kept[] = { "name",  "image",        "imageID",
                                                "ready", "restartCount", "state" };
            struct json_object one = json_object_new(a);

            for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
                const struct json *v = json_get(c, str_of(kept[i]));

                if (v)
                    json_add(&one, str_of(kept[i]), *v);
            }
            json_push(&list, json_object_value(&one));
        }
    if (list.n)
        json_add(o, str_of(name), json_array_value(&list));
}

const struct json *aggregate_pod(struct arena *a, const struct json *object,
                                 const struct json *aggregated)
{
    static const char *const order[] = { "Failed", "Pending", "Running", "Succeeded" };
    str at = phase(aggregated, order, sizeof(order) / sizeof(*order));
    struct json_object o = json_object_new(a);

    (void)object;
    if (json_len(aggregated) == 0)
        return NULL;
    if (at.n)
        json_add(&o, STR("phase"), json_of_str(at));
    push_containers(a, &o, "containerStatuses", aggregated);
    push_containers(a, &o, "initContainerStatuses", aggregated);
    return json_object_done(&o);
}

static const struct json *only_phase(struct arena *a, str at)
{
    struct json_object o = json_object_new(a);

    if (at.n)
        json_add(&o, STR("phase"), json_of_str(at));
    return json_object_done(&o);
}

const struct json *aggregate_pv(struct arena *a, const struct json *object,
                                const struct json *aggregated)
{
    static const char *const order[] = { "Failed", "Pending", "Available", "Bound", "Released" };

    (void)object;
    if (json_len(aggregated) == 0)
        return NULL;
    return only_phase(a, phase(aggregated, order, sizeof(order) / sizeof(*order)));
}

const struct json *aggregate_pvc(struct arena *a, const struct json *object,
                                 const struct json *aggregated)
{
    str at = STR("Bound");

    (void)object;
    json_for_each (item, aggregated) {
        str p = json_get_str(item, "status.phase");

        if (str_is(p, "Lost"))
            return only_phase(a, p);
        if (p.n && !str_is(p, "Bound"))
            at = p;
    }
    return only_phase(a, at);
}
