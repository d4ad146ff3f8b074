/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

/* What a pod says of itself, of the host, of volumes, and in its status; the rest is in
 * kinds_k8s_pod_test.c. */

#define POD       "{'spec':{'containers':[{'name':'a','image':'i:1'}],%s}}"
#define CONTAINER "{'spec':{'containers':[{'name':'a','image':'i:1',%s}]}}"
#define VOLUME    "{'spec':{'containers':[{'name':'a','image':'i:1'}],'volumes':[{'name':'v',%s}]}}"

TEST(what_a_pod_asks_for_itself)
{
    static const struct fixture_row rows[] = {
        { "'resources':{'requests':{'cpu':'1'},'limits':{'cpu':'2'}}", "" },
        { "'resources':{'requests':{'foo':'1'}}",
          "spec.resources.requests[foo]: Invalid value: \"foo\": must be a standard resource type "
          "or fully qualified" },
        { "'resources':{'requests':{'ephemeral-storage':'1Gi'}}",
          "spec.resources.requests[ephemeral-storage]: Unsupported value: \"ephemeral-storage\": "
          "supported values: \"cpu\", \"hugepages-\", \"memory\"" },
        { "'resourceClaims':[{'name':'c','resourceClaimName':'x'}],'resources':{'claims':[{'name':'"
          "c'}]}",
          "spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level" },
        { "'os':{'name':'windows'},'resources':{'requests':{'cpu':'1'}}",
          "spec.resources: Forbidden: may not be set for a windows pod" },
    };
    static const struct fixture_row sums[] = {
        { "'resources':{'requests':{'cpu':'2'},'limits':{'cpu':'3'}}}],'resources':{'requests':"
          "{'cpu':'1'},'limits':{'cpu':'2'}},'tolerations':[{'operator':'Exists'",
          "spec.resources.requests[cpu]: Invalid value: \"1\": must be greater than or equal to "
          "aggregate container requests of 2; "
          "spec.resources.containers[0][cpu].limits: Invalid value: \"3\": must be less than or "
          "equal to pod limits of 2" },
        { "'resources':{'requests':{'memory':'1Mi','hugepages-2Mi':'4Mi'},'limits':"
          "{'hugepages-2Mi':'4Mi'}}}],'resources':{'requests':{'memory':'1Mi'},'limits':"
          "{'hugepages-2Mi':'2Mi'}},'tolerations':[{'operator':'Exists'",
          "spec.resources.requests[hugepages-2Mi]: Invalid value: \"2Mi\": must be greater than or "
          "equal to aggregate container requests of 4Mi; "
          "spec.resources.limits[hugepages-2Mi]: Invalid value: \"2Mi\": must be greater than or "
          "equal to aggregate container limits of 4Mi; "
          "spec.resources.containers[0][hugepages-2Mi].limits: Invalid value: \"4Mi\": must be "
          "less than or equal to pod limits of 2Mi" },
    };
    struct fixture f = fixture_new("", "v1", "pods");

    FIXTURE_ROWS(&f, POD, rows);
    FIXTURE_ROWS(&f, CONTAINER, sums);
    fixture_release(&f);
}

TEST(a_pod_that_limits_itself_asks_for_what_its_containers_do)
{
    struct fixture f = fixture_new("", "v1", "pods");
    const struct json *pod = fixture_read(
        &f, fixture_quotes(&f, "{'spec':{'resources':{'limits':{'cpu':'4','memory':'1Gi'}},"
                               "'containers':[{'name':'a','image':'i','resources':{'requests':"
                               "{'cpu':'500m'},'limits':{'memory':'4Mi','hugepages-2Mi':'4Mi'}}},"
                               "{'name':'b','image':'i','resources':{'requests':{'cpu':'1'}}}]}}"));

    CHECK_STR(fixture_print(&f, json_path(pod, "spec.resources")),
              "{\"limits\":{\"cpu\":\"4\",\"hugepages-2Mi\":\"4Mi\",\"memory\":\"1Gi\"},"
              "\"requests\":{\"cpu\":\"1500m\",\"hugepages-2Mi\":\"4Mi\",\"memory\":\"4Mi\"}}");
    fixture_release(&f);
}

TEST(processes_and_users_of_the_host)
{
    static const struct fixture_row rows[] = {
        { "'hostNetwork':true,'securityContext':{'windowsOptions':{'hostProcess':true}}", "" },
        { "'securityContext':{'windowsOptions':{'hostProcess':true}}",
          "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any "
          "hostProcess containers" },
        { "'hostNetwork':true,'initContainers':[{'name':'b','image':'i','securityContext':"
          "{'windowsOptions':{'hostProcess':true}}}]",
          "spec: Invalid value: \"\": If pod contains any hostProcess containers then all "
          "containers must be HostProcess containers" },
        { "'hostUsers':false,'hostPID':true,'hostNetwork':true",
          "spec.hostNetwork: Forbidden: when `hostUsers` is false; "
          "spec.HostPID: Forbidden: when `hostUsers` is false" },
        { "'securityContext':{'windowsOptions':{'runAsUserName':'a\\\\b\\\\c'}}",
          "spec.securityContext.windowsOptions.runAsUserName: Invalid value: \"a\\\\b\\\\c\": "
          "runAsUserName cannot contain more than one backslash" },
        { "'securityContext':{'windowsOptions':{'runAsUserName':'.x\\\\u@'}}",
          "spec.securityContext.windowsOptions.runAsUserName: Invalid value: \".x\\\\u@\": "
          "runAsUserName's Domain doesn't match the NetBios nor the DNS format; "
          "spec.securityContext.windowsOptions.runAsUserName: Invalid value: \".x\\\\u@\": "
          "runAsUserName's User cannot contain the following characters: "
          "\"/\\:;|=,+*?<>@[]" },
        { "'hostNetwork':true,'securityContext':{'sysctls':[{'name':'net.core.x','value':'1'}]}",
          "spec.securityContext.sysctls[0].name: Invalid value: \"net.core.x\": may not be "
          "specified when 'hostNetwork' is true" },
    };
    struct fixture f = fixture_new("", "v1", "pods");

    FIXTURE_ROWS(&f, POD, rows);
    fixture_release(&f);
}

TEST(volumes_of_storage_systems)
{
    static const struct fixture_row rows[] = {
        { "'iscsi':{'targetPortal':'x','iqn':'iqn.2001-04.com.example:a','lun':0}", "" },
        { "'iscsi':{'targetPortal':'x','iqn':'eui.012','lun':256}",
          "spec.volumes[0].iscsi.iqn: Invalid value: \"eui.012\": must be valid format; "
          "spec.volumes[0].iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive" },
        { "'fc':{'targetWWNs':['a']}",
          "spec.volumes[0].fc.lun: Required value: lun is required if targetWWNs is specified" },
        { "'flexVolume':{'driver':'d','options':{'a.k8s.io/b':'c','d':'e'}}",
          "spec.volumes[0].flexVolume.options[a.k8s.io/b]: Invalid value: \"a.k8s.io/b\": "
          "kubernetes.io and k8s.io namespaces are reserved" },
        { "'csi':{'driver':'CSI.example.com'}", "" },
        { "'csi':{'driver':'a_b','nodePublishSecretRef':{}}",
          "spec.volumes[0].csi.driver: Invalid value: \"a_b\": a lowercase RFC 1123 subdomain must "
          "consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
          "an alphanumeric character (e.g. 'example.com', regex used for validation is "
          "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); "
          "spec.volumes[0].csi.nodePublishSecretRef.name: Required value" },
        { "'quobyte':{'registry':'a:1,b','volume':'v'}",
          "spec.volumes[0].quobyte.registry: Invalid value: \"a:1,b\": must be a host:port pair or "
          "multiple pairs separated by commas" },
        { "'azureDisk':{'diskName':'d','diskURI':'https://x','kind':'Managed'}",
          "spec.volumes[0].azureDisk.diskURI: Unsupported value: \"https://x\": supported values: "
          "\"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/"
          "disks/{disk-id}\"" },
        { "'gcePersistentDisk':{'pdName':'d','partition':256}",
          "spec.volumes[0].persistentDisk.partition: Invalid value: 256: must be between 1 and "
          "255, inclusive" },
        { "'rbd':{'image':'i','monitors':[]}", "spec.volumes[0].rbd.monitors: Required value" },
        { "'image':{}", "spec.volumes[0].image.reference: Required value" },
        { "'emptyDir':{},'cephfs':{'monitors':['a']}",
          "spec.volumes[0].cephFS: Forbidden: may not specify more than 1 volume type" },
        { "'projected':{'sources':[{'secret':{'name':'s','items':[{'key':'k','path':'p'}]}},"
          "{'configMap':{'name':'c','items':[{'key':'k','path':'p'}]}}]}",
          "spec.volumes[0].projected: Invalid value: \"c\": conflicting duplicate paths" },
    };
    struct fixture f = fixture_new("", "v1", "pods");

    FIXTURE_ROWS(&f, VOLUME, rows);
    fixture_release(&f);
}

TEST(variables_from_files)
{
    static const struct fixture_row rows[] = {
        { "'emptyDir':{}", "" },
        { "'configMap':{'name':'c'}",
          "spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: \"v\": "
          "referenced volume must be of type emptyDir" },
        { "'emptyDir':{}},{'name':'v2','emptyDir':{}}],'hostAliases':[{'ip':'1.2.3.4'", "" },
    };
    struct fixture f = fixture_new("", "v1", "pods");

    FIXTURE_ROWS(&f,
                 "{'spec':{'containers':[{'name':'a','image':'i:1','env':[{'name':'E','valueFrom':"
                 "{'fileKeyRef':{'volumeName':'v','path':'p','key':'k'}}}]}],"
                 "'volumes':[{'name':'v',%s}]}}",
                 rows);
    fixture_release(&f);
}

static const struct json *in_state(struct fixture *f, const char *status)
{
    str text = str_printf(f->c.arena,
                          "{'spec':{'nodeName':'n','restartPolicy':'Never','containers':[{'name':"
                          "'a','image':'i'},{'name':'b','image':'i','restartPolicy':'OnFailure'}]},"
                          "'status':{%s}}",
                          status);

    return fixture_read(f, fixture_quotes(f, str_z(f->c.arena, text)));
}

TEST(statuses_of_pods)
{
    static const struct {
        const char *was, *now, *faults;
    } rows[] = {
        { "",
          "'podIPs':[{'ip':'01.2.3.4'},{'ip':'::1'}],'hostIP':'1.1.1.1','hostIPs':[{'ip':"
          "'1.1.1.1'}]",
          "" },
        { "", "'podIPs':[{'ip':'1.2.3.4'},{'ip':'1.2.3.5'}],'hostIPs':[{'ip':'x'}]",
          "status.podIPs: Invalid value: [{\"IP\":\"1.2.3.4\"},{\"IP\":\"1.2.3.5\"}]: may specify "
          "no more than one IP for each IP family; "
          "status.hostIPs[0].ip: Invalid value: \"x\": must be equal to `hostIP`; "
          "status.hostIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or "
          "2001:db8::ffff)" },
        { "", "'nominatedNodeName':'m'",
          "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a "
          "node" },
        { "", "'conditions':[{'type':'','status':'True','observedGeneration':-1}]",
          "status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative "
          "integer; status.conditions[0].Type: Invalid value: \"\": name part must be non-empty; "
          "status.conditions[0].Type: Invalid value: \"\": name part must consist of alphanumeric "
          "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
          "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
          "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')" },
        { "'containerStatuses':[{'name':'a','state':{'terminated':{'exitCode':1}}},{'name':'b',"
          "'state':{'terminated':{'exitCode':1}}}]",
          "'containerStatuses':[{'name':'a','state':{'running':{}}},{'name':'b','state':"
          "{'running':{}}}]",
          "status.containerStatuses[0].state: Forbidden: may not be transitioned to "
          "non-terminated state" },
        { "", "'resourceClaimStatuses':[{'name':'x'}]",
          "status.resourceClaimStatuses[0].name: Invalid value: \"x\": must match the name of an "
          "entry in `spec.resourceClaims`" },
        { "", "'containerStatuses':[{'name':'a','user':{'linux':{'uid':-1,'gid':0}}}]",
          "status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and "
          "2147483647, inclusive" },
    };
    struct fixture f = fixture_new("", "v1", "pods");

    f.c.subresource = STR("status");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(fixture_faults(&f, in_state(&f, rows[i].now), in_state(&f, rows[i].was)),
                  rows[i].faults);
    fixture_release(&f);
}
