import type { RequestListener } from 'node:http';
import type { Logger } from '#kit/log.ts';
import type { Redactor } from '#kit/redaction.ts';
import type { Tokens } from '#kit/tokens.ts';
import { createBusAccess } from './admission/bus-access.ts';
import { createUpgrade, type Upgrade } from './admission/upgrade.ts';
import type { BusConfig } from './configuration.ts';
import { openBindings } from './cron/binding-store.ts';
import { Engine, type EngineParts } from './engine.ts';
import { httpSurface } from './http/http-surface.ts';

export interface BusParts extends Pick<EngineParts, 'configFiles' | 'version'> {
  /** For what is stored of triggers; made where it is missing. */
  readonly folder: string;
  readonly config: BusConfig;
  readonly tokens: Tokens;
  readonly redactor: Redactor;
  readonly logger: Logger;
  readonly clock?: EngineParts['clock'];
}

/** core-bus-engine without the servers that listen for it. */
export interface BusService {
  readonly engine: Engine;
  readonly upgrade: Upgrade;
  /** Answers what HTTP triggers define. */
  readonly surface: RequestListener;
  /** Says goodbye to all who are connected; servers wait for every socket, also those that are no HTTP any more. */
  disconnect(): void;
  /** When nobody is connected any more. */
  close(): void;
}

const systemClock = { wall: Date.now, monotonic: () => performance.now() };

/** The composition root of core-bus-engine. @throws what `openBindings` and `createBusAccess` throw */
export function composeBus(parts: BusParts): BusService {
  const { folder, config, tokens, redactor, logger, clock = systemClock } = parts;
  const access = createBusAccess(config, tokens);
  const bindings = openBindings(folder);
  const engine = new Engine({ ...parts, clock, store: bindings.store });
  const sockets = createUpgrade({ engine, access, config, redactor, logger });
  return {
    engine,
    upgrade: sockets.upgrade,
    surface: httpSurface({ engine, config, access, logger }),
    disconnect() {
      engine.close();
      sockets.close();
    },
    close: () => bindings.close(),
  };
}
