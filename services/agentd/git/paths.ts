/**
 * Why a repository path must not be written anywhere, or null. Every spelling is refused under which some file system
 * opens `.git`: other case, NTFS short names, streams and trailing dots, characters that HFS+ ignores.
 */
export function pathProblem(path: string): string | null {
  if (path === '') return 'is empty';
  if (path.includes('\0')) return 'contains a NUL character';
  if (path.startsWith('/')) return 'is absolute';
  for (const part of path.split('/')) {
    if (part === '') return 'has an empty part';
    if (part === '.' || part === '..') return `has the part '${part}'`;
  }
  if (path.split(/[/\\]/).some(opensGitFolder)) return 'names a git folder';
  return null;
}

/**
 * Why a symbolic link at `path` must not point to `target`, or null. Only leading `..` are allowed, no more than the link
 * is deep: a later `..` could go through another link and come out elsewhere.
 */
export function linkProblem(path: string, target: string): string | null {
  if (target === '' || target.includes('\0')) return 'is a link without a usable target';
  if (/^([/\\]|[a-z]:)/i.test(target)) return `is a link to the absolute path '${target}'`;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const firstName = parts.findIndex((part) => part !== '..');
  const up = firstName < 0 ? parts.length : firstName;
  const depth = path.split('/').length - 1;
  if (up > depth || (firstName >= 0 && parts.slice(firstName).includes('..'))) {
    return `is a link out of the tree, to '${target}'`;
  }
  return parts.some(opensGitFolder) ? `is a link into a git folder, to '${target}'` : null;
}

const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

function opensGitFolder(part: string): boolean {
  const seen = part
    .replace(ignoredByHfs, '')
    .toLowerCase()
    .replace(/:.*$/s, '')
    .replace(/[. ]+$/, '');
  return seen === '.git' || seen === 'git~1';
}
