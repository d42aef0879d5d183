/** What the process was started with, once it has another. */
let given: number | null = null;

/**
 * From here on everything that this process and its children make can be read by its owner alone, whatever the person's umask:
 * files of libraries too, such as those of SQLite and git. For the start of a program, once.
 */
export function keepFilesPrivate(): void {
  given = process.umask(0o077);
}

/**
 * Makes what is the person's and not Core's with the umask of whoever started this. Nothing else of this process may make
 * files meanwhile: the umask is that of all its threads.
 */
export function withPersonsUmask<T>(make: () => T): T {
  if (given === null) return make();
  const own = process.umask(given);
  try {
    return make();
  } finally {
    process.umask(own);
  }
}

/** The command line that runs a program with a umask of its own. */
export function underUmask(
  umask: number,
  program: string,
  args: readonly string[],
): readonly [program: string, args: readonly string[]] {
  if (process.platform === 'win32') return [program, args];
  return ['/bin/sh', ['-c', 'umask "$0" && exec "$@"', umask.toString(8).padStart(4, '0'), program, ...args]];
}
