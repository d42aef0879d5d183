import { urlOf } from '#kit/config/address.ts';
import { LiveConfig } from '#kit/config/live-config.ts';
import { runningService } from '#kit/config/running-service.ts';
import type { Settings } from '#kit/config/settings.ts';
import { backlogInWords, type HealthCheck } from '#kit/contracts/health.ts';
import { openDatabase } from '#kit/database/open-database.ts';
import { environment } from '#kit/environment.ts';
import { CoreError, messageOf, NotFound } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import type { Logger } from '#kit/log.ts';
import { ownVersion } from '#kit/program.ts';
import { Gauge, Registry } from '#kit/prometheus.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import { agentdSchema } from '../schema.ts';
import type { Channel } from './channel.ts';
import { openChannel } from './channels/registry.ts';
import {
  type ChannelKind,
  kindsOf,
  type NotificationsConfig,
  type NotifiedPerson,
  notificationsFile,
  readNotifications,
} from './configuration.ts';
import type { Notice } from './notice.ts';
import { NotificationRows } from './notification-rows.ts';
import { Notifier, type NotifierParts, sendBy } from './notifier.ts';
import { NotificationQueue } from './queue.ts';

/** How the test of one channel of a person went. */
export interface TestedChannel {
  readonly person: string;
  readonly channel: ChannelKind;
  /** Where it leads; null where that could not be found out. */
  readonly place: string | null;
  /** null if it was sent. */
  readonly problem: string | null;
  /** Remedy; null if none is known. */
  readonly fix: string | null;
}

interface NotificationOptions extends Pick<NotifierParts, 'store' | 'approvals'> {
  readonly folders: Pick<Folders, 'state' | 'config' | 'secrets'>;
  readonly settings: Pick<Settings, 'agentd'>;
  readonly redactor: Redactor;
  /** Milliseconds since 1970; default the clock. */
  readonly now?: () => number;
}

export type Notifications = ReturnType<typeof openNotifications>;

/** Composes the notifier, its queue and its health. */
export function openNotifications(options: NotificationOptions) {
  const { folders, settings, redactor, now = Date.now, ...sources } = options;
  const live = new LiveConfig({
    names: ['notifications'],
    folders,
    read: (): NotificationsConfig => readNotifications(folders),
  });
  // Its connections are beside those of the runs: notifications never wait for them.
  const tables = { application: 'core-agentd', pool: 'notifications', connections: 2, now };
  const queue = new NotificationQueue(
    async () => new NotificationRows(await openDatabase(folders, agentdSchema, tables)),
  );
  const pageOf = (runId: string, { page_url }: NotificationsConfig) => {
    const own = () => urlOf({ ...settings.agentd, tls: settings.agentd.tls !== null });
    const page = page_url ?? runningService('core-agentd', folders)?.url ?? own();
    return `${page.replace(/\/$/, '')}/${runId === '' ? '' : `runs/${runId}`}`;
  };
  const open = (kind: ChannelKind, { channels }: NotifiedPerson, { smtp }: NotificationsConfig) =>
    openChannel(kind, channels, {
      folders,
      smtp,
      userAgent: `core/${ownVersion()}`,
      proxies: environment,
      learned: (secret) => redactor.addSecret(secret),
      path: environment.PATH ?? '',
    });

  const file = notificationsFile(folders);

  return {
    live,
    /** Path of notifications.json. */
    file,
    notifier: (logger: Pick<Logger, 'info' | 'warn'>) =>
      new Notifier({
        ...sources,
        queue,
        config: () => live.current,
        open,
        pageOf,
        redact: (text) => redactor.redact(text),
        logger,
        now,
      }),
    /** Every channel of a person, or of everybody: sends a test, one after the other. */
    async *test(person: string | null, signal: AbortSignal): AsyncGenerator<TestedChannel> {
      const config = live.current;
      for (const [name, notified] of chosen(config, person, file))
        for (const channel of kindsOf(notified.channels)) {
          let opened: Channel | null = null;
          const opening = () => {
            opened = open(channel, notified, config);
            return opened;
          };
          const letter = {
            person: name,
            notices: [testNotice(name)] as const,
            pageOf: () => pageOf('', config),
          };
          const failure = await sendBy(opening, letter, signal).then(
            () => null,
            (error) => ({
              problem: redactor.redact(messageOf(error)),
              fix:
                error instanceof CoreError && error.hint !== undefined ? redactor.redact(error.hint) : null,
            }),
          );
          signal.throwIfAborted();
          const { problem, fix } = failure ?? { problem: idleOf(opened), fix: null };
          yield { person: name, channel, place: placeOf(opened), problem, fix };
        }
    },
    async health(): Promise<HealthCheck> {
      const config = live.health();
      if (config.status !== 'ok') return config;
      const people = Object.keys(live.current.people).length;
      if (people === 0) return { status: 'ok', detail: `nobody is notified: ${file} names nobody` };
      const problem = await queue.problem();
      const { pending = 0, dead = 0 } = await queue.counts();
      const givenUp = dead === 0 ? '' : `; ${dead} given up`;
      if (problem === null) return { status: 'ok', detail: `${pending} to be sent${givenUp}` };
      const { backlog, message } = problem;
      return {
        status: 'degraded',
        detail: `not taken: ${backlogInWords(backlog)}: ${message}${givenUp}`,
        backlog,
      };
    },
    registry: (): Registry => createNotificationMetrics(() => queue.counts()),
  };
}

function idleOf(channel: Channel | null): string | null {
  return channel?.idle ?? null;
}

function placeOf(channel: Channel | null): string | null {
  return channel?.place ?? null;
}

/** @throws NotFound (`person_not_notified`) */
function chosen(
  { people }: NotificationsConfig,
  name: string | null,
  file: string,
): [string, NotifiedPerson][] {
  if (name === null) return Object.entries(people);
  const found = Object.hasOwn(people, name) ? people[name] : undefined;
  if (found !== undefined) return [[name, found]];
  const names = Object.keys(people);
  throw new NotFound(
    'person_not_notified',
    `${file} does not name '${name}'; it names ${names.length === 0 ? 'nobody' : names.join(', ')}`,
    {
      facts: { path: file },
      hint: `Add ${name} to people of that file, with a channel such as "desktop": {}; site/guide-notifications.md has examples.`,
    },
  );
}

function testNotice(person: string): Notice {
  return {
    id: `test ${Date.now()}`,
    event: 'waits_for_you',
    at: new Date().toISOString(),
    run_id: '',
    subject: 'a test',
    title: null,
    text: `This is a test of core notify for ${person}. No run waits.`,
  };
}

/** @param counts asked when the measurements are read */
export function createNotificationMetrics(counts: NotificationQueue['counts']): Registry {
  const registry = new Registry();
  new Gauge({
    name: 'agentd_notifications',
    help: 'Notifications in the queue; done were sent, skipped were dealt with before, dead were given up',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      for (const [state, count] of Object.entries(await counts())) this.set({ state }, count);
    },
  });
  return registry;
}
