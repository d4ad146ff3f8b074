/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

static struct fixture pods(void)
{
    return fixture_new("", "v1", "pods");
}

#define GOOD "{'spec':{'containers':[{'name':'a','image':'i:1'}]}}"

TEST(a_small_pod_is_completed)
{
    struct fixture f = pods();
    const struct json *pod = fixture_read(&f, fixture_quotes(&f, GOOD));

    CHECK_STR(fixture_print(&f, json_get(pod, STR("spec"))),
              "{\"containers\":[{\"image\":\"i:1\",\"imagePullPolicy\":\"IfNotPresent\",\"name\":"
              "\"a\",\"resources\":{},\"terminationMessagePath\":\"/dev/termination-log\","
              "\"terminationMessagePolicy\":\"File\"}],\"dnsPolicy\":\"ClusterFirst\","
              "\"enableServiceLinks\":true,\"restartPolicy\":\"Always\",\"schedulerName\":"
              "\"default-scheduler\",\"securityContext\":{},\"terminationGracePeriodSeconds\":30}");
    CHECK_STR(fixture_faults(&f, pod, NULL), "");
    pod = f.kind->ops->prepare_create(&f.c, pod);
    CHECK_STR(fixture_print(&f, json_get(pod, STR("status"))),
              "{\"phase\":\"Pending\",\"qosClass\":\"BestEffort\"}");
    fixture_release(&f);
}

TEST(images_say_when_to_pull)
{
    static const char *const rows[][2] = {
        { "nginx", "Always" },
        { "nginx:latest", "Always" },
        { "nginx:1", "IfNotPresent" },
        { "host:5000/nginx", "Always" },
        { "host:5000/nginx:1", "IfNotPresent" },
        { "nginx@sha256:00", "IfNotPresent" },
        { "Bad_Value!", "IfNotPresent" }, /* it is no image */
        { "-a", "IfNotPresent" },
        { "a..b", "IfNotPresent" },
        { "Host/a__b-c.d/e", "Always" },
    };
    struct fixture f = pods();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        str text = str_printf(f.c.arena, "{'spec':{'containers':[{'name':'a','image':'%s'}]}}",
                              rows[i][0]);
        const struct json *pod = fixture_read(&f, fixture_quotes(&f, str_z(f.c.arena, text)));
        const struct json *c = json_at(json_path(pod, "spec.containers"), 0);

        CHECK_STR(str_z(f.c.arena, json_get_str(c, "imagePullPolicy")), rows[i][1]);
    }
    fixture_release(&f);
}

TEST(parts_of_a_pod_have_defaults)
{
    struct fixture f = pods();
    const struct json *pod = fixture_read(
        &f,
        fixture_quotes(&f, "{'spec':{'hostNetwork':true,'volumes':[{'name':'e'},{'name':'h',"
                           "'hostPath':{'path':'/x'}},{'name':'s','secret':{'secretName':'x'}}],"
                           "'containers':[{'name':'a','image':'i:1','ports':[{'containerPort':80}],"
                           "'resources':{'limits':{'cpu':'1'},'requests':{'memory':'1Mi'}},"
                           "'readinessProbe':{'httpGet':{'port':80}},'env':[{'name':'N',"
                           "'valueFrom':{'fieldRef':{'fieldPath':'metadata.name'}}}]}]}}"));
    const struct json *c = json_at(json_path(pod, "spec.containers"), 0);

    CHECK_STR(fixture_print(&f, json_path(pod, "spec.volumes")),
              "[{\"emptyDir\":{},\"name\":\"e\"},{\"hostPath\":{\"path\":\"/x\",\"type\":\"\"},"
              "\"name\":\"h\"},{\"name\":\"s\",\"secret\":{\"defaultMode\":420,\"secretName\":"
              "\"x\"}}]");
    CHECK_STR(fixture_print(&f, json_get(c, STR("ports"))),
              "[{\"containerPort\":80,\"hostPort\":80,\"protocol\":\"TCP\"}]");
    CHECK_STR(fixture_print(&f, json_get(c, STR("resources"))),
              "{\"limits\":{\"cpu\":\"1\"},\"requests\":{\"cpu\":\"1\",\"memory\":\"1Mi\"}}");
    CHECK_STR(fixture_print(&f, json_get(c, STR("readinessProbe"))),
              "{\"failureThreshold\":3,\"httpGet\":{\"path\":\"/\",\"port\":80,\"scheme\":"
              "\"HTTP\"},\"periodSeconds\":10,\"successThreshold\":1,\"timeoutSeconds\":1}");
    CHECK_STR(
        fixture_print(&f, json_path(json_at(json_get(c, STR("env")), 0), "valueFrom.fieldRef")),
        "{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.name\"}");
    CHECK_STR(fixture_faults(&f, pod, NULL), "");
    fixture_release(&f);
}

TEST(containers)
{
    static const struct fixture_row rows[] = {
        { "{'name':'a','image':'i'}", "" },
        { "{'name':'a'}", "spec.containers[0].image: Required value" },
        { "{'image':'i'}", "spec.containers[0].name: Required value" },
        { "{'name':'a','image':' i'}",
          "spec.containers[0].image: Invalid value: \" i\": must not have leading or trailing "
          "whitespace" },
        { "{'name':'a','image':'i'},{'name':'a','image':'i'}",
          "spec.containers[1].name: Duplicate value: \"a\"" },
        { "{'name':'a','image':'i','imagePullPolicy':'x'}",
          "spec.containers[0].imagePullPolicy: Unsupported value: \"x\": supported values: "
          "\"Always\", \"IfNotPresent\", \"Never\"" },
        { "{'name':'a','image':'i','ports':[{'containerPort':99999}]}",
          "spec.containers[0].ports[0].containerPort: Invalid value: 99999: must be between 1 and "
          "65535, inclusive" },
        { "{'name':'a','image':'i','ports':[{}]}",
          "spec.containers[0].ports[0].containerPort: Required value" },
        { "{'name':'a','image':'i','ports':[{'containerPort':1,'name':'x'},{'containerPort':2,"
          "'name':'x'}]}",
          "spec.containers[0].ports[1].name: Duplicate value: \"x\"" },
        { "{'name':'a','image':'i','ports':[{'containerPort':1,'hostPort':8},{'containerPort':2,"
          "'hostPort':8}]}",
          "spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//8\"" },
        { "{'name':'a','image':'i','env':[{'name':'a=b'}]}",
          "spec.containers[0].env[0].name: Invalid value: \"a=b\": a valid environment variable "
          "name must consist only of printable ASCII characters other than '='" },
        { "{'name':'a','image':'i','env':[{'name':'A','value':'x','valueFrom':{'secretKeyRef':"
          "{'name':'s','key':'k'}}}]}",
          "spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be specified when "
          "`value` is not empty" },
        { "{'name':'a','image':'i','volumeMounts':[{'name':'v','mountPath':'/x'}]}",
          "spec.containers[0].volumeMounts[0].name: Not found: \"v\"" },
        { "{'name':'a','image':'i','resources':{'requests':{'cpu':'2'},'limits':{'cpu':'1'}}}",
          "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal "
          "to cpu limit of 1" },
        { "{'name':'a','image':'i','resources':{'limits':{'bananas':'1'}}}",
          "spec.containers[0].resources.limits[bananas]: Invalid value: \"bananas\": must be a "
          "standard resource type or fully qualified; spec.containers[0].resources.limits[bananas]:"
          " Invalid value: \"bananas\": must be a standard resource for containers; "
          "spec.containers[0].resources.requests[bananas]: Invalid value: \"bananas\": must be a "
          "standard resource type or fully qualified; "
          "spec.containers[0].resources.requests[bananas]: Invalid value: \"bananas\": must be a "
          "standard resource for containers" },
        { "{'name':'a','image':'i','livenessProbe':{}}",
          "spec.containers[0].livenessProbe: Required value: must specify a handler type" },
        { "{'name':'a','image':'i','livenessProbe':{'exec':{'command':['x']},'tcpSocket':{'port':"
          "1},'successThreshold':2}}",
          "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 "
          "handler type; spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must "
          "be 1" },
        { "{'name':'a','image':'i','securityContext':{'privileged':true,"
          "'allowPrivilegeEscalation':false}}",
          "spec.containers[0].securityContext: Invalid value: {\"privileged\":true,"
          "\"allowPrivilegeEscalation\":false}: cannot set `allowPrivilegeEscalation` to false and "
          "`privileged` to true" },
    };
    struct fixture f = pods();

    FIXTURE_ROWS(&f, "{'spec':{'containers':[%s]}}", rows);
    CHECK_STR(fixture_create_faults(&f, "{}"), "spec.containers: Required value");
    fixture_release(&f);
}

TEST(the_rest_of_the_spec)
{
    static const struct fixture_row rows[] = {
        { "'volumes':[{'name':'v'},{'name':'v'}]", "spec.volumes[1].name: Duplicate value: \"v\"" },
        { "'volumes':[{'name':'v','emptyDir':{},'hostPath':{'path':'/x'}}]",
          "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type" },
        { "'volumes':[{'name':'v','hostPath':{'path':'/x/../y','type':'Nope'}}]",
          "spec.volumes[0].hostPath.path: Invalid value: \"/x/../y\": must not contain '..'; "
          "spec.volumes[0].hostPath.type: Unsupported value: \"Nope\": supported values: \"\", "
          "\"BlockDevice\", \"CharDevice\", \"Directory\", \"DirectoryOrCreate\", \"File\", "
          "\"FileOrCreate\", \"Socket\"" },
        { "'volumes':[{'name':'v','secret':{'items':[{'key':'k','path':'/x'}]}}]",
          "spec.volumes[0].secret.secretName: Required value; "
          "spec.volumes[0].secret.items[0].path: Invalid value: \"/x\": must be a relative path" },
        { "'restartPolicy':'Sometimes'",
          "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", "
          "\"OnFailure\", \"Never\"" },
        { "'dnsPolicy':'None'",
          "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None" },
        { "'tolerations':[{'operator':'Equal','value':'x'}]",
          "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when "
          "`key` is empty, which means \"match all values and all keys\"" },
        { "'tolerations':[{'key':'a','effect':'Nope'}]",
          "spec.tolerations[0].effect: Unsupported value: \"Nope\": supported values: "
          "\"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"" },
        { "'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{}}}",
          "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
          "nodeSelectorTerms: Required value: must have at least one node selector term" },
        { "'affinity':{'podAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{"
          "'weight':0,'podAffinityTerm':{'topologyKey':'k'}}]}}",
          "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
          "Invalid value: 0: must be in the range 1-100" },
        { "'initContainers':[{'name':'b','image':'i','livenessProbe':{'exec':{'command':['x']}}}]",
          "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers "
          "without restartPolicy=Always" },
        { "'ephemeralContainers':[{'name':'b','image':'i'}]",
          "spec.ephemeralContainers: Forbidden: cannot be set on create" },
        { "'activeDeadlineSeconds':0",
          "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, "
          "inclusive" },
        { "'nodeSelector':{'a':'b c'}",
          "spec.nodeSelector: Invalid value: \"b c\": a valid label must be an empty string or "
          "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
          "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
          "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')" },
    };
    struct fixture f = pods();

    FIXTURE_ROWS(&f, "{'spec':{'containers':[{'name':'a','image':'i'}],%s}}", rows);
    fixture_release(&f);
}

#define TERM "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
#define NEAR(rest)                                                                   \
    "'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{" \
    "'topologyKey':'k'" rest "}]}}"

TEST(keys_of_labels)
{
    static const struct fixture_row rows[] = {
        { NEAR(",'labelSelector':{},'matchLabelKeys':['a'],'mismatchLabelKeys':['b']"), "" },
        { NEAR(",'matchLabelKeys':['a']"),
          TERM ".matchLabelKeys: Forbidden: must not be specified when labelSelector is not set" },
        { NEAR(",'labelSelector':{},'matchLabelKeys':['a'],'mismatchLabelKeys':['a']"),
          TERM ".matchLabelKeys[0]: Invalid value: \"a\": exists in both matchLabelKeys and "
               "mismatchLabelKeys" },
        { NEAR(",'labelSelector':{'matchLabels':{'a':'x'},'matchExpressions':[{'key':'a',"
               "'operator':'Exists'}]},'matchLabelKeys':['a']"),
          TERM "[0]: Invalid value: \"a\": exists in both matchLabelKeys and labelSelector" },
        { "'topologySpreadConstraints':[{'maxSkew':0,'topologyKey':'k','whenUnsatisfiable':"
          "'DoNotSchedule','matchLabelKeys':['a']}]",
          "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero; "
          "spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when "
          "labelSelector is not set" },
    };
    struct fixture f = pods();
    const struct json *pod;

    FIXTURE_ROWS(&f, "{'spec':{'containers':[{'name':'a','image':'i'}],%s}}", rows);
    pod = fixture_read(&f,
                       fixture_quotes(&f, "{'metadata':{'labels':{'a':'x','b':'y'}},'spec':{" NEAR(
                                              ",'labelSelector':{},'matchLabelKeys':['a','none'],"
                                              "'mismatchLabelKeys':['b']") "}}"));
    pod = f.kind->ops->prepare_create(&f.c, pod);
    pod = json_at(json_path(pod, "spec.affinity.podAffinity."
                                 "requiredDuringSchedulingIgnoredDuringExecution"),
                  0);
    CHECK_STR(fixture_print(&f, json_path(pod, "labelSelector.matchExpressions")),
              "[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"x\"]},"
              "{\"key\":\"b\",\"operator\":\"NotIn\",\"values\":[\"y\"]}]");
    fixture_release(&f);
}

TEST(references_to_the_pod)
{
    static const struct fixture_row rows[] = {
        { "'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'metadata.uid'}}}]", "" },
        { "'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'nope'}}}]",
          "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"nope\": error "
          "converting fieldPath: field label not supported: nope" },
        { "'env':[{'name':'A','valueFrom':{'fieldRef':{'apiVersion':'v2','fieldPath':'x'}}}]",
          "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"x\": error "
          "converting fieldPath: unsupported pod version: v2" },
        { "'env':[{'name':'A','valueFrom':{'resourceFieldRef':{'resource':'limits.cpu','divisor':"
          "'1k'}}}]",
          "spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "
          "\"limits.cpu\": only divisor's values 1m and 1 are supported with the cpu resource" },
        { "'resources':{'claims':[{'name':'x'},{'name':'r'},{'name':'r','request':'q'}]}",
          "spec.containers[0].resources.claims[0]: Not found: \"x\": must be one of the names in "
          "pod.spec.resourceClaims: q, r; spec.containers[0].resources.claims[2]: Duplicate "
          "value: \"r/q\"" },
        { "'resizePolicy':[{'resourceName':'disk'}]",
          "spec.containers[0].resizePolicy: Unsupported value: \"disk\": supported values: "
          "\"cpu\", \"memory\"; spec.containers[0].resizePolicy: Required value" },
        { "'securityContext':{'privileged':true,'windowsOptions':{}}",
          "spec.containers[0].securityContext.privileged: Forbidden: cannot be set for a windows "
          "pod" },
    };
    struct fixture f = pods();

    FIXTURE_ROWS(&f,
                 "{'spec':{'os':{'name':'windows'},'resourceClaims':[{'name':'r',"
                 "'resourceClaimName':'x'},{'name':'q','resourceClaimName':'x'}],"
                 "'containers':[{'name':'a','image':'i',%s}]}}",
                 rows);
    fixture_release(&f);
}

#define POD(image, more) "{'spec':{'containers':[{'name':'a','image':'" image "'}]" more "}}"

#define POD_STAYS                                                                           \
    "spec: Forbidden: pod updates may not change fields other than "                        \
    "`spec.containers[*].image`,`spec.initContainers[*].image`,"                            \
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "          \
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was " \
    "previously negative)"

TEST(ephemeral_containers_stay)
{
    struct fixture f = pods();
    static const char was[] = "{'spec':{'containers':[{'name':'a','image':'i'}],"
                              "'ephemeralContainers':[{'name':'e','image':'i:1'}]}}";
    static const char other[] = "{'spec':{'containers':[{'name':'a','image':'i'}],"
                                "'ephemeralContainers':[{'name':'e','image':'i:2'}]}}";
    static const char none[] = "{'spec':{'containers':[{'name':'a','image':'i'}]}}";

    f.c.subresource = STR("ephemeralcontainers");
    CHECK_STR(fixture_update_faults(&f, was, other),
              "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"e\" may not be "
              "changed");
    CHECK_STR(fixture_update_faults(&f, was, none),
              "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"e\" may not be "
              "removed");
    fixture_release(&f);
}

TEST(little_of_a_pod_can_change)
{
    struct fixture f = pods();

    CHECK_STR(fixture_update_faults(&f, POD("i:1", ""), POD("i:2", "")), "");
    CHECK_STR(fixture_update_faults(&f, POD("i:1", ""),
                                    POD("i:1", ",'tolerations':[{'operator':'Exists'}]")),
              "");
    CHECK_STR(fixture_update_faults(&f, POD("i:1", ""), POD("i:2", ",'restartPolicy':'Never'")),
              POD_STAYS);
    CHECK_STR(fixture_update_faults(&f, GOOD,
                                    "{'spec':{'containers':[{'name':'a','image':'i:1'},{'name':"
                                    "'b','image':'i'}]}}"),
              "spec.containers: Forbidden: pod updates may not add or remove containers");
    CHECK_STR(fixture_update_faults(&f, POD("i:1", ",'activeDeadlineSeconds':5"),
                                    POD("i:1", ",'activeDeadlineSeconds':6")),
              "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to "
              "previous value");
    fixture_release(&f);
}

TEST(what_may_change_of_a_pod_is_looked_at)
{
#define TOLERATES(more) ",'tolerations':[{'key':'a','operator':'Exists'" more "}]"
#define NODES           ",'schedulingGates':[{'name':'g'}],'affinity':{'nodeAffinity':{"
#define REQUIRED        "'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':["
#define IN(key)         "{'key':'" key "','operator':'Exists'}"
#define TERMS \
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    static const struct {
        const char *was, *now, *fault; /* the beginning of the first one */
    } table[] = {
        { POD("i:1", TOLERATES(",'effect':'NoExecute','tolerationSeconds':5")),
          POD("i:1", TOLERATES(",'effect':'NoExecute','tolerationSeconds':7")), "" },
        { POD("i:1", TOLERATES("")), POD("i:1", TOLERATES(",'effect':'NoExecute'")),
          "spec.tolerations: Forbidden: existing toleration can not be modified except its "
          "tolerationSeconds" },
        { POD("i:1", ""), POD(" i:1", ""),
          "spec.containers[0].image: Invalid value: \" i:1\": must "
          "not have leading or trailing whitespace" },
        { POD("i:1", ",'terminationGracePeriodSeconds':-1"),
          POD("i:1", ",'terminationGracePeriodSeconds':1"), "" },
        { POD("i:1", ",'schedulingGates':[{'name':'g'}],'nodeSelector':{'a':'b'}"),
          POD("i:1", ",'schedulingGates':[{'name':'g'}],'nodeSelector':{'a':'b','c':'d'}"), "" },
        { POD("i:1", ",'schedulingGates':[{'name':'g'}],'nodeSelector':{'a':'b'}"),
          POD("i:1", ",'schedulingGates':[{'name':'g'}],'nodeSelector':{'a':'c'}"),
          "spec.nodeSelector: Invalid value: {\"a\":\"c\"}: only additions to spec.nodeSelector "
          "are "
          "allowed (no mutations or deletions)" },
        { POD("i:1", ",'schedulingGates':[{'name':'g'}]"),
          POD("i:1", ",'schedulingGates':[{'name':'h'}]"),
          "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new "
          "scheduling gate 'h'" },
        { POD("i:1", NODES REQUIRED "{'matchExpressions':[" IN("a") "]}]}}}"),
          POD("i:1", NODES REQUIRED "{'matchExpressions':[" IN("a") "," IN("b") "]}]}}}"), "" },
        { POD("i:1", NODES REQUIRED "{'matchExpressions':[" IN("a") "]}]}}}"),
          POD("i:1", NODES REQUIRED "{'matchExpressions':[" IN("b") "]}]}}}"),
          TERMS
          "[0]: Invalid value: {\"matchExpressions\":[{\"key\":\"b\",\"operator\":\"Exists\"}]}: "
          "only additions are allowed (no mutations or deletions)" },
        { POD("i:1", NODES REQUIRED "{'matchExpressions':[" IN("a") "]}]}}}"),
          POD("i:1", ",'schedulingGates':[{'name':'g'}]"),
          TERMS ": Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list "
                "are allowed" },
        { POD("i:1", ",'schedulingGates':[{'name':'g'}]"),
          POD("i:1", NODES REQUIRED "{'matchExpressions':[" IN("a") "]}]}}}"), "" },
        { POD("i:1", ",'schedulingGates':[{'name':'g'}]"),
          POD("i:1", ",'schedulingGates':[{'name':'g'}],'affinity':{'podAffinity':{}}"),
          "spec: Forbidden: pod updates may not change fields other than" },
    };
    struct fixture f = pods();

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const char *faults = fixture_update_faults(&f, table[i].was, table[i].now);

        if (*table[i].fault)
            CHECK(str_starts(str_of(faults), str_of(table[i].fault)));
        else
            CHECK_STR(faults, "");
    }
    fixture_release(&f);
}

#define ARMOR "container.apparmor.security.beta.kubernetes.io/"
#define NOTED(key, value, spec)                                                  \
    "{'metadata':{'annotations':{'" key "':'" value "'}},'spec':{'containers':[" \
    "{'name':'a','image':'i:1'" spec "}}"

TEST(annotations_mean_something_to_a_pod)
{
    static const struct {
        const char *manifest, *faults;
    } rows[] = {
        { NOTED(ARMOR "a", "localhost/x", "}]"), "" },
        { NOTED(ARMOR "b", "", "}]"), "metadata.annotations[" ARMOR "b]: Invalid value: \"b\": "
                                      "container not found" },
        { NOTED(ARMOR "a", "x", "}]"), "metadata.annotations[" ARMOR "a]: Invalid value: \"x\": "
                                       "invalid AppArmor profile name: \"x\"" },
        { NOTED(ARMOR "a", "unconfined",
                ",'securityContext':{'appArmorProfile':{'type':'RuntimeDefault'}}}]"),
          "spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in "
          "annotation and field must match" },
        { NOTED(ARMOR "a", "localhost/x",
                "}],'securityContext':{'appArmorProfile':{'type':'Localhost',"
                "'localhostProfile':'y'}}"),
          "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden: "
          "apparmor profile in annotation and field must match" },
        { NOTED("container.seccomp.security.alpha.kubernetes.io/a", "x", "}]"),
          "metadata.annotations.container.seccomp.security.alpha.kubernetes.io/a: Invalid value: "
          "\"x\": must be a valid seccomp profile" },
        { NOTED("seccomp.security.alpha.kubernetes.io/pod", "unconfined",
                "}],'securityContext':{'seccompProfile':{'type':'RuntimeDefault'}}"),
          "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and "
          "field must match" },
        { NOTED("kubernetes.io/config.mirror", "x", "}]"),
          "metadata.annotations[kubernetes.io/config.mirror]: Invalid value: \"x\": must set "
          "spec.nodeName if mirror pod annotation is set" },
        { NOTED("controller.kubernetes.io/pod-deletion-cost", "+1", "}]"),
          "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "
          "\"+1\": must be a 32bit integer" },
        { NOTED("controller.kubernetes.io/pod-deletion-cost", "-10", "}]"), "" },
    };
    struct fixture f = pods();
    const struct json *pod;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CHECK_STR(fixture_create_faults(&f, fixture_quotes(&f, rows[i].manifest)), rows[i].faults);
    pod = fixture_read(&f, fixture_quotes(&f, rows[0].manifest));
    pod = f.kind->ops->prepare_create(&f.c, pod);
    pod = json_at(json_path(pod, "spec.containers"), 0);
    CHECK_STR(fixture_print(&f, json_path(pod, "securityContext.appArmorProfile")),
              "{\"localhostProfile\":\"x\",\"type\":\"Localhost\"}");
    CHECK_STR(fixture_update_faults(&f, POD("i:1", ""), rows[0].manifest),
              "metadata.annotations[" ARMOR "a]: Forbidden: may not add AppArmor annotations");
    CHECK_STR(fixture_update_faults(&f, rows[0].manifest, POD("i:1", "")),
              "metadata.annotations[" ARMOR "a]: Forbidden: may not remove or update AppArmor "
              "annotations");
    fixture_release(&f);
}

TEST(each_endpoint_changes_its_part)
{
    struct fixture f = pods();
    const struct json *old = fixture_read(
        &f, fixture_quotes(&f, "{'spec':{'containers':[{'name':'a','image':'i:1'}]},'status':"
                               "{'phase':'Pending','qosClass':'BestEffort'}}"));
    const struct json *now = fixture_read(
        &f, fixture_quotes(&f, "{'spec':{'nodeName':'n','containers':[{'name':'a','image':'j:1',"
                               "'resources':{'limits':{'cpu':'1'}}}]},'status':{'phase':"
                               "'Running'}}"));
    const struct json *out = f.kind->ops->prepare_update(&f.c, now, old);

    CHECK_STR(str_z(f.c.arena, json_get_str(out, "status.phase")), "Pending");
    f.c.subresource = STR("status");
    out = f.kind->ops->prepare_update(&f.c, now, old);
    CHECK_STR(str_z(f.c.arena, json_get_str(out, "status.phase")), "Running");
    CHECK_STR(str_z(f.c.arena, json_get_str(out, "status.qosClass")), "BestEffort");
    CHECK(!json_path(out, "spec.nodeName"));
    f.c.subresource = STR("resize");
    out = f.kind->ops->prepare_update(&f.c, now, old);
    CHECK(json_path(json_at(json_path(out, "spec.containers"), 0), "resources.limits.cpu"));
    CHECK(str_is(json_get_str(json_at(json_path(out, "spec.containers"), 0), "image"), "i:1"));
    f.c.subresource = STR("binding");
    out = f.kind->ops->prepare_update(&f.c, now, old);
    CHECK(str_is(json_get_str(out, "spec.nodeName"), "n"));
    CHECK(str_is(json_get_str(json_at(json_path(out, "status.conditions"), 0), "type"),
                 "PodScheduled"));
    fixture_release(&f);
}

#define SIZED(containers, more)                                                                   \
    "{'spec':{'containers':[" containers "],'initContainers':[{'name':'s','image':'i',"           \
    "'restartPolicy':'Always','resources':{'limits':{'cpu':'1'}}},{'name':'o','image':'i'}]" more \
    "},'status':{'qosClass':'Burstable'}}"
#define ONE(resources) "{'name':'a','image':'i','resources':{" resources "}}"

/* What a resize to that is told. */
static const char *resize(struct fixture *f, const char *to, const char *from)
{
    struct kind_context c = f->c;
    const struct json *old = fixture_read(f, fixture_quotes(f, from)), *now;
    struct status st;

    c.subresource = STR("resize");
    status_init(&st, f->c.arena);
    now = f->kind->ops->prepare_update(&c, fixture_read(f, fixture_quotes(f, to)), old);
    f->kind->ops->validate_update(&c, now, old, &st);
    return status_invalid(&st, STR_NONE, STR_NONE, STR_NONE) < 0 ? str_z(f->c.arena, st.message)
                                                                 : "";
}

TEST(a_resize_changes_cpu_and_memory_only)
{
    static const struct {
        const char *to, *why;
    } rows[] = {
        { SIZED(ONE("'requests':{'cpu':'2','x.io/g':'1'}"), ""), "" },
        { SIZED(ONE("'requests':{'cpu':'1','memory':'1Gi','x.io/g':'1'}"), ""), "" },
        { SIZED(ONE("'requests':{'x.io/g':'1'}"), ""),
          "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed" },
        { SIZED(ONE("'requests':{'cpu':'1','x.io/g':'2'}"), ""),
          "spec: Forbidden: only cpu and memory resources are mutable" },
        { SIZED(ONE("'requests':{'cpu':'1','x.io/g':'1'},'limits':{'x.io/h':'1'}"), ""),
          "spec: Forbidden: only cpu and memory resources are mutable" },
        { SIZED("{'name':'a','image':'i','resizePolicy':[{'resourceName':'cpu','restartPolicy':"
                "'RestartContainer'}],'resources':{'requests':{'cpu':'1','x.io/g':'1'}}}",
                ""),
          "spec: Forbidden: only cpu and memory resources are mutable" },
        { SIZED(ONE("") ",{'name':'b','image':'i'}", ""),
          "spec.containers: Forbidden: containers may not be added or removed on resize" },
        { SIZED("{'name':'b','image':'i'}", ""),
          "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on "
          "resize" },
        { "{'spec':{'containers':[" ONE("'requests':{'cpu':'1','x.io/g':'1'}") "]}}",
          "spec.initContainers: Forbidden: initContainers may not be added or removed on resize" },
        { "{'spec':{'containers':[" ONE(
              "'requests':{'cpu':'1','x.io/g':'1'}") "],"
                                                     "'initContainers':[{'name':'s','restartPolicy'"
                                                     ":'Always','resources':{}},{'name':'o'}]}}",
          "spec.initContainers[0].resources.limits: Forbidden: resource limits cannot be removed" },
        { "{'spec':{'containers':[" ONE(
              "'requests':{'cpu':'1','x.io/g':'1'}") "],"
                                                     "'initContainers':[{'name':'s','restartPolicy'"
                                                     ":'Always','resources':{'limits':{'cpu':"
                                                     "'1'}}},{'name':'o','resources':{'limits':{'"
                                                     "cpu':'1'}}}]}}",
          "spec: Forbidden: resources for non-sidecar init containers are immutable" },
    };
    static const char from[] = SIZED(ONE("'requests':{'cpu':'1','x.io/g':'1'}"), "");
    struct fixture f = pods();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *said = resize(&f, rows[i].to, from);

        if (!CHECK(rows[i].why[0] ? strstr(said, rows[i].why) != NULL : !said[0]))
            printf("# %s\n# said: %s\n", rows[i].to, said);
    }
    CHECK(strstr(resize(&f, "{'spec':{'containers':[" ONE("'requests':{'cpu':'2'}") "]}}",
                        "{'spec':{'containers':[{'name':'a','image':'i'}]},"
                        "'status':{'qosClass':'BestEffort'}}"),
                 "spec: Invalid value: \"BestEffort\": Pod QOS Class may not change as a result "
                 "of resizing") != NULL);
    CHECK(strstr(resize(&f, from,
                        "{'metadata':{'annotations':{'kubernetes.io/config.mirror':'x'}},"
                        "'spec':{'containers':[{'name':'a','image':'i'}]}}"),
                 "static pods cannot be resized") != NULL);
    fixture_release(&f);
}

TEST(a_pod_on_a_node_gets_time_to_stop)
{
    struct fixture f = pods();
    const struct json *free_ = fixture_read(&f, fixture_quotes(&f, GOOD));
    const struct json *bound = fixture_read(
        &f,
        fixture_quotes(&f, "{'spec':{'nodeName':'n','containers':[{'name':'a','image':'i'}]}}"));
    const struct json *out;

    CHECK(!f.kind->ops->begin_delete(&f.c, free_));
    out = f.kind->ops->begin_delete(&f.c, bound);
    REQUIRE(out);
    CHECK_STR(fixture_print(&f, json_get(out, STR("metadata"))),
              "{\"deletionGracePeriodSeconds\":30,\"deletionTimestamp\":\"2020-01-02T03:04:35Z\","
              "\"generation\":1}");
    CHECK(!f.kind->ops->may_vanish(out));
    f.c.has_grace = true;
    f.c.grace_s = 60;
    CHECK(f.kind->ops->begin_delete(&f.c, out) == out);
    f.c.grace_s = 10;
    f.c.now_s += 5; /* counted from the first delete */
    CHECK_STR(fixture_print(&f, json_get(f.kind->ops->begin_delete(&f.c, out), STR("metadata"))),
              "{\"deletionGracePeriodSeconds\":10,\"deletionTimestamp\":\"2020-01-02T03:04:15Z\","
              "\"generation\":1}");
    f.c.grace_s = 0;
    CHECK(!f.kind->ops->begin_delete(&f.c, out));
    fixture_release(&f);
}

TEST(a_pod_that_is_evicted_says_so)
{
    static const char told[] = "[{\"lastProbeTime\":null,\"lastTransitionTime\":\"%s\",\"message\":"
                               "\"Eviction API: evicting\",\"reason\":\"EvictionByEvictionAPI\","
                               "\"status\":\"True\",\"type\":\"DisruptionTarget\"}]";
    struct fixture f = pods();
    const struct json *out = fixture_read(
        &f,
        fixture_quotes(&f, "{'spec':{'nodeName':'n','containers':[{'name':'a','image':'i'}]}}"));

    CHECK(!json_path(f.kind->ops->begin_delete(&f.c, out), "status.conditions"));
    CHECK(f.kind->ops->held(&f.c, out) == out);
    f.c.evicts = true;
    for (int i = 0; i < 2; i++) { /* the second time says when the first was */
        out = f.kind->ops->begin_delete(&f.c, out);
        CHECK_STR(fixture_print(&f, json_path(out, "status.conditions")),
                  arena_printf(f.c.arena, told, "2020-01-02T03:04:05Z"));
        f.c.now_s += 5;
    }
    f.c.now_s -= 10;
    out = f.kind->ops->held(&f.c, &json_empty_object);
    CHECK_STR(fixture_print(&f, json_path(out, "status.conditions")),
              arena_printf(f.c.arena, told, "2020-01-02T03:04:05Z"));
    fixture_release(&f);
}

#define STATUS(text)                                                                            \
    "{'metadata':{'name':'p','creationTimestamp':'2020-01-02T03:04:00Z'},'spec':{'containers':" \
    "[{'name':'a','image':'i'}]},'status':" text "}"

TEST(cells_say_what_hinders_a_pod)
{
    static const char *const rows[][2] = {
        { "{'phase':'Pending'}", "[\"p\",\"0/1\",\"Pending\",\"0\",\"5s\"" },
        { "{'phase':'Running','podIPs':[{'ip':'1.2.3.4'}],'containerStatuses':[{'name':'a',"
          "'ready':true,'restartCount':2,'state':{'running':{}},'lastState':{'terminated':"
          "{'exitCode':1,'finishedAt':'2020-01-02T03:03:05Z'}}}]}",
          "[\"p\",\"1/1\",\"Running\",\"2 (60s ago)\",\"5s\"" },
        { "{'phase':'Pending','containerStatuses':[{'name':'a','state':{'waiting':{'reason':"
          "'ErrImagePull'}}}]}",
          "[\"p\",\"0/1\",\"ErrImagePull\",\"0\",\"5s\"" },
        { "{'phase':'Failed','containerStatuses':[{'name':'a','state':{'terminated':{'exitCode':"
          "3}}}]}",
          "[\"p\",\"0/1\",\"ExitCode:3\",\"0\",\"5s\"" },
    };
    struct fixture f = pods();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        str text = str_printf(f.c.arena, STATUS("%s"), rows[i][0]);
        const char *cells = fixture_cells(&f, fixture_quotes(&f, str_z(f.c.arena, text)));

        if (!CHECK(str_starts(str_of(cells), str_of(rows[i][1]))))
            printf("#  got: %s\n", cells);
    }
    fixture_release(&f);
}
