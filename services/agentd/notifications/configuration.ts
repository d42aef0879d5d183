import { join } from 'node:path';
import * as t from 'io-ts';
import { HttpUrl } from '#kit/config/address.ts';
import { readConcern } from '#kit/config/concern.ts';
import { integerBetween, NonEmptyString, nullable, oneOf, optional, stringThat } from '#kit/decode.ts';
import { type FieldError, InvalidInput } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';

/** What people are notified of. */
export const notificationEvents = [
  'waits_for_you',
  'validation_failed',
  'planning_failed',
  'execution_stopped',
  'merged',
] as const;
export type NotificationEvent = (typeof notificationEvents)[number];

const MailAddress = stringThat(
  'MailAddress',
  'one mail address without a name, for example mira@example.org',
  (text) => text.length <= 254 && /^[^\s@<>",;:()\\]+@[A-Za-z0-9.-]+$/.test(text),
);

const ClockTime = stringThat('ClockTime', 'a time of day, for example 22:00', (text) =>
  /^([01]\d|2[0-3]):[0-5]\d$/.test(text),
);

const TimeZone = stringThat(
  'TimeZone',
  'a time zone of the IANA database, for example Europe/Berlin',
  (text) => {
    try {
      return text !== '' && new Intl.DateTimeFormat('en', { timeZone: text }) !== null;
    } catch {
      return false;
    }
  },
);

/** No notifications from the one time until the other, which may be on the next day; they come together afterwards. */
export const QuietHours = t.strict({
  /** When they begin, for example `22:00`. */
  from: ClockTime,
  /** When they end, for example `07:00`. */
  to: ClockTime,
  /** Whose clock it is, for example `Europe/Berlin`. */
  zone: TimeZone,
});
export type QuietHours = t.TypeOf<typeof QuietHours>;

/** Whose address is a secret: who knows it can write there. */
const SecretAddress = t.strict({
  /** File with the address of the incoming webhook; relative to the secrets folder. */
  url_file: NonEmptyString,
});

/** One of each kind at most. */
export const Channels = t.strict({
  /** JSON for a program. */
  webhook: optional(
    t.strict({
      /** Where it is sent to. */
      url: HttpUrl,
      /** File with the secret that it is signed with; relative to the secrets folder. */
      secret_file: NonEmptyString,
    }),
  ),
  /** An incoming webhook of Slack. */
  slack: optional(SecretAddress),
  /** An incoming webhook of Mattermost. */
  mattermost: optional(SecretAddress),
  /** Through `smtp`. */
  mail: optional(
    t.strict({
      /** The address. */
      to: MailAddress,
    }),
  ),
  /** On the screen of whoever runs core-agentd; nothing where the desktop has no program for it. */
  desktop: optional(t.strict({})),
});
export type Channels = t.TypeOf<typeof Channels>;
export type ChannelKind = keyof Channels;

/** Of which kinds somebody has one. */
export function kindsOf(channels: Channels): ChannelKind[] {
  return (Object.keys(channels) as ChannelKind[]).filter((kind) => channels[kind] !== undefined);
}

export const NotifiedPerson = t.strict({
  /** Where they are notified. */
  channels: Channels,
  /** What they are notified of; default all. */
  events: optional(t.array(oneOf(notificationEvents))),
  /** Globs of `owner/repo`; default all. */
  repositories: optional(t.array(NonEmptyString)),
  /** When nothing is sent; default never. */
  quiet_hours: optional(QuietHours),
});
export type NotifiedPerson = t.TypeOf<typeof NotifiedPerson>;

const Smtp = t.strict({
  /** Its name or address. */
  host: NonEmptyString,
  /** Mostly 465 or 587. */
  port: integerBetween(1, 65_535),
  /** `implicit` from the first byte on (port 465), `starttls` before anything is said (port 587), `none` on this machine alone. */
  tls: oneOf(['implicit', 'starttls', 'none']),
  /** Who signs in; left out where nobody does. */
  user: optional(NonEmptyString),
  /** File with their password; relative to the secrets folder. */
  password_file: optional(NonEmptyString),
  /** PEM of the authority that signed the server's certificate, in place of the system's; relative to the configuration folder. */
  ca_file: optional(NonEmptyString),
  /** Whom mails are from. */
  from: MailAddress,
});
export type Smtp = t.TypeOf<typeof Smtp>;

/** config/notifications.json: who is notified of what, and where. */
export const NotificationsConfig = t.strict({
  /** Where people reach the review page; null: as core-agentd listens. */
  page_url: nullable(HttpUrl),
  /** The server that mails are handed to; null where none are sent. */
  smtp: nullable(Smtp),
  /** By the name of a person of policy.json, or of a token. */
  people: t.record(t.string, NotifiedPerson),
});
export type NotificationsConfig = t.TypeOf<typeof NotificationsConfig>;

/** The file that a person writes. */
export function notificationsFile(folders: Pick<Folders, 'config'>): string {
  return join(folders.config, 'notifications.json');
}

/** @throws InvalidInput (`config_invalid`) */
export function readNotifications(folders: Pick<Folders, 'config'>): NotificationsConfig {
  const config = readConcern(NotificationsConfig, 'notifications', folders);
  const errors = [...problemsOf(config)];
  const [first] = errors;
  if (first === undefined) return config;
  const path = notificationsFile(folders);
  throw new InvalidInput('config_invalid', `${path}: ${first.pointer} ${first.detail}`, {
    errors,
    facts: { path },
    hint: `Correct ${path}.`,
  });
}

function* problemsOf({ smtp, people }: NotificationsConfig): Generator<FieldError> {
  if (smtp !== null) {
    const { tls, host, user, password_file } = smtp;
    if (tls === 'none' && !/^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host))
      yield {
        pointer: '/smtp/tls',
        detail: `is none: mails to ${host} must go over TLS, implicit or starttls; none is for this machine`,
      };
    if ((user === undefined) !== (password_file === undefined))
      yield { pointer: '/smtp', detail: 'must have both user and password_file, or neither' };
  }
  for (const [name, { channels, quiet_hours }] of Object.entries(people)) {
    const pointer = `/people/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (channels.mail !== undefined && smtp === null)
      yield {
        pointer: `${pointer}/channels/mail`,
        detail: 'is set, and /smtp, the server that sends mails, is null: must be configured too',
      };
    if (quiet_hours !== undefined && quiet_hours.from === quiet_hours.to)
      yield { pointer: `${pointer}/quiet_hours`, detail: 'must end at another time than it begins' };
  }
}
