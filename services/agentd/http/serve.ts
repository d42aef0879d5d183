import { guarded } from '#kit/callbacks.ts';
import { LiveConfig } from '#kit/config/live-config.ts';
import { readSettings, type SettingFlags, type Settings } from '#kit/config/settings.ts';
import { openDatabase } from '#kit/database/open-database.ts';
import { environment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import type { Route } from '#kit/http/route.ts';
import { serveService } from '#kit/http/serve-service.ts';
import { once } from '#kit/once.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import { openServiceProcess } from '#kit/service-process.ts';
import type { Tokens } from '#kit/tokens/tokens.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { Notifications } from '../notifications/compose.ts';
import { readNotifications } from '../notifications/configuration.ts';
import { notifyRegularly } from '../notifications/notify-regularly.ts';
import { openObjects } from '../open-run-store.ts';
import { readPolicy } from '../policy.ts';
import { readClientSecret, readOidc } from '../review/oidc/configuration.ts';
import { IdentityProvider } from '../review/oidc/provider.ts';
import { reviewRoutes } from '../review/routes.ts';
import { Sessions } from '../review/session.ts';
import { SignInStore } from '../review/sign-in-store.ts';
import { agentdSchema } from '../schema.ts';
import { readWorkConfiguration } from '../work-configuration.ts';
import { BackgroundWork } from './background-work.ts';
import { deliverRegularly } from './context-delivery.ts';
import { eventRoutes } from './event-routes.ts';
import {
  bucketCheck,
  checkHealth,
  dependencyChecks,
  identityProviderCheck,
  runsCheck,
} from './health-checks.ts';
import { issueRoutes } from './issue-routes.ts';
import { mcpRoutes } from './mcp.ts';
import { readRoutes } from './read-routes.ts';
import { reviewLinkRoutes } from './review-link-routes.ts';
import { runChanges } from './run-changes.ts';
import { createStatusCommand, type StatusCommand } from './status-command.ts';
import { writeRoutes } from './write-routes.ts';

export interface DaemonStart {
  readonly home: string | undefined;
  readonly flags: SettingFlags;
}

export interface DaemonOptions {
  readonly agent: CoreAgent;
  readonly work: BackgroundWork;
  readonly settings: Settings;
  readonly redactor: Redactor;
  readonly version: string;
  readonly status: StatusCommand;
  readonly tokens: Tokens;
  /** Who is signed in to the review page. */
  readonly signIns: SignInStore;
  /** The value of `--home`; undefined where it was not given. */
  readonly home: string | undefined;
  readonly provider: IdentityProvider;
  /** Name to path of the working copies that an execution can deliver to, as configured now. */
  readonly checkouts: () => Readonly<Record<string, string>>;
}

/** core-agentd's HTTP interface over the use cases, besides the standard routes. */
export function daemonRoutes({ settings, ...options }: DaemonOptions): Route[] {
  const { agent, work, checkouts } = options;
  const changes = runChanges({ agent, work }, checkouts);
  const { provider } = options;
  const sessions = new Sessions({
    store: options.signIns,
    tokens: options.tokens,
    accountScopes: (account, groups) => provider.scopesOf(account, groups),
  });
  return [
    ...readRoutes(options),
    ...issueRoutes(agent, work.ending),
    ...eventRoutes(options),
    ...writeRoutes(agent, changes),
    ...mcpRoutes(options),
    ...reviewLinkRoutes(agent, sessions),
    ...reviewRoutes({
      ...options,
      changes,
      sessions,
      binding: settings.agentd,
    }),
  ];
}

/** @throws InvalidInput (`config_invalid`) for what the daemon itself needs, and for what planning and execution will */
export function readConfiguration({ home, flags }: DaemonStart): Settings {
  const folders = resolveFolders({ home }, environment);
  readWorkConfiguration(folders);
  const settings = readSettings({ folders, environment, flags });
  const oidc = readOidc(folders, settings.agentd);
  if (oidc !== null) readClientSecret(oidc, folders);
  readNotifications(folders);
  return settings;
}

/** Runs the daemon until a signal comes or the process that started it is gone. @returns the exit code */
export async function serve({
  agent,
  home,
  flags,
  configuration,
  takeWarnings,
  openNotifications,
}: DaemonStart & {
  readonly agent: CoreAgent;
  /** Of planning and execution. */
  readonly configuration: () => Promise<Pick<LiveConfig<unknown>, 'report' | 'health'>>;
  /** What the store of runs warns of goes there from now on. */
  readonly takeWarnings: (warn: (message: string) => void) => void;
  readonly openNotifications: (settings: Settings, redactor: Redactor) => Notifications;
}): Promise<number> {
  const settings = readConfiguration({ home, flags });
  const own = await openServiceProcess('core-agentd', { home, flags });
  const { folders, logger, shutdown, version } = own;
  takeWarnings((message) => logger.warn(message));
  const work = new BackgroundWork(logger);
  shutdown.add('the work on runs', () => work.close());
  // Answers wait for it.
  shutdown.signal.addEventListener(
    'abort',
    guarded('background work', () => work.close()),
  );
  const reported = once(async () => {
    const live = await configuration();
    live.report(logger);
    return live;
  });
  const dependencies = dependencyChecks({ folders, environment, settings, agent });
  shutdown.add('its clients', () => dependencies.close());
  const status = createStatusCommand(folders);
  const oidc = new LiveConfig({ names: ['oidc'], folders, read: () => readOidc(folders, settings.agentd) });
  oidc.report(logger);
  const checkouts = new LiveConfig({
    names: ['core'],
    folders,
    read: () => readSettings({ folders, environment, flags }).agentd.checkouts,
  });
  const timeoutMs = settings.answers.seconds * 1000;
  const policy = new LiveConfig({ names: ['policy'], folders, read: () => readPolicy(folders) });
  const provider = new IdentityProvider({
    revoked: () => policy.current.approval.revoked_accounts,

    settings: () => oidc.current,
    folders,
    proxies: environment,
    timeoutMs,
  });
  shutdown.add('its connections to the identity provider', () => provider.close());
  const providerCheck = identityProviderCheck(provider, oidc, timeoutMs);
  const runs = runsCheck(agent);
  const objects = await openObjects(folders);
  shutdown.add('its connections to the bucket', async () => objects?.store.close());
  const bucket = objects === null ? {} : { artifacts: bucketCheck(objects.store, timeoutMs) };
  const notifications = openNotifications(settings, own.redactor);
  // Its connections are beside those of the runs: signing in never waits for them.
  const tables = { application: 'core-agentd', pool: 'sign_ins', connections: 2 };
  const signIns = new SignInStore(await openDatabase(folders, agentdSchema, tables));
  shutdown.add('who is signed in', () => signIns.close());
  return serveService(own, {
    concern: 'agentd',
    binding: settings.agentd,
    parts: {
      registry: notifications.registry(),
      routes: daemonRoutes({
        ...{ ...own, home, agent, work, settings, status, provider, signIns },
        checkouts: () => checkouts.current,
      }),
      health: () => {
        const checks = {
          configuration: async () => (await reported()).health(),
          ...dependencies.checks,
          ...bucket,
          notifications: async () => notifications.health(),
          ...(provider.settings === null ? {} : { identity_provider: providerCheck }),
        };
        return checkHealth(version, runs, checks);
      },
    },
    listening() {
      reported().catch((error) => logger.error(messageOf(error), { error }));
      const delivery = deliverRegularly(agent, logger);
      shutdown.add('deliveries to the context service', () => delivery.end());
      notifications.live.report(logger);
      const notifying = notifyRegularly(notifications.notifier(logger), logger);
      shutdown.add('notifications', () => notifying.end());
    },
  });
}
