import type { ProgramStart } from '#kit/cli/program.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { once } from '#kit/once.ts';
import { runProgramFile } from '#kit/program.ts';
import type { TokenRegistry } from '#kit/tokens/registry.ts';
import type { Services } from './cli/services.ts';
import { CoreAgent } from './core-agent.ts';
import { openRunStore } from './open-run-store.ts';

interface OpenServicesOptions {
  readonly home: string | undefined;
  /** Called with what limits the work and does not end it. */
  readonly warn?: (message: string) => void;
}

/**
 * The composition root of core-agentd. Nothing is opened or loaded before it is asked for: looking at runs loads neither forges
 * nor planners.
 */
export async function openServices({ home, warn = () => {} }: OpenServicesOptions): Promise<Services> {
  const folders = resolveFolders({ home }, environment);
  const sources = { environment, folders };
  const forgeFolders = { stateDir: folders.state, secretsDir: folders.secrets };
  let report = warn;
  const store = await openRunStore(folders, {
    warn: (message) => report(message),
    async secrets() {
      const [{ readSecretFinder }, { LiveConfig }] = await Promise.all([
        import('#kit/config/released-secrets.ts'),
        import('#kit/config/live-config.ts'),
      ]);
      const read = () => readSecretFinder(folders);
      return new LiveConfig({ names: ['policy'], folders, read });
    },
  });
  let registry: TokenRegistry | null = null;
  const tokens = once(async () => {
    const { openRegistry } = await import('#kit/tokens/open-registry.ts');
    registry = await openRegistry(folders);
    return registry;
  });
  const work = once(async () => {
    const [{ openWork }, { readSettings }] = await Promise.all([
      import('./compose-work.ts'),
      import('#kit/config/settings.ts'),
    ]);
    return openWork({ folders, settings: readSettings(sources), store, tokens: await tokens() });
  });
  const approvals = async () => {
    const { current } = await work();
    await current.approvalsFresh();
    return current.approvals();
  };
  const agent = new CoreAgent(store, async () => (await work()).current);

  return {
    agent,
    async person() {
      const [{ registeredOwnToken }, { ensureTokens }] = await Promise.all([
        import('#kit/tokens/open-registry.ts'),
        import('#kit/tokens/tokens.ts'),
      ]);
      ensureTokens(folders);
      return registeredOwnToken(folders, await tokens());
    },
    async settings() {
      const [{ describeSettings }, { describeConcern }] = await Promise.all([
        import('#kit/config/settings.ts'),
        import('#kit/config/concern.ts'),
      ]);
      const { addressOverrides } = await import('#kit/config/service-address.ts');
      const others = [
        'forges',
        'agents',
        'policy',
        'oidc',
        'validation',
        'schedules',
        'status',
        'notifications',
      ];
      const addressed = ['context', 'models', 'bridge', 'bus'] as const;
      return [
        ...describeSettings(sources),
        ...others.flatMap((name) => describeConcern(name, folders)),
        ...addressed.flatMap((name) =>
          describeConcern(name, folders, addressOverrides(name, { environment })),
        ),
      ];
    },
    async approvalDays() {
      const { readPolicy } = await import('./policy.ts');
      return readPolicy(folders).approval.expires_after_days;
    },
    async signingKey(given) {
      const [{ readSettings }, { findSigningKey }] = await Promise.all([
        import('#kit/config/settings.ts'),
        import('./signatures/signing-key.ts'),
      ]);
      return findSigningKey(given, readSettings(sources).signing.key);
    },
    async forges() {
      const [{ readConcern }, { answerMs }, { ForgesConfig, examineForges }] = await Promise.all([
        import('#kit/config/concern.ts'),
        import('#kit/config/settings.ts'),
        import('./forges/registry.ts'),
      ]);
      return examineForges(readConcern(ForgesConfig, 'forges', folders), forgeFolders, answerMs(sources));
    },
    async localForge() {
      const [{ readConcern }, { ForgesConfig, localForgeAdmin }, { readSecretFinder }] = await Promise.all([
        import('#kit/config/concern.ts'),
        import('./forges/registry.ts'),
        import('#kit/config/released-secrets.ts'),
      ]);
      const config = readConcern(ForgesConfig, 'forges', folders);
      return localForgeAdmin(config, forgeFolders, readSecretFinder(folders));
    },
    async addCheckout(ref, path) {
      const { addCheckout } = await import('./checkouts-file.ts');
      return addCheckout(folders, ref, path);
    },
    agents: async () => (await (await work()).current.planners()).agents,
    async notifications() {
      const [{ readSettings }, { openNotifications }, { Redactor }] = await Promise.all([
        import('#kit/config/settings.ts'),
        import('./notifications/compose.ts'),
        import('#kit/redaction/redactor.ts'),
      ]);
      const settings = readSettings(sources);
      return openNotifications({ folders, settings, store, approvals, redactor: new Redactor() });
    },
    async serve({ check, ...flags }) {
      const [{ readConfiguration, serve }, { openNotifications }] = await Promise.all([
        import('./http/serve.ts'),
        import('./notifications/compose.ts'),
      ]);
      if (!check)
        return serve({
          agent,
          home,
          flags,
          configuration: work,
          takeWarnings: (to) => {
            report = to;
          },
          openNotifications: (settings, redactor) =>
            openNotifications({ folders, settings, store, approvals, redactor }),
        });
      readConfiguration({ home, flags });
      return exitCodes.done;
    },
    async close() {
      await store.close();
      await registry?.close();
    },
  };
}

/** Runs one command line; `./core` and `core-agentd` are two names for it. */
export async function main(start: ProgramStart): Promise<number> {
  const { declared, program: name, version } = start;
  if (declared !== undefined) {
    const { declareProgram } = await import('./cli/program.ts');
    declared(await declareProgram({ name, version, run: () => Promise.resolve() }));
    return exitCodes.done;
  }
  const { runCommandLine } = await import('./cli/command-line.ts');
  return runCommandLine({ ...start, stdout: process.stdout, stderr: process.stderr, open: openServices });
}

if (import.meta.main) await runProgramFile('core-agentd', main);
