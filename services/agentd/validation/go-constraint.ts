import { posix } from 'node:path';

const systems = new Set(
  'aix android darwin dragonfly freebsd illumos ios js linux netbsd openbsd plan9 solaris wasip1 windows'.split(
    ' ',
  ),
);
const processors = new Set(
  '386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm'.split(' '),
);
/** What `go test` without `-tags` sets on the machine that validates. */
const own = new Set([
  'unix',
  'gc',
  'cgo',
  process.platform,
  ({ x64: 'amd64', ia32: '386' } as Readonly<Record<string, string>>)[process.arch] ?? process.arch,
]);

/**
 * The build constraint by which `go test` leaves out a file, for example `//go:build integration`; null if it compiles the file.
 * @param head first lines of the file
 */
export function goConstraint(path: string, head: string): string | null {
  const words = posix
    .basename(path, '.go')
    .replace(/_test$/, '')
    .split('_')
    .slice(1);
  const last = words.pop() ?? '';
  const suffix = [last];
  if (processors.has(last) && systems.has(words.at(-1) ?? '')) suffix.push(words.at(-1)!);
  const foreign = suffix.find((word) => (processors.has(word) || systems.has(word)) && !isSet(word));
  if (foreign !== undefined) return `the name is for ${foreign}`;
  const before = head.split(/^package\s/m)[0]!.replace(/\/\*.*?\*\//gs, '');
  const [line, condition] = /^\/\/go:build[ \t]+(.+)$/m.exec(before) ?? [];
  if (condition === undefined) return null;
  return holds(condition) ? null : line!.trim();
}

function isSet(tag: string): boolean {
  return own.has(tag) || /^go1(\.\d+)?$/.test(tag);
}

/** False also for a condition that cannot be read. */
function holds(condition: string): boolean {
  const words = condition.match(/\|\||&&|!|\(|\)|[\p{L}\p{N}_.]+|\S/gu) ?? [];
  let at = 0;
  const take = (word: string) => words[at] === word && ++at > 0;
  function either(): boolean {
    let value = both();
    while (take('||')) value = both() || value;
    return value;
  }
  function both(): boolean {
    let value = one();
    while (take('&&')) value = one() && value;
    return value;
  }
  function one(): boolean {
    if (take('!')) return !one();
    if (!take('(')) return isSet(words[at++] ?? '');
    const value = either();
    return take(')') && value;
  }
  const value = either();
  return at === words.length && value;
}
