import { pathProblem } from './paths.ts';

/**
 * Why a path in a patch's headers must not be touched, or null. git checks what it strips from a header; this looks at
 * the header itself, so that an absolute path is refused and not quietly made relative.
 */
export function patchPathProblem(patch: Uint8Array): string | null {
  for (const header of headerPaths(Buffer.from(patch).toString('latin1'))) {
    const path = Buffer.from(header.path, 'latin1').toString('utf8');
    if (path === '/dev/null') continue;
    if (path.startsWith('/')) return `'${path}' is absolute`;
    const problem = pathProblem(header.prefixed ? path.replace(/^[^/]*\//, '') : path);
    if (problem !== null) return `'${path}' ${problem}`;
  }
  return null;
}

interface HeaderPath {
  readonly path: string;
  /** Whether a first part such as `a/` comes before the path. */
  readonly prefixed: boolean;
}

function* headerPaths(patch: string): Generator<HeaderPath> {
  let oldLeft = 0;
  let newLeft = 0;
  for (const line of patch.split('\n')) {
    if (oldLeft > 0 || newLeft > 0) {
      if (line.startsWith('\\')) continue;
      if (!line.startsWith('+')) oldLeft--;
      if (!line.startsWith('-')) newLeft--;
      continue;
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk !== null) {
      oldLeft = Number(hunk[1] ?? 1);
      newLeft = Number(hunk[2] ?? 1);
      continue;
    }
    const file = /^(?:---|\+\+\+) (.*?)\r?$/s.exec(line);
    if (file !== null) yield { path: unquoted(file[1]!.replace(/\t.*$/s, '')), prefixed: true };
    const move = /^(?:rename|copy) (?:from|to) (.*?)\r?$/s.exec(line);
    if (move !== null) yield { path: unquoted(move[1]!), prefixed: false };
  }
}

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
};

/** Undoes the quoting that git gives to unusual names. */
function unquoted(name: string): string {
  const quoted = /^"(.*)"/s.exec(name);
  if (quoted === null) return name;
  return quoted[1]!.replace(/\\([0-3][0-7]{2}|.)/gs, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (escapes[code] ?? code),
  );
}
