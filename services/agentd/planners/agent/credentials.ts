import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, messageOf, Refused } from '#kit/errors.ts';

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
        return [relative, readFileSync(join(from, relative))];
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
