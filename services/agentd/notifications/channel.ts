import type { Environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import type { NotificationsConfig } from './configuration.ts';
import type { Letter } from './notice.ts';

/** A way to one person. */
export interface Channel {
  /** Where it leads, for people; never a secret. */
  readonly place: string;
  /** Why nothing arrives there from this machine, which is no failure; null where it does. */
  readonly idle?: string | null;
  /** Resolves when the other side has taken it. @throws DeliveryFailed, CoreError where it is not set up */
  send(letter: Letter, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface ChannelParts {
  readonly folders: Pick<Folders, 'secrets' | 'config'>;
  readonly smtp: NotificationsConfig['smtp'];
  readonly userAgent: string;
  readonly proxies: Pick<Environment, 'HTTP_PROXY' | 'HTTPS_PROXY' | 'NO_PROXY'>;
  /** Called with each secret, so that logs hide it. */
  readonly learned: (secret: string) => void;
  /** PATH, for programs of the desktop. */
  readonly path: string;
}

/** Milliseconds for one message. */
export const sendMs = 15_000;
