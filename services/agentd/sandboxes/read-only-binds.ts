import { readFileSync, statSync } from 'node:fs';

export interface ReadOnlyBind {
  readonly source: string;
  /** Below the new root. */
  readonly target: string;
  /** `submount`: comes along with the recursive bind above it and only has to be made read-only. */
  readonly kind: 'folder' | 'file' | 'submount';
  /** Flags that the kernel wants repeated when a mount of the host is mounted anew, as `,flag`. */
  readonly options: string;
}

/**
 * What has to be mounted to see `mounts` read-only below `root`, mounts inside them included: a read-only flag does not reach
 * those by itself.
 */
export function readOnlyBinds(
  mounts: readonly { readonly source: string; readonly target: string }[],
  root: string,
): ReadOnlyBind[] {
  const table = mountTable();
  return mounts.flatMap(({ source, target }) => {
    const holder = table.findLast(({ path }) => isBelow(source, path));
    const inner = table.filter(({ path }) => path !== source && isBelow(path, source));
    return [
      {
        source,
        target: root + target,
        kind: statSync(source).isDirectory() ? ('folder' as const) : ('file' as const),
        options: holder?.options ?? '',
      },
      ...inner.map(({ path, options }) => ({
        source: path,
        target: root + target + path.slice(source.length),
        kind: 'submount' as const,
        options,
      })),
    ];
  });
}

/** See proc(5), `/proc/pid/mountinfo`. Later lines lie on top of earlier ones. */
function mountTable(): { path: string; options: string }[] {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [, , , , path, flags] = line.split(' ') as [string, string, string, string, string, string];
    const unescaped = path.replaceAll(/\\([0-7]{3})/g, (_, octal) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    return { path: unescaped, options: flags.split(',').includes('noexec') ? ',noexec' : '' };
  });
}

function isBelow(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`);
}
