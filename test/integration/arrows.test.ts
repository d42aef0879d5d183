import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readSettings } from '#kit/config/settings.ts';
import type { HealthCheck } from '#kit/contracts/health.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { dependencyChecks } from '../../services/agentd/http/health-checks.ts';
import { type RunningContext, startContext } from '../fixtures/context/context-service.ts';
import { until } from '../fixtures/until.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

describe('what core-agentd says of the services that it needs', () => {
  let world: World;
  let context: RunningContext;
  let arrows: ReturnType<typeof dependencyChecks>;

  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
    writeFileSync(join(world.home, 'config/context.json'), '{"require_token_for_reads": true}');
    context = await startContext(world.home);
    writeFileSync(join(world.home, 'config/core.json'), JSON.stringify({ context: { url: context.url } }));
    const folders = resolveFolders({ home: world.home }, environment);
    const settings = readSettings({
      folders,
      environment: { ...environment, CORE_CONTEXT_URL: context.url },
    });
    arrows = dependencyChecks({ folders, environment, settings, agent: world.agent });
  });
  afterEach(async () => {
    await arrows.close();
    await context.close();
    await world.close();
  });

  function becomes(name: string, wanted: (check: HealthCheck) => boolean): Promise<HealthCheck> {
    let last: HealthCheck | null = null;
    const failed = () => `${wanted}: ${JSON.stringify(last)}`;
    return until(failed, async () => {
      last = await arrows.checks[name]!();
      return wanted(last) && last;
    });
  }

  const tokens = () => join(world.home, 'config/tokens');

  it('is that core-context takes its own token, with no other token at hand', async () => {
    for (const name of readdirSync(tokens()).filter((file) => file.endsWith('.token')))
      if (name !== 'agentd.token') rmSync(join(tokens(), name));
    const { detail } = await becomes('context', (check) => check.detail.includes('agentd'));
    expect(detail).to.equal('answers, and takes the token agentd');
  });

  it('is degraded, and names the token, where core-context does not take it', async () => {
    writeFileSync(join(tokens(), 'agentd.token'), 'core_agentd_of_another_installation\n');
    const found = await becomes('context', ({ status }) => status === 'degraded');
    expect(found.detail).to.contain('the token is unknown to this installation');
  });

  it('is degraded, and names the scope, where the token may not do what is needed', async () => {
    const path = join(tokens(), 'registry.json');
    const registry = JSON.parse(readFileSync(path, 'utf8'));
    registry.tokens.find(({ name }: { name: string }) => name === 'agentd').scopes = ['read'];
    writeFileSync(path, JSON.stringify(registry));
    const found = await becomes('context', ({ status }) => status === 'degraded');
    expect(found.detail).to.match(
      /token agentd has the scopes read; this needs plan too \(\.\/core secrets init/,
    );
  });

  it('needs no gateway without a model, and reports how much waits for delivery', async () => {
    const gateway = await becomes('model_gateway', ({ detail }) => detail.includes('not needed'));
    expect(gateway.status).to.equal('ok');
    await context.close();
    const number = await world.newIssue(`Do it:\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`);
    await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    const { backlog, detail } = await becomes('context_outbox', (check) => check.backlog?.waiting === 1);
    expect(backlog!.oldest_seconds).to.be.within(0, 180);
    expect(detail).to.match(/^runs to deliver to core-context: 1 waits, the oldest for \d+ s$/);
    context = await startContext(world.home);
  });
});
