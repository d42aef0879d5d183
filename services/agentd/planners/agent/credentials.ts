import { join } from 'node:path';
import { codeOf, messageOf, Refused } from '#kit/errors.ts';
import { readSmallFile } from '#kit/small-file.ts';

/**
 * Files of a person's home, by their path in it.
 * @param paths from `~/` on
 * @throws Refused (`agent_login_missing`)
 */
export function readCredentials(paths: readonly string[], from: string): Record<string, Uint8Array> {
  return Object.fromEntries(
    paths.map((path) => {
      const relative = path.replace(/^~\//, '');
      try {
        return [relative, Buffer.from(readSmallFile(join(from, relative), { encoding: 'latin1' }), 'latin1')];
      } catch (cause) {
        const why = codeOf(cause) === 'ENOENT' ? 'is not there' : `cannot be read (${messageOf(cause)})`;
        throw new Refused('agent_login_missing', `${path}, which holds the login of the agent, ${why}`, {
          cause,
          hint: "log in with the agent's own program, or correct credentials in agents.json",
        });
      }
    }),
  );
}
