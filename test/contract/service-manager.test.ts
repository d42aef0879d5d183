import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type StackNote, stackFolder, stackNoteName } from '#kit/contracts/stack-note.ts';
import { CoreError } from '#kit/errors.ts';
import { thisProcess } from '#kit/storage/process-identity.ts';
import { dockerCompose } from '../../services/status/managers/docker-compose.ts';
import { embeddedStack } from '../../services/status/managers/embedded-stack.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { type ManagedScene, serviceManagerContract } from './service-manager.contract.ts';

const since = '2026-11-22T06:00:00.000Z';
const none = { pid: null, restarts: 0, last_end: null, url: null, bus_connected: null };

describe('The service manager of the embedded stack', () => {
  serviceManagerContract(embeddedScene);

  it('knows services that were left out, and those that do not run at all', async () => {
    const state = noteWith({ services: {}, left: { 'core-bridge': '--without bridge leaves it out' } });
    const units = await embeddedStack({ state }).units(AbortSignal.timeout(100_000));
    expect(units.get('core-bridge')).to.include({
      state: 'left_out',
      detail: '--without bridge leaves it out',
    });
    expect(units.get('core-agentd')).to.include({ state: 'missing', fix: 'Start it: ./core up' });
  });

  it('believes no note whose supervisor is gone', async () => {
    const services = { 'core-agentd': { ...none, state: 'running' as const, since, pid: process.pid } };
    const holder = { ...thisProcess(), process_started: '1' };
    const manager = embeddedStack({ state: noteWith({ services, holder }) });
    expect((await manager.units(AbortSignal.timeout(100_000))).get('core-agentd')?.state).to.equal('missing');
    expect(manager.detail).to.match(/^no \.\/core up runs/);
  });
});

describe('The service manager of docker compose', () => {
  serviceManagerContract(composeScene);

  it('reads one list as well as one object for each line, and takes no finished preparation for a fault', async () => {
    const list = JSON.stringify([
      { Service: 'init', State: 'exited', Status: 'Exited (0) 5 minutes ago', Health: '', ExitCode: 0 },
      { Service: 'core-agentd', State: 'running', Status: 'Up 5 minutes', Health: 'starting', ExitCode: 0 },
      { Service: 'core-context', State: 'running', Status: 'Up', Health: 'unhealthy', ExitCode: 0 },
    ]);
    const manager = dockerCompose({ file: null, project: 'core' }, { command: fakeDocker(list) });
    const units = await manager.units(AbortSignal.timeout(100_000));
    expect(units.get('init')).to.include({ state: 'left_out' });
    expect(units.get('core-agentd')).to.include({ state: 'starting' });
    expect(units.get('core-context')).to.include({
      state: 'failed',
      fix: 'Its log: docker compose --project-name core logs core-context',
    });
  });

  it('judges every service of the file, and knows where those that run are reached', async () => {
    const publisher = (TargetPort: number, PublishedPort: number) => ({
      ...{ URL: '127.0.0.1', Protocol: 'tcp' },
      TargetPort,
      PublishedPort,
    });
    const containers = [
      {
        ...{ Service: 'core-agentd', State: 'running', Status: 'Up', Health: 'healthy' },
        Labels: 'a=b,com.docker.compose.project.working_dir=/srv/core,c=d',
        Publishers: [publisher(7817, 9017)],
      },
      {
        ...{ Service: 'publisher', State: 'running', Status: 'Up', Health: 'healthy' },
        Publishers: [publisher(49_134, 9134), publisher(3111, 0)],
      },
    ];
    const manager = dockerCompose(
      { file: null, project: 'core' },
      { command: fakeDocker(JSON.stringify(containers)) },
    );
    const units = await manager.units(AbortSignal.timeout(100_000));
    const fix = 'docker compose --project-name core up --detach core-bus-worker';
    expect(units.get('core-bus-worker')).to.include({ state: 'missing', fix });
    expect(manager.deployment!()).to.deep.equal({
      published: new Map([
        [7817, '127.0.0.1:9017'],
        [49_134, '127.0.0.1:9134'],
      ]),
      folder: '/srv/core',
    });
  });

  it('says why it cannot be asked', async () => {
    const reason = async (command: string) => {
      const manager = dockerCompose({ file: null, project: null }, { command });
      return manager.units(AbortSignal.timeout(100_000)).then(
        () => null,
        (error: CoreError) => [error.code, error.message],
      );
    };
    expect(await reason(join(temporaryFolder(), 'docker'))).to.deep.equal([
      'service_manager_unavailable',
      'docker compose cannot be asked: docker is not installed',
    ]);
    const failing = script("echo 'Cannot connect to the Docker daemon' >&2; exit 1");
    expect(await reason(failing)).to.deep.equal([
      'service_manager_unavailable',
      'docker compose cannot be asked: Cannot connect to the Docker daemon',
    ]);
    const garbled = dockerCompose({ file: null, project: null }, { command: fakeDocker('{"Service":7}') });
    const error = await garbled.units(AbortSignal.timeout(100_000)).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(CoreError);
  });
});

/** Processes of this test stand for services; one is stopped as a person would. */
async function embeddedScene(): Promise<ManagedScene> {
  const children = [1, 2].map(() => spawn('sleep', ['600'], { stdio: 'ignore' }));
  await Promise.all(children.map((child) => once(child, 'spawn')));
  const [running, stopped] = children as [(typeof children)[0], (typeof children)[0]];
  stopped.kill('SIGSTOP');
  await untilStopped(stopped.pid!);
  const state = noteWith({
    services: {
      'core-agentd': { ...none, state: 'running', since, pid: running.pid! },
      'core-context': { ...none, state: 'running', since, pid: stopped.pid! },
      'core-bridge': { ...none, state: 'waiting', since, restarts: 1, last_end: 'SIGKILL' },
      'core-bus-engine': { ...none, state: 'given_up', since, last_end: 'exit status 3' },
    },
  });
  return {
    manager: embeddedStack({ state }),
    running: 'core-agentd',
    stopped: 'core-context',
    waiting: 'core-bridge',
    ended: 'core-bus-engine',
    async close() {
      for (const child of children) {
        child.kill('SIGKILL');
        if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
      }
    },
  };
}

/** What Docker Compose 2.x prints, one object for each line. */
async function composeScene(): Promise<ManagedScene> {
  const lines = [
    {
      Service: 'core-agentd',
      State: 'running',
      Status: 'Up 3 minutes (healthy)',
      Health: 'healthy',
      ID: 'a1',
    },
    { Service: 'core-bridge', State: 'restarting', Status: 'Restarting (1) 2 seconds ago', Health: '' },
    {
      Service: 'core-bus-engine',
      State: 'exited',
      Status: 'Exited (137) 9 seconds ago',
      Health: '',
      ExitCode: 137,
    },
    { Service: 'core-context', State: 'paused', Status: 'Up 3 minutes (Paused)', Health: '' },
  ];
  const command = fakeDocker(lines.map((line) => JSON.stringify(line)).join('\n'));
  return {
    manager: dockerCompose({ file: '/srv/core/compose.yaml', project: null }, { command }),
    running: 'core-agentd',
    waiting: 'core-bridge',
    ended: 'core-bus-engine',
    stopped: 'core-context',
    close: async () => {},
  };
}

/** A program that answers as `docker compose` does to the questions that are asked. */
function fakeDocker(containers: string): string {
  const file = join(temporaryFolder(), 'containers');
  writeFileSync(file, containers);
  return script(`case "$*" in
  *" ps "*) cat '${file}' ;;
  *" config --services") printf 'core-bus-engine\\ncore-agentd\\ncore-bus-worker\\n' ;;
  "inspect "*) echo '["III_TELEMETRY_ENABLED=false","EMPTY="]' ;;
  *) echo "unknown: $*" >&2; exit 1 ;;
esac`);
}

function script(body: string): string {
  const path = join(temporaryFolder(), 'docker');
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

function noteWith(change: Partial<StackNote>): string {
  const state = temporaryFolder();
  mkdirSync(join(state, stackFolder));
  const note: StackNote = { holder: thisProcess(), since, services: {}, left: {}, ...change };
  writeFileSync(join(state, stackFolder, stackNoteName), JSON.stringify(note));
  return state;
}

async function untilStopped(pid: number): Promise<void> {
  const path = `/proc/${pid}/stat`;
  await until('it to be stopped', () => !existsSync(path) || /\) T /.test(readFileSync(path, 'utf8')));
}
