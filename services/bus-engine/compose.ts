import type { RequestListener } from 'node:http';
import type { Logger } from '#kit/log.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import type { Tokens } from '#kit/tokens/tokens.ts';
import { createBusAccess } from './admission/bus-access.ts';
import { createUpgrade, type Upgrade } from './admission/upgrade.ts';
import type { BusConfig } from './configuration.ts';
import { openBindings } from './cron/binding-store.ts';
import { Engine, type EngineParts } from './engine.ts';
import { httpSurface } from './http/http-surface.ts';

export interface BusParts extends Pick<EngineParts, 'configFiles' | 'version'> {
  /** Where triggers are stored; created if missing. */
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
  /** Answers requests of HTTP triggers. */
  readonly surface: RequestListener;
  /** Closes all websockets; a server waits for them too before it is closed. */
  disconnect(): void;
  /** After `disconnect`. */
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
