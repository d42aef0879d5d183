import { posix } from 'node:path';
import type { ModuleFacts, Part } from './extraction.ts';

/** What a file says about how it or its package is imported; null where it says nothing that can be read. */
export function moduleFactsOf(path: string, text: string): ModuleFacts | null {
  const name = posix.basename(path);
  if (name === 'go.mod') {
    const module = /^module[ \t]+"?([^\s"]+)"?/m.exec(text)?.[1];
    return module === undefined ? null : { name: module, main: null, imports: {} };
  }
  if (name === 'Cargo.toml') {
    const crate = /^\[package\][^[]*?^name[ \t]*=[ \t]*"([\w-]+)"/m.exec(text)?.[1];
    return crate === undefined ? null : { name: crate.replaceAll('-', '_'), main: null, imports: {} };
  }
  if (name.endsWith('.cs')) {
    const namespace = /^[ \t]*namespace[ \t]+([\w.]+)/m.exec(text)?.[1];
    return namespace === undefined ? null : { name: namespace, main: null, imports: {} };
  }
  if (/^[tj]sconfig(\.[\w-]+)?\.json$/.test(name)) return aliasesOf(text);
  if (name !== 'package.json') return null;
  const { name: own, main, module, imports } = parsed(text);
  const subpaths = Object.entries(recordOf(imports)).filter((entry): entry is [string, string] => {
    return typeof entry[1] === 'string' && entry[0].startsWith('#');
  });
  return {
    name: stringOf(own),
    main: stringOf(module) ?? stringOf(main),
    imports: Object.fromEntries(subpaths),
  };
}

/** Of several targets of one pattern the first. */
function aliasesOf(text: string): ModuleFacts | null {
  const { baseUrl, paths } = recordOf(parsed(withoutComments(text)).compilerOptions);
  const base = stringOf(baseUrl);
  const patterns = recordOf(paths);
  const found = Object.entries(patterns).flatMap(([pattern, targets]) => {
    const target = Array.isArray(targets) ? targets.find((one) => typeof one === 'string') : undefined;
    return target === undefined ? [] : [[pattern, posix.join(base ?? '.', target)] as const];
  });
  if (base !== null && patterns['*'] === undefined) found.push(['*', posix.join(base, '*')]);
  return found.length === 0 ? null : { name: null, main: null, imports: Object.fromEntries(found) };
}

/** JSON as TypeScript writes it: comments and commas at ends are no part of it. */
function withoutComments(text: string): string {
  return text
    .replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (_all, string) => string ?? '')
    .replace(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, (_all, string) => string ?? '');
}

/** The services of a compose file, and the programs of a package. */
export function servicesOf(path: string, text: string): Part[] {
  const name = posix.basename(path);
  if (/^(docker-)?compose([.-][\w.-]+)?\.ya?ml$/.test(name)) return composeServices(text);
  if (name !== 'package.json') return [];
  const { name: own, bin } = parsed(text);
  const bins =
    typeof bin === 'string' ? { [stringOf(own)?.replace(/^@[^/]*\//, '') ?? '']: bin } : recordOf(bin);
  return Object.entries(bins)
    .filter((entry): entry is [string, string] => typeof entry[1] === 'string' && isName(entry[0]))
    .map(([program, file]) => servicePart(program, 'program', `program ${program}: ${file}`, 1, 1));
}

function composeServices(text: string): Part[] {
  const lines = text.split('\n');
  const top = lines.findIndex((line) => /^services:\s*(#.*)?$/.test(line));
  if (top < 0) return [];
  const found: { name: string; line: number }[] = [];
  let indent = '';
  let end = top + 1;
  for (; end < lines.length && !/^[^\s#]/.test(lines[end]!); end++) {
    const [, space, name] = /^( +)["']?([\w.-]+)["']?:/.exec(lines[end]!) ?? [];
    if (space === undefined) continue;
    indent ||= space;
    if (space === indent && isName(name!)) found.push({ name: name!, line: end });
  }
  return found.map(({ name, line }, at) => {
    const last = found[at + 1]?.line ?? end;
    return servicePart(name, 'compose', lines.slice(line, last).join('\n'), line + 1, last);
  });
}

function servicePart(name: string, sort: string, body: string, start: number, end: number): Part {
  return { node: 'service', name, nth: 1, title: name, sort, start, end, parent: -1, body, signature: '' };
}

function isName(text: string): boolean {
  return /^[\w.-]{1,100}$/.test(text);
}

function parsed(text: string): Record<string, unknown> {
  try {
    return recordOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function stringOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
