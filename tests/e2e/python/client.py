# SPDX-License-Identifier: Apache-2.0
"""What programs do with the Python client; client.py NAME runs one function."""

import base64
import datetime
import sys
import threading

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

config.load_kube_config()
core = client.CoreV1Api()
leases_api = client.CoordinationV1Api()
NS = 'default'


def configmap(name, data=None, labels=None):
  return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=labels), data=data)


def expect(status, reason, call, *args, **kwargs):
  try:
    call(*args, **kwargs)
  except ApiException as e:
    assert e.status == status, (e.status, e.body)
    assert f'"reason":"{reason}"' in e.body.replace(' ', ''), e.body
    return e
  raise AssertionError(f'no error, {status} {reason} expected')


def create_get_list():
  made = core.create_namespaced_config_map(NS, configmap('py-a', {'x': '1'}, {'py': 'yes'}))
  assert made.metadata.uid and made.metadata.resource_version
  assert isinstance(made.metadata.creation_timestamp, datetime.datetime)
  got = core.read_namespaced_config_map('py-a', NS)
  assert got.data == {'x': '1'} and got.metadata.uid == made.metadata.uid
  names = [c.metadata.name for c in core.list_config_map_for_all_namespaces().items]
  assert 'py-a' in names
  core.delete_namespaced_config_map('py-a', NS)
  expect(404, 'NotFound', core.read_namespaced_config_map, 'py-a', NS)


def update_conflict():
  first = core.create_namespaced_config_map(NS, configmap('py-conflict', {'n': '0'}))
  second = core.read_namespaced_config_map('py-conflict', NS)
  first.data['n'] = '1'
  updated = core.replace_namespaced_config_map('py-conflict', NS, first)
  assert int(updated.metadata.resource_version) > int(second.metadata.resource_version)
  second.data['n'] = '2'
  expect(409, 'Conflict', core.replace_namespaced_config_map, 'py-conflict', NS, second)

  # Two threads that read, add one and write back: with conflicts nothing is lost.
  def add(times):
    for _ in range(times):
      while True:
        got = core.read_namespaced_config_map('py-conflict', NS)
        got.data['n'] = str(int(got.data['n']) + 1)
        try:
          core.replace_namespaced_config_map('py-conflict', NS, got)
          break
        except ApiException as e:
          assert e.status == 409, e
  threads = [threading.Thread(target=add, args=(20,)) for _ in range(2)]
  for t in threads:
    t.start()
  for t in threads:
    t.join()
  assert core.read_namespaced_config_map('py-conflict', NS).data['n'] == '41'


def patch_kinds():
  core.create_namespaced_config_map(NS, configmap('py-patch', {'a': '1', 'b': '2'}))
  # A dict is sent as a strategic merge patch, a list as a JSON patch.
  core.patch_namespaced_config_map('py-patch', NS, {'data': {'a': None, 'c': '3'}})
  got = core.patch_namespaced_config_map(
    'py-patch', NS, [{'op': 'add', 'path': '/data/d', 'value': '4'}])
  assert got.data == {'b': '2', 'c': '3', 'd': '4'}, got.data


def pages():
  for i in range(25):
    core.create_namespaced_config_map(NS, configmap(f'py-page-{i:02}', labels={'page': 'py'}))
  names, token, versions = [], None, set()
  while True:
    page = core.list_namespaced_config_map(NS, label_selector='page=py', limit=10, _continue=token)
    names += [c.metadata.name for c in page.items]
    versions.add(page.metadata.resource_version)
    token = page.metadata._continue
    if not names[10:]:  # after the first page: what comes now is not part of the list
      core.create_namespaced_config_map(NS, configmap('py-page-05x', labels={'page': 'py'}))
    if not token:
      break
  assert names == [f'py-page-{i:02}' for i in range(25)], names
  assert len(versions) == 1, versions
  core.delete_collection_namespaced_config_map(NS, label_selector='page=py')
  assert core.list_namespaced_config_map(NS, label_selector='page=py').items == []


def selectors():
  core.create_namespaced_config_map(NS, configmap('py-sel', labels={'tier': 'a', 'zone': 'x'}))
  for selector, n in (('tier=a', 1), ('tier in (a,b),zone', 1), ('tier notin (a),zone', 0),
                      ('!tier,zone', 0), ('tier!=a,zone', 0)):
    assert len(core.list_namespaced_config_map(NS, label_selector=selector).items) == n, selector
  assert len(core.list_namespaced_config_map(NS, field_selector='metadata.name=py-sel').items) == 1
  expect(400, 'BadRequest', core.list_namespaced_config_map, NS, label_selector='a b')


def watch_from_list():
  seen = core.list_namespaced_config_map(NS)
  core.create_namespaced_config_map(NS, configmap('py-watch', {'x': '1'}))
  core.patch_namespaced_config_map('py-watch', NS, {'data': {'x': '2'}})
  core.delete_namespaced_config_map('py-watch', NS)
  events = [(e['type'], e['object'].metadata.name, e['object'].data['x'])
            for e in watch.Watch().stream(core.list_namespaced_config_map, NS, timeout_seconds=2,
                                          resource_version=seen.metadata.resource_version)]
  assert events == [('ADDED', 'py-watch', '1'), ('MODIFIED', 'py-watch', '2'),
                    ('DELETED', 'py-watch', '2')], events


def watch_resumes():
  """One event at a time, each watch beginning at the version of the event before."""
  version = core.list_namespaced_config_map(NS).metadata.resource_version
  for i in range(10):
    core.create_namespaced_config_map(NS, configmap(f'py-resume-{i}'))
  for i in range(10):
    w = watch.Watch()
    for e in w.stream(core.list_namespaced_config_map, NS, timeout_seconds=5,
                      resource_version=version):
      assert e['object'].metadata.name == f'py-resume-{i}', e['object'].metadata.name
      assert int(e['object'].metadata.resource_version) > int(version)
      version = e['object'].metadata.resource_version
      w.stop()


def watch_expired_is_told():
  try:
    for _ in watch.Watch().stream(core.list_namespaced_config_map, NS, timeout_seconds=1,
                                  resource_version='1'):
      pass  # history from the beginning is still there: fine, too
  except ApiException as e:
    assert e.status == 410, e


def informer():
  """A cache kept by list and watch ends up equal to the server, whatever happens meanwhile."""
  cache, stop, ready = {}, threading.Event(), threading.Event()

  def run():
    listed = core.list_namespaced_config_map(NS, label_selector='informed')
    cache.update({c.metadata.name: c for c in listed.items})
    ready.set()
    version = listed.metadata.resource_version
    while not stop.is_set():
      for e in watch.Watch().stream(core.list_namespaced_config_map, NS, timeout_seconds=1,
                                    label_selector='informed', resource_version=version,
                                    allow_watch_bookmarks=True):
        obj = e['object']
        version = obj.metadata.resource_version
        if e['type'] == 'DELETED':
          del cache[obj.metadata.name]
        elif e['type'] != 'BOOKMARK':
          cache[obj.metadata.name] = obj

  t = threading.Thread(target=run)
  t.start()
  ready.wait()
  for i in range(60):
    core.create_namespaced_config_map(NS, configmap(f'py-inf-{i}', labels={'informed': 'yes'}))
    if i % 3 == 0:
      core.delete_namespaced_config_map(f'py-inf-{i}', NS)
    elif i % 3 == 1:
      core.patch_namespaced_config_map(f'py-inf-{i}', NS, {'data': {'i': str(i)}})
    elif i % 2 == 0:
      core.patch_namespaced_config_map(f'py-inf-{i}', NS, {'metadata': {'labels': {'informed': None}}})
  want = {c.metadata.name: c.metadata.resource_version
          for c in core.list_namespaced_config_map(NS, label_selector='informed').items}
  for _ in range(50):
    got = {n: c.metadata.resource_version for n, c in list(cache.items())}
    if got == want:
      break
    threading.Event().wait(0.1)
  stop.set()
  t.join()
  assert got == want, (sorted(got.items()), sorted(want.items()))
  assert len(want) == 30, len(want)


def delete_with_preconditions():
  made = core.create_namespaced_config_map(NS, configmap('py-pre'))
  wrong = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid='no-such-uid'))
  expect(409, 'Conflict', core.delete_namespaced_config_map, 'py-pre', NS, body=wrong)
  right = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid=made.metadata.uid))
  core.delete_namespaced_config_map('py-pre', NS, body=right)


def secrets_and_accounts():
  core.create_namespaced_secret(NS, client.V1Secret(
    metadata=client.V1ObjectMeta(name='py-secret'), string_data={'user': 'me'}))
  got = core.read_namespaced_secret('py-secret', NS)
  assert base64.b64decode(got.data['user']) == b'me' and got.type == 'Opaque'
  assert got.string_data is None
  core.create_namespaced_service_account(NS, client.V1ServiceAccount(
    metadata=client.V1ObjectMeta(name='py-account')))
  assert core.read_namespaced_service_account('py-account', NS).metadata.name == 'py-account'


def events():
  now = datetime.datetime.now(datetime.timezone.utc)
  core.create_namespaced_event(NS, client.CoreV1Event(
    metadata=client.V1ObjectMeta(generate_name='py-event-'), reason='Tested', type='Normal',
    message='it works', event_time=now, action='Testing', reporting_component='example.com/test',
    reporting_instance='one',
    involved_object=client.V1ObjectReference(kind='ConfigMap', name='py-x', namespace=NS,
                                             api_version='v1')))
  found = core.list_namespaced_event(NS, field_selector='involvedObject.name=py-x,reason=Tested')
  assert len(found.items) == 1 and found.items[0].message == 'it works'
  other = client.EventsV1Api().list_namespaced_event(NS)
  assert 'it works' in [e.note for e in other.items]


def leases():
  """Leader election in small: create, renew with the version, lose with an old one."""
  now = datetime.datetime.now(datetime.timezone.utc)
  spec = client.V1LeaseSpec(holder_identity='a', lease_duration_seconds=15, acquire_time=now,
                            renew_time=now)
  made = leases_api.create_namespaced_lease(NS, client.V1Lease(
    metadata=client.V1ObjectMeta(name='py-lease'), spec=spec))
  assert made.spec.renew_time.microsecond == now.microsecond
  mine, theirs = made, leases_api.read_namespaced_lease('py-lease', NS)
  mine.spec.renew_time = now + datetime.timedelta(seconds=1)
  leases_api.replace_namespaced_lease('py-lease', NS, mine)
  theirs.spec.holder_identity = 'b'
  expect(409, 'Conflict', leases_api.replace_namespaced_lease, 'py-lease', NS, theirs)


def errors_are_statuses():
  expect(409, 'AlreadyExists', core.create_namespace,
         client.V1Namespace(metadata=client.V1ObjectMeta(name='default')))
  expect(422, 'Invalid', core.create_namespaced_config_map, NS, configmap('Bad_Name'))
  expect(404, 'NotFound', core.create_namespaced_config_map, 'no-such-namespace', configmap('x'))


def deployment(name, image='example.com/app:1'):
  container = client.V1Container(name='main', image=image)
  template = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels={'app': name}),
                                      spec=client.V1PodSpec(containers=[container]))
  return client.V1Deployment(
    metadata=client.V1ObjectMeta(name=name),
    spec=client.V1DeploymentSpec(selector=client.V1LabelSelector(match_labels={'app': name}),
                                 template=template))


def workloads():
  """Defaults, scale, status, strategic merge of containers, and refusals of a Deployment."""
  apps = client.AppsV1Api()
  made = apps.create_namespaced_deployment(NS, deployment('py-web'))
  assert made.spec.replicas == 1 and made.spec.strategy.rolling_update.max_surge == '25%'
  assert made.spec.template.spec.containers[0].image_pull_policy == 'IfNotPresent'
  apps.patch_namespaced_deployment_scale('py-web', NS, {'spec': {'replicas': 3}})
  assert apps.read_namespaced_deployment_scale('py-web', NS).spec.replicas == 3
  side = {'spec': {'template': {'spec': {'containers': [{'name': 'side', 'image': 'side:1'}]}}}}
  got = apps.patch_namespaced_deployment('py-web', NS, side)
  assert [c.name for c in got.spec.template.spec.containers] == ['side', 'main']
  got.status.replicas = 2
  got = apps.replace_namespaced_deployment_status('py-web', NS, got)
  assert got.status.replicas == 2 and got.metadata.generation == 3, got.metadata.generation
  got.spec.selector.match_labels = {'app': 'other'}
  e = expect(422, 'Invalid', apps.replace_namespaced_deployment, 'py-web', NS, got)
  assert 'field is immutable' in e.body
  expect(422, 'Invalid', apps.create_namespaced_deployment, NS, deployment('py-bad', image=''))


def pods_and_services():
  pod = client.V1Pod(metadata=client.V1ObjectMeta(name='py-pod', labels={'app': 'py'}),
                     spec=client.V1PodSpec(containers=[client.V1Container(
                       name='main', image='example.com/app:1',
                       resources=client.V1ResourceRequirements(requests={'cpu': '0.5'}))]))
  made = core.create_namespaced_pod(NS, pod)
  assert made.status.phase == 'Pending' and made.status.qos_class == 'Burstable'
  assert made.spec.containers[0].resources.requests == {'cpu': '500m'}
  core.create_namespaced_pod_binding('py-pod', NS, client.V1Binding(
    metadata=client.V1ObjectMeta(name='py-pod'),
    target=client.V1ObjectReference(kind='Node', name='py-node')), _preload_content=False)
  found = core.list_pod_for_all_namespaces(field_selector='spec.nodeName=py-node')
  assert [p.metadata.name for p in found.items] == ['py-pod']
  expect(400, 'BadRequest', core.read_namespaced_pod_log, 'py-pod', NS)
  core.create_namespaced_pod_eviction('py-pod', NS, client.V1Eviction(
    metadata=client.V1ObjectMeta(name='py-pod')), _preload_content=False)
  assert core.read_namespaced_pod('py-pod', NS).metadata.deletion_timestamp
  core.delete_namespaced_pod('py-pod', NS, grace_period_seconds=0)
  service = core.create_namespaced_service(NS, client.V1Service(
    metadata=client.V1ObjectMeta(name='py-service'),
    spec=client.V1ServiceSpec(selector={'app': 'py'}, ports=[client.V1ServicePort(port=80)])))
  assert service.spec.cluster_ip.startswith('10.') and service.spec.ports[0].target_port == 80


def custom_objects():
  """A CRD, and its objects by the client that knows no types."""
  crds, custom = client.ApiextensionsV1Api(), client.CustomObjectsApi()
  spec = {'type': 'object', 'properties': {'crew': {'type': 'integer', 'minimum': 1}}}
  crds.create_custom_resource_definition({
    'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
    'metadata': {'name': 'boats.py.example.com'},
    'spec': {'group': 'py.example.com', 'scope': 'Namespaced',
             'names': {'plural': 'boats', 'kind': 'Boat'},
             'versions': [{'name': 'v1', 'served': True, 'storage': True, 'schema': {
               'openAPIV3Schema': {'type': 'object', 'properties': {'spec': spec}}}}]}})
  of = ('py.example.com', 'v1', NS, 'boats')
  boat = {'apiVersion': 'py.example.com/v1', 'kind': 'Boat', 'metadata': {'name': 'one'},
          'spec': {'crew': 3}}
  for _ in range(100):  # it is served a moment later
    try:
      custom.create_namespaced_custom_object(*of, boat)
      break
    except ApiException as e:
      assert e.status == 404, e
      threading.Event().wait(0.05)
  custom.patch_namespaced_custom_object(*of, 'one', {'spec': {'crew': 4}})
  assert [b['spec']['crew'] for b in custom.list_namespaced_custom_object(*of)['items']] == [4]
  boat['metadata']['name'], boat['spec']['crew'] = 'two', 0
  e = expect(422, 'Invalid', custom.create_namespaced_custom_object, *of, boat)
  assert 'should be greater than or equal to 1' in e.body
  crds.delete_custom_resource_definition('boats.py.example.com')


globals()[sys.argv[1]]()
