import { statSync } from 'node:fs';

/** Whose a file or folder is, for people, where it is another user's, as a container leaves it; null where nobody can tell. */
export function foreignOwner(path: string): string | null {
  const own = process.getuid?.();
  try {
    const owner = statSync(path).uid;
    if (own === undefined || owner === own) return null;
    return `it belongs to user ${owner}, and this process is ${own}`;
  } catch {
    return null;
  }
}
