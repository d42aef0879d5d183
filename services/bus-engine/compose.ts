import type { Logger } from '#kit/log.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import type { Tokens } from '#kit/tokens/tokens.ts';
import { createBusAccess } from './admission/bus-access.ts';
import { createUpgrade } from './admission/upgrade.ts';
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

export type BusService = ReturnType<typeof composeBus>;

const systemClock = { wall: Date.now, monotonic: () => performance.now() };

/** The composition root of core-bus-engine, without its servers. @throws what `openBindings` and `createBusAccess` throw */
export function composeBus(parts: BusParts) {
  const { folder, config, tokens, redactor, logger, clock = systemClock } = parts;
  const access = createBusAccess(config, tokens);
  const bindings = openBindings(folder);
  const engine = new Engine({ ...parts, clock, store: bindings.store });
  const sockets = createUpgrade({ engine, access, config, redactor, logger });
  return {
    engine,
    upgrade: sockets.upgrade,
    /** Answers requests of HTTP triggers. */
    surface: httpSurface({ engine, config, access, logger }),
    /** Closes all websockets; a server waits for them too before it is closed. */
    disconnect(): void {
      engine.close();
      sockets.close();
    },
    /** After `disconnect`. */
    close: () => bindings.close(),
  };
}
