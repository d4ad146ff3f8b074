/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/controllers.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pace.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/members/api_importer.h"
#include "federation/controllers/members/clusters.h"
#include "federation/controllers/members/works.h"
#include "federation/controllers/platform/ghippo_webhook.h"
#include "federation/controllers/platform/rights_cleanup.h"
#include "federation/controllers/platform/status_sync.h"
#include "federation/controllers/propagation/propagator.h"
#include "federation/controllers/propagation/scheduler.h"
#include "federation/controllers/propagation/splitter.h"

/* They mostly wait for durable writes, which are committed together. */
enum { WORKERS = 8 };

struct controllers {
    struct arena *arena;
    struct controllers_options o;
    struct controller_group *group;
    struct egress egress;
    struct fleet *fleet;
    struct pace counted; /* what statistics are told */
    struct status_sync status_sync;
    struct ghippo_webhook ghippo_webhook;
    struct rights_cleanup rights_cleanup;
    struct clusters clusters;
    struct customizations *customizations;
    struct works *works;
    struct syncer_manager syncers;
    struct api_importer importer;
    struct splitting splitting;
    struct recorder *scheduler_tells; /* NULL: no scheduler here */
    struct scheduler *scheduler;
    struct propagator propagation;
    struct recorder *unserved_tells;
};

static void *statistics(struct controllers *m)
{
    return &m->counted;
}

static void *status_sync(struct controllers *m)
{
    m->status_sync =
        (struct status_sync){ .fleet = m->fleet, .karmada_version = STR(KARMADA_VERSION) };
    return &m->status_sync;
}

static void *ghippo_webhook(struct controllers *m)
{
    return &m->ghippo_webhook;
}

static void *rights_cleanup(struct controllers *m)
{
    m->rights_cleanup.recorder = recorder_new(&(struct recorder_options){
        .client = m->o.client(m->o.arg, STR("system:kairship:rights-cleanup")),
        .component = STR("rights-cleanup") });
    return &m->rights_cleanup;
}

static void *clusters(struct controllers *m)
{
    if (!m->clusters.recorder)
        m->clusters.recorder = recorder_new(&(struct recorder_options){
            .client = m->o.client(m->o.arg, STR("system:kairship:cluster-controller")),
            .component = STR("cluster-controller") });
    m->clusters.fleet = m->fleet;
    return &m->clusters;
}

static void *fleet(struct controllers *m)
{
    return m->fleet;
}

static void *works(struct controllers *m)
{
    return m->works;
}

static void *syncers(struct controllers *m)
{
    m->syncers.works = m->works;
    m->syncers.recorder = recorder_new(&(struct recorder_options){
        .client = m->o.client(m->o.arg, STR("system:kairship:syncer-manager")),
        .component = STR("syncer-manager") });
    m->syncers.place = m->o.syncers;
    m->syncers.server = m->o.server;
    m->syncers.image = m->o.syncer_image;
    m->syncers.silence_ms = m->o.syncer_silence_ms;
    m->syncers.beat_ms = m->o.syncer_silence_ms / 3;
    return &m->syncers;
}

static void *importer(struct controllers *m)
{
    m->importer.fleet = m->fleet;
    m->importer.resources = m->o.resources_to_sync;
    return &m->importer;
}

static void *splitting(struct controllers *m)
{
    m->splitting.grace_ms = m->o.splitter_grace_ms;
    return &m->splitting;
}

static void *scheduler(struct controllers *m)
{
    m->scheduler_tells = recorder_new(&(struct recorder_options){
        .client = m->o.client(m->o.arg, STR("system:kairship:scheduler")),
        .component = STR("default-scheduler") });
    m->scheduler = scheduler_new(m->scheduler_tells, NULL);
    return m->scheduler;
}

static void *propagation(struct controllers *m)
{
    if (!m->propagation.recorder) {
        m->propagation.recorder = recorder_new(&(struct recorder_options){
            .client = m->o.client(m->o.arg, STR("system:kairship:propagation")),
            .component = STR("karmada-controller") });
        m->propagation.customizations = m->customizations;
        propagator_init(&m->propagation);
    }
    return &m->propagation;
}

static void *unserved(struct controllers *m)
{
    m->unserved_tells = recorder_new(&(struct recorder_options){
        .client = m->o.client(m->o.arg, STR("system:kairship:unserved-kinds")),
        .component = STR("kairship") });
    return m->unserved_tells;
}

static const struct controller_row {
    const struct controller_spec *spec;
    void *(*arg)(struct controllers *m); /* what its reconcile is given; NULL: nothing */
} rows[] = {
#define X(spec, arg) { &spec, arg },
    MANAGER_CONTROLLERS(X)
#undef X
};

enum { ROWS = sizeof(rows) / sizeof(*rows) };

const char *controllers_name(size_t i)
{
    return i < ROWS ? rows[i].spec->name : NULL;
}

/* k8s: --controllers of kube-controller-manager: the last word that is about it counts */
static bool is_wanted(str list, const char *name)
{
    bool wanted = false;

    for (str word; str_split(&list, ',', &word);) {
        if (str_is(word, "*") || str_is(word, name))
            wanted = true;
        else if (word.n && word.p[0] == '-' && str_is(str_from(word, 1), name))
            wanted = false;
    }
    return wanted;
}

static bool is_known(str word)
{
    if (word.n && word.p[0] == '-')
        word = str_from(word, 1);
    for (size_t i = 0; i < ROWS; i++)
        if (str_is(word, rows[i].spec->name))
            return true;
    return str_is(word, "*");
}

int controllers_check(const char *controllers, struct status *st)
{
    for (str list = str_of(controllers), word; str_split(&list, ',', &word);)
        if (!is_known(word))
            return status_set(st, REASON_BAD_REQUEST,
                              "there is no controller \"%.*s\"; --help names all", STR_ARG(word));
    return 0;
}

static void start(struct controllers *m, const struct controller_row *row)
{
    struct controller_spec spec = *row->spec;
    str user = str_printf(m->arena, "system:kairship:%s", spec.name);

    if (row->arg)
        spec.arg = row->arg(m);
    (void)controller_group_start(m->group, &spec, m->o.client(m->o.arg, user));
}

struct controllers *controllers_start(const struct controllers_options *o)
{
    struct controllers *m = mem_zalloc(sizeof(*m));

    m->arena = arena_new();
    m->o = *o;
    m->egress = egress_default;
    m->egress.loopback = o->loopback;
    egress_deny(&m->egress, o->own);
    m->fleet = fleet_new(o->client(o->arg, STR("system:kairship:fleet")),
                         &(struct fleet_options){ .egress = &m->egress });
    m->customizations =
        customizations_new(o->client(o->arg, STR("system:kairship:customizations")), STR("*"));
    m->works = works_new(m->fleet, m->customizations);
    syncer_manager_init(&m->syncers);
    api_importer_init(&m->importer);
    splitting_init(&m->splitting);
    m->group = controller_group_new(WORKERS);
    for (size_t i = 0; i < ROWS; i++)
        if (is_wanted(str_of(o->controllers), rows[i].spec->name))
            start(m, &rows[i]);
    return m;
}

static void free_recorder(void *arg)
{
    recorder_free(arg);
}

static void free_fleet(void *arg)
{
    fleet_free(arg);
}

void controllers_stop(struct controllers *m)
{
    if (!m)
        return;
    clusters_stop(&m->clusters);
    controller_group_free(m->group);
    ghippo_webhook_release(&m->ghippo_webhook);
    clusters_release(&m->clusters);
    works_free(m->works);
    if (m->rights_cleanup.recorder)
        loop_call_wait(fleet_loop(m->fleet), free_recorder, m->rights_cleanup.recorder);
    if (m->clusters.recorder)
        loop_call_wait(fleet_loop(m->fleet), free_recorder, m->clusters.recorder);
    if (m->syncers.recorder)
        loop_call_wait(fleet_loop(m->fleet), free_recorder, m->syncers.recorder);
    syncer_manager_release(&m->syncers);
    api_importer_release(&m->importer);
    splitting_release(&m->splitting);
    if (m->scheduler_tells)
        loop_call_wait(fleet_loop(m->fleet), free_recorder, m->scheduler_tells);
    if (m->unserved_tells)
        loop_call_wait(fleet_loop(m->fleet), free_recorder, m->unserved_tells);
    scheduler_free(m->scheduler);
    if (m->propagation.recorder) {
        loop_call_wait(fleet_loop(m->fleet), free_recorder, m->propagation.recorder);
        propagator_release(&m->propagation);
    }
    customizations_free(m->customizations);
    loop_call_wait(fleet_loop(m->fleet), free_fleet, m->fleet);
    arena_free(m->arena);
    free(m);
}
