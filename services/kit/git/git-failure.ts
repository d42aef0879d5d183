import { type CoreError, DiskFull, Failed, Refused, Unauthorized, Unavailable } from '../errors.ts';
import type { GitCredential } from './git-environment.ts';
import { lockedRepository, takenLock } from './lock-file.ts';

const unauthorized =
  /authentication failed|could not read (username|password)|permission denied \(|terminal prompts disabled|returned error: 40[13]|access denied|host key verification failed/i;
const unavailable =
  /could not resolve host|could not read from remote repository|connection (refused|timed out|reset|closed)|network is unreachable|no route to host|unable to access|does not appear to be a git repository|repository .* (not found|does not exist)|hung up unexpectedly|early eof|unexpected disconnect|returned error: \d\d\d/i;

/** git gives no reason when it cannot write what it could open; a full disk is nearly always it. */
const diskFull =
  /no space left on device|disk quota exceeded|file too large|unable to write (new.index )?file|couldn't write '|failed to write new configuration file|short write|write error/i;

/** What a failed git means, in git's own words without the secrets of a URL. */
export function gitFailure(
  args: readonly string[],
  exitCode: number | null,
  stderr: string,
  network: boolean,
  {
    program = 'git',
    credential = null,
    cwd,
  }: { program?: string; credential?: GitCredential | null; cwd?: string | undefined } = {},
): CoreError {
  const words = withoutUrlSecrets(stderr).trim();
  const command = withoutUrlSecrets(`${program} ${args[0] ?? ''}`);
  const facts = { args: args.map(withoutUrlSecrets), exit_code: exitCode, stderr: words.slice(0, 4000) };
  if (diskFull.test(words)) {
    return new DiskFull('disk_full', `${command} failed: the disk is full: ${brief(words)}`, { facts });
  }
  // The other end's own files can be on another machine.
  const lock = takenLock(words.replace(/^remote: .*$/gm, ''), cwd);
  const locked = lock === null ? null : lockedRepository(lock, facts);
  if (locked !== null) return locked;
  if (network && /returned error: 30[12378]/.test(words)) {
    return new Refused(
      'remote_redirected',
      `the remote sends us on to another address, which is not followed: ${brief(words)}`,
      { facts, hint: 'plan again; a renamed repository is found by its new name' },
    );
  }
  if (network && unauthorized.test(words)) {
    const using = credential === null ? '' : ` with ${credential.source}`;
    const message = `the remote does not let us in${using}: ${brief(words)}`;
    return new Unauthorized('remote_unauthorized', message, { facts });
  }
  if (network && unavailable.test(words)) {
    // git does not pass on for how long it was asked to wait.
    const wait = /returned error: (429|503)/.test(words) ? { retryAfter: 60 } : {};
    return new Unavailable('remote_unavailable', `the remote cannot be reached: ${brief(words)}`, {
      facts,
      ...wait,
    });
  }
  const ending = exitCode === null ? 'was ended by a signal' : `failed with exit code ${exitCode}`;
  return new Failed('git_failed', `${command} ${ending}${words ? `: ${brief(words)}` : ''}`, { facts });
}

export function withoutUrlSecrets(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/\s@']+@/gi, '$1***@');
}

function brief(words: string): string {
  const lines = words
    .split('\n')
    .filter((line) => line !== '' && !/^(hint:|Please make sure|and the repository)/.test(line));
  return lines.join('; ').slice(0, 600);
}
