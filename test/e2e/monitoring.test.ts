import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { contextMetrics } from '../../services/context/hosts/metrics.ts';
import { readAlerts, readExpressions, root, textOf } from '../fixtures/monitoring/monitoring.ts';
import { parseExpression } from '../fixtures/monitoring/promql.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';
import { freePort } from '../support/free-port.ts';
import { makePlace, type Place, run } from './core-process.ts';
import { type Stack, startStack } from './stack-process.ts';

/** The services with measurements, and the port of each in prometheus.yml. */
const measured = {
  'core-agentd': 7817,
  'core-context': 8090,
  'core-model-gateway': 8092,
  'core-bridge': 8093,
  'core-bus-engine': 49134,
} as const;

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

describeWith(['linux'], 'the measurements of a running stack', () => {
  let place: Place;
  let stack: Stack;
  let tokenFile: string;

  before(async () => {
    place = makePlace();
    stack = startStack(place.home);
    await stack.ready();
    const { exitCode, stderr } = await place.core('token', 'create', 'prometheus', '--scopes', 'read');
    expect(exitCode, stderr).to.equal(0);
    tokenFile = join(place.home, 'config/tokens/prometheus.token');
  });
  after(async () => {
    if (stack?.child.exitCode === null) await stack.end();
    place?.remove();
  });

  /** The engine has its measurements on the port of the websocket, which `up` prints first. */
  const addressOf = (service: string) =>
    new RegExp(`^${service} +(?:http|ws)://(\\S+)`, 'm').exec(stack.said())![1]!;

  it('are all that rules and dashboard ask for', async () => {
    const authorization = `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`;
    // core-context has its own only where several hosts share its record.
    const ofHosts = contextMetrics(null).getMetricsAsArray();
    const exported = new Set(['up', ...ofHosts.map(({ name }) => name)]);
    for (const service of Object.keys(measured)) {
      const answer = await fetch(`http://${addressOf(service)}/v1/metrics`, { headers: { authorization } });
      expect(answer.status, service).to.equal(200);
      for (const [, name, type] of (await answer.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm))
        for (const part of type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''])
          exported.add(`${name}${part}`);
    }
    const asked = readExpressions().flatMap(({ expr }) => parseExpression(expr).selectors);
    const missing = asked.map(({ metric }) => metric).filter((metric) => !exported.has(metric));
    expect(asked).to.have.length.above(40);
    expect(missing).to.deep.equal([]);
  });

  describeWith(['prometheus'], 'and a real Prometheus', () => {
    it('fires each alert on what it is for, and on nothing beside it', async () => {
      const tests = 'test/fixtures/monitoring/alerts.yml';
      const { exitCode, stdout, stderr } = await run('promtool', ['test', 'rules', tests], root);
      expect(exitCode, stdout + stderr).to.equal(0);
      const tried = [...textOf(tests).matchAll(/alertname: (\w+)\n +exp_alerts:\n +- /g)].map(
        ([, name]) => name,
      );
      expect(tried).to.deep.equal(readAlerts().map(({ alert }) => alert));
    });

    it('scrapes every service with prometheus.yml, and evaluates every rule', async () => {
      const prometheus = await startPrometheus();
      try {
        const up = await until('five targets that are up', async () => {
          const found = await prometheus.query('up == 1');
          return found.length === Object.keys(measured).length && found;
        });
        expect(up.map(({ metric }) => metric.job).sort()).to.deep.equal(Object.keys(measured).sort());
        const rules = await until('rules that were evaluated', async () => {
          const found = await prometheus.rules();
          return found.every(({ health }) => health !== 'unknown') && found;
        });
        expect(rules.filter(({ health }) => health !== 'ok')).to.deep.equal([]);
        expect(rules.map(({ name }) => name)).to.have.members(readAlerts().map(({ alert }) => alert));
        // What CoreBusWithoutWorker counts on: the bridge provides one function, the worker the others.
        const [functions] = await prometheus.query('bus_functions');
        expect(Number(functions!.value[1])).to.be.above(2);
      } finally {
        await prometheus.end();
      }
    });

    /** On a copy of prometheus.yml whose targets and token are those of this stack. */
    async function startPrometheus() {
      const folder = join(place.folder, 'prometheus');
      cpSync(join(root, 'config/monitoring'), folder, { recursive: true });
      let config = textOf('config/monitoring/prometheus.yml')
        .replaceAll('15s', '1s')
        .replaceAll('/etc/prometheus/core.token', tokenFile);
      for (const [service, port] of Object.entries(measured))
        config = config.replace(`127.0.0.1:${port}`, addressOf(service));
      writeFileSync(join(folder, 'prometheus.yml'), config);
      const url = `127.0.0.1:${await freePort()}`;
      const flags = [
        '--config.file=prometheus.yml',
        '--storage.tsdb.path=data',
        `--web.listen-address=${url}`,
      ];
      const child: ChildProcess = spawn('prometheus', flags, { cwd: folder, stdio: 'ignore' });
      const ended = once(child, 'close');
      const get = async (path: string) => {
        const answer = await fetch(`http://${url}/api/v1/${path}`).catch(() => null);
        return answer?.ok === true ? (await answer.json()).data : null;
      };
      return {
        query: async (expr: string): Promise<Series[]> =>
          (await get(`query?query=${encodeURIComponent(expr)}`))?.result ?? [],
        async rules(): Promise<{ name: string; health: string }[]> {
          const found: { groups: { rules: { name: string; health: string }[] }[] } = await get('rules');
          return found.groups.flatMap(({ rules }) => rules);
        },
        async end() {
          child.kill('SIGTERM');
          await ended;
        },
      };
    }
  });
});
