import type { ServiceName } from '#kit/config/running-service.ts';
import { whyNoToken } from '#kit/config/token-destination.ts';
import { CoreError, Refused } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { leastToken } from '#kit/tokens/least-token.ts';

/** The one token of a report and of a smoke run, for addresses at which nobody but our services can be. */
export interface TokenShower {
  /** Why the token is not for that address now; null where it is. */
  why(service: ServiceName, url: string): string | null;
  /** null where there is a reason against it, and on a machine that has no token yet: what needs one then says so. */
  text(service: ServiceName, url: string): string | null;
  /** @throws Refused (`listener_unproven`), NotFound (`token_missing`) */
  mustText(service: ServiceName, url: string): string;
}

export const unprovenFix =
  'Start it with this state folder, or correct its address: ./core config show. For a tunnel or a published port: vouched in status.json.';

/** @param vouched addresses of this machine whose listener the configuration answers for */
export function createTokenShower(folders: Folders, vouched: readonly string[]): TokenShower {
  const known = new Set(vouched.map(originOf));
  let read: string | undefined;

  function why(service: ServiceName, url: string): string | null {
    return known.has(originOf(url)) ? null : whyNoToken(service, url, folders);
  }

  function mustText(service: ServiceName, url: string): string {
    const against = why(service, url);
    if (against !== null) {
      const message = `${new URL(url).host} is shown no token: ${against}`;
      throw new Refused('listener_unproven', message, { hint: unprovenFix });
    }
    read ??= leastToken(folders, ['read', 'plan']);
    return read;
  }

  return {
    why,
    text(service, url) {
      try {
        return mustText(service, url);
      } catch (error) {
        if (error instanceof CoreError) return null;
        throw error;
      }
    },
    mustText,
  };
}

/** A websocket is opened by HTTP, so that both are one place. */
function originOf(url: string): string {
  return new URL(url.replace(/^ws/, 'http')).origin;
}
