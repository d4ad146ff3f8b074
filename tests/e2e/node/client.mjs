// SPDX-License-Identifier: Apache-2.0
// What programs do with the JavaScript client; node client.mjs NAME runs one function.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import * as k8s from '@kubernetes/client-node';

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const namespace = 'default';

const configMap = (name, data, labels) => ({ metadata: { name, labels }, data });
const create = (name, data, labels) =>
  core.createNamespacedConfigMap({ namespace, body: configMap(name, data, labels) });
const read = (name) => core.readNamespacedConfigMap({ namespace, name });
const list = (labelSelector) => core.listNamespacedConfigMap({ namespace, labelSelector });

async function refused(code, reason, promise) {
  await assert.rejects(promise, (e) => {
    const body = typeof e.body === 'string' ? JSON.parse(e.body) : e.body;
    assert.equal(e.code, code);
    assert.equal(body.reason, reason);
    return true;
  });
}

async function eventually(what) {
  for (let i = 0; i < 100; i++) {
    if (await what()) return;
    await sleep(100);
  }
  assert.fail(`did not come true: ${what}`);
}

const tests = {
  async createGetList() {
    const made = await create('js-a', { x: '1' });
    assert.match(made.metadata.uid, /^[0-9a-f-]{36}$/);
    assert.ok(made.metadata.creationTimestamp instanceof Date);
    assert.deepEqual((await read('js-a')).data, { x: '1' });
    const all = await core.listConfigMapForAllNamespaces();
    assert.ok(all.items.some((c) => c.metadata.name === 'js-a'));
    await core.deleteNamespacedConfigMap({ namespace, name: 'js-a' });
    await refused(404, 'NotFound', read('js-a'));
  },

  async updateConflict() {
    const first = await create('js-conflict', { n: '0' });
    const second = await read('js-conflict');
    first.data.n = '1';
    await core.replaceNamespacedConfigMap({ namespace, name: 'js-conflict', body: first });
    second.data.n = '2';
    await refused(409, 'Conflict',
      core.replaceNamespacedConfigMap({ namespace, name: 'js-conflict', body: second }));

    // Several that read, add one and write back: with conflicts nothing is lost.
    const add = async () => {
      for (;;) {
        const got = await read('js-conflict');
        got.data.n = String(Number(got.data.n) + 1);
        try {
          await core.replaceNamespacedConfigMap({ namespace, name: 'js-conflict', body: got });
          return;
        } catch (e) {
          assert.equal(e.code, 409);
        }
      }
    };
    await Promise.all(Array.from({ length: 10 }, add));
    assert.equal((await read('js-conflict')).data.n, '11');
  },

  async patches() {
    await create('js-patch', { a: '1', b: '2' });
    const patch = (body, type) => core.patchNamespacedConfigMap(
      { namespace, name: 'js-patch', body }, k8s.setHeaderOptions('Content-Type', type));
    await patch({ data: { a: null, c: '3' } }, k8s.PatchStrategy.MergePatch);
    await patch({ data: { e: '5' } }, k8s.PatchStrategy.StrategicMergePatch);
    const got = await patch([{ op: 'add', path: '/data/d', value: '4' }], k8s.PatchStrategy.JsonPatch);
    assert.deepEqual(got.data, { b: '2', c: '3', d: '4', e: '5' });
  },

  async pages() {
    const want = Array.from({ length: 25 }, (_, i) => `js-page-${String(i).padStart(2, '0')}`);
    await Promise.all(want.map((name) => create(name, {}, { page: 'js' })));
    const names = [];
    let token;
    do {
      const page = await core.listNamespacedConfigMap(
        { namespace, labelSelector: 'page=js', limit: 10, _continue: token });
      names.push(...page.items.map((c) => c.metadata.name));
      token = page.metadata._continue;
    } while (token);
    assert.deepEqual(names, want);
  },

  async watchFromList() {
    const { metadata: { resourceVersion } } = await list();
    await create('js-watch', { x: '1' });
    await core.deleteNamespacedConfigMap({ namespace, name: 'js-watch' });
    const events = [];
    await new Promise((resolve, reject) => {
      new k8s.Watch(config).watch(`/api/v1/namespaces/${namespace}/configmaps`,
        { resourceVersion, timeoutSeconds: 2 },
        (type, object) => events.push(`${type} ${object.metadata.name}`),
        (error) => (error ? reject(error) : resolve())).catch(reject);
    });
    assert.deepEqual(events, ['ADDED js-watch', 'DELETED js-watch']);
  },

  async informer() {
    const heard = { add: 0, update: 0, delete: 0 };
    const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`,
      () => list('informed'), 'informed');
    for (const verb of Object.keys(heard)) informer.on(verb, () => heard[verb]++);
    await create('js-before', {}, { informed: 'yes' });
    await informer.start();
    for (let i = 0; i < 30; i++) {
      await create(`js-inf-${i}`, {}, { informed: 'yes' });
      if (i % 3 === 0) await core.deleteNamespacedConfigMap({ namespace, name: `js-inf-${i}` });
      if (i % 3 === 1)
        await core.patchNamespacedConfigMap({ namespace, name: `js-inf-${i}`, body: { data: { i: `${i}` } } },
          k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch));
    }
    const versions = (items) => items.map((c) => `${c.metadata.name} ${c.metadata.resourceVersion}`).sort();
    const want = versions((await list('informed')).items);
    assert.equal(want.length, 21);
    await eventually(() => versions(informer.list()).join() === want.join());
    assert.deepEqual(heard, { add: 31, update: 10, delete: 10 });
    await informer.stop();
  },

  async errorsAreStatuses() {
    await refused(409, 'AlreadyExists', core.createNamespace({ body: { metadata: { name: 'default' } } }));
    await refused(422, 'Invalid', create('Bad_Name'));
    await refused(404, 'NotFound',
      core.createNamespacedConfigMap({ namespace: 'no-such', body: configMap('x') }));
  },

  async workloads() {
    const apps = config.makeApiClient(k8s.AppsV1Api);
    const name = 'js-web';
    const labels = { app: name };
    const body = {
      metadata: { name },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] } },
      },
    };
    const made = await apps.createNamespacedDeployment({ namespace, body });
    assert.equal(made.spec.replicas, 1);
    assert.equal(made.spec.template.spec.containers[0].imagePullPolicy, 'IfNotPresent');
    const scale = await apps.readNamespacedDeploymentScale({ namespace, name });
    scale.spec.replicas = 3;
    await apps.replaceNamespacedDeploymentScale({ namespace, name, body: scale });
    const got = await apps.readNamespacedDeployment({ namespace, name });
    assert.equal(got.spec.replicas, 3);
    got.spec.selector.matchLabels.app = 'other';
    await refused(422, 'Invalid', apps.replaceNamespacedDeployment({ namespace, name, body: got }));

    const batch = config.makeApiClient(k8s.BatchV1Api);
    const spec = { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example.com/app:1' }] };
    const job = await batch.createNamespacedJob(
      { namespace, body: { metadata: { name }, spec: { template: { spec } } } });
    assert.equal(job.spec.backoffLimit, 6);
    const service = await core.createNamespacedService(
      { namespace, body: { metadata: { name }, spec: { selector: labels, ports: [{ port: 80 }] } } });
    assert.match(service.spec.clusterIP, /^10\./);
  },

  // What kubectl apply does, for any kind, by what discovery says.
  async anyKind() {
    const client = k8s.KubernetesObjectApi.makeApiClient(config);
    const object = {
      apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy',
      metadata: { name: 'js-any', namespace }, spec: { podSelector: {} },
    };
    const made = await client.create(object);
    assert.deepEqual(made.spec.policyTypes, ['Ingress']);
    const applied = await client.patch({ ...object, spec: { podSelector: { matchLabels: { a: 'b' } } } },
      undefined, undefined, 'js', true, k8s.PatchStrategy.ServerSideApply);
    assert.deepEqual(applied.spec.podSelector.matchLabels, { a: 'b' });
    assert.ok(applied.metadata.managedFields.some((m) => m.manager === 'js' && m.operation === 'Apply'));
    await client.delete(object);
    await refused(404, 'NotFound', client.read(object));
  },
};

await tests[process.argv[2]]();
process.exit(0); // connections that are kept alive would hold it up
