import { CoreError, codeOf, DiskFull, Failed, messageOf } from '#kit/errors.ts';
import { isDiskFull } from '#kit/storage/storage-error.ts';

const notWritable = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'];

/** Turns a system error about an unwritable file into an error with a remedy. Returns other errors unchanged. */
export function diskError(cause: unknown): unknown {
  if (cause instanceof CoreError) return cause;
  if (isDiskFull(cause)) {
    const hint = 'Free some space and try again.';
    return new DiskFull('disk_full', `the disk is full (${messageOf(cause)})`, { cause, hint });
  }
  if (!notWritable.includes(codeOf(cause))) return cause;
  const hint = 'Make it writable for this user and try again.';
  return new Failed('not_writable', `a file or folder is not writable (${messageOf(cause)})`, {
    cause,
    hint,
  });
}

/** Turns a system error about the state folder into an error with a remedy. Returns other errors unchanged. */
export function storageError(cause: unknown, stateDir: string): unknown {
  if (cause instanceof CoreError) return cause;
  if (isDiskFull(cause, stateDir)) {
    const hint = 'Free some space and try again. Later ./core prune --older-than 30d frees more.';
    return new DiskFull(
      'disk_full',
      `no room left for the state folder ${stateDir}; nothing was written (${messageOf(cause)})`,
      { cause, hint },
    );
  }
  if (!notWritable.includes(codeOf(cause))) return cause;
  const hint = 'Make it writable for this user, or name another one with CORE_STATE_DIR.';
  return new Failed(
    'state_not_writable',
    `the state folder ${stateDir} is not writable (${messageOf(cause)})`,
    { cause, hint },
  );
}
