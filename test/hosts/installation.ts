import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolveFolders } from '#kit/folders.ts';
import { ensureTokens, ownToken } from '#kit/tokens/tokens.ts';
import { copyFolder } from '../fixtures/repositories/temporary-folder.ts';
import { ref } from '../fixtures/world/world.ts';
import { contextProxyPort, type Host } from './host.ts';
import type { Surroundings } from './surroundings.ts';
import { prices } from './upstream.ts';

/** US dollars that the planning of one run may cost. */
export const planningBudget = 0.06;
/** Due each minute, with a task. */
const schedule = 'each-minute';
export const checkoutName = 'hello';

/** Gives all hosts the configuration of one installation. @returns the person's token */
export function installOn(hosts: readonly Host[], around: Surroundings): string {
  const [first, ...others] = hosts as [Host, ...Host[]];
  const config = join(first.home, 'config');
  mkdirSync(join(config, 'secrets'), { recursive: true, mode: 0o700 });
  const write = (name: string, value: unknown) =>
    writeFileSync(join(config, `${name}.json`), JSON.stringify(value));
  const open = { host: '0.0.0.0', behind_proxy: true, allowed_hosts: hosts.map(({ address }) => address) };
  write('core', {
    agentd: { ...open, checkouts: { [checkoutName]: join(first.place, 'checkout') } },
    context: { url: `http://127.0.0.1:${contextProxyPort}` },
    storage: { kind: 'postgres', ...around.database, s3: around.s3.settings },
    vcs: 'git',
  });
  write('models', { ...open, ...modelsOf(around), budgets: { day: 1_000 } });
  const processing = { automatic: true, concurrency: 2, first_retry_seconds: 2, most_retry_seconds: 5 };
  write('bridge', { ...open, processing });
  write('context', open);
  write('schedules', {
    schedules: [{ ...ref, name: schedule, cron: '* * * * *', task: 'Greet strangers whose name is empty' }],
  });
  write('agents', { planner: { bounds: { money: planningBudget } } });
  write('forges', {
    forges: [
      {
        ...{ name: 'git', kind: 'gitea', base_url: around.forgeUrl, clone_base_url: `${around.gitUrl}/` },
        ...{ token_file: 'forge-token', timeout_s: 10 },
      },
    ],
  });
  writeFileSync(join(config, 'secrets/forge-token'), `${around.forge.state.token}\n`, { mode: 0o600 });
  writeFileSync(join(config, 'secrets/key'), 'only-for-tests\n', { mode: 0o600 });
  const folders = resolveFolders({ home: first.home }, {} as never);
  ensureTokens(folders);
  for (const host of others) copyFolder(config, join(host.home, 'config'));
  for (const host of hosts) {
    const checkout = join(host.disk, 'checkout');
    execFileSync('git', ['clone', '-q', around.served.bare, checkout]);
    execFileSync('git', ['-C', checkout, 'remote', 'set-url', 'origin', around.served.clone_url]);
    chmodSync(join(host.home, 'config'), 0o700);
  }
  return ownToken(folders).text;
}

/** All gateways follow the file. */
export function setBudgetOfDay(hosts: readonly Host[], around: Surroundings, day: number): void {
  for (const { home } of hosts) {
    const open = { host: '0.0.0.0', behind_proxy: true, allowed_hosts: hosts.map(({ address }) => address) };
    const value = { ...open, ...modelsOf(around), budgets: { day } };
    writeFileSync(join(home, 'config/models.json'), JSON.stringify(value));
  }
}

function modelsOf({ upstream }: Surroundings): object {
  const at = { kind: 'openai', base_url: upstream.url, credential: 'key' };
  return {
    models: {
      coder: { tier: 'large', upstreams: [{ ...at, model: 'coder-1', price: prices.coder }] },
      spender: { tier: 'small', upstreams: [{ ...at, model: 'spender-1', price: prices.spender }] },
    },
  };
}
