import type { Import } from './extraction.ts';
import type { CodeLanguage } from './languages.ts';

const maxImports = 500;

/**
 * The modules that a file imports, as written, every one once, each with the names that the file has for what it takes from there.
 * Read from the text and not from the tree, so that a file that breaks its grammar still says what it needs; a match in a string
 * does no harm, as only what exists becomes an edge.
 *
 * Forms: Python `.a.b` and `a.b`, with an imported name as one more part; Rust `mod name` and paths `crate::a::b`; PHP
 * classes `A\B` and paths; Ruby `./a` for `require_relative`; all others as in the source.
 */
export function importsOf(language: CodeLanguage, text: string): Import[] {
  const names = new Map<string, Set<string>>();
  for (const [module, ...own] of readers[language](text)) {
    if (module === '' || module.length >= 300) continue;
    const known = names.get(module);
    if (known === undefined && names.size === maxImports) continue;
    names.set(
      module,
      new Set([...(known ?? []), ...own.filter((name) => /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name))]),
    );
  }
  return [...names].map(([module, own]) => ({ module, names: [...own] }));
}

/** A module, and the names that the file has for it or for what it takes from there. */
type Found = readonly [module: string, ...names: string[]];

const include = (text: string) => modules(text, /^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]/gm);

const readers: Readonly<Record<CodeLanguage, (text: string) => Iterable<Found>>> = {
  typescript: javascript,
  tsx: javascript,
  javascript,
  python,
  go,
  rust,
  java,
  c: include,
  cpp: include,
  csharp,
  ruby,
  php,
};

function modules(text: string, pattern: RegExp): Found[] {
  return Array.from(text.matchAll(pattern), (match): Found => [match[1]!]);
}

/** The name that `a as b`, `a: b`, `type a` and `* as a` give. */
function lastWord(item: string): string {
  return /([\p{L}_$][\p{L}\p{N}_$]*)\s*$/u.exec(item.replace(/=.*$/s, ''))?.[1] ?? '';
}

function* javascript(text: string): Generator<Found> {
  yield* modules(text, /\b(?:from|import|require)\s*\(?\s*['"]([^'"\n]+)['"]/g);
  const binding =
    /\bimport\s+(?:type\b(?!\s*(?:,|from)))?\s*([^'"();]+?)\s+from\s*['"]([^'"\n]+)['"]|\b(?:const|let|var)\s+([\p{L}_$][\p{L}\p{N}_$]*|\{[^}]*\})\s*=\s*(?:await\s+)?(?:require|import)\s*\(\s*['"]([^'"\n]+)['"]/gu;
  for (const [, clause, from, pattern, required] of text.matchAll(binding))
    yield [from ?? required!, ...(clause ?? pattern!).split(/[{},]/).map(lastWord)];
}

function* python(text: string): Generator<Found> {
  const statement =
    /^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+([^\n#]+))/gm;
  for (const [, from, names, modules] of text.matchAll(statement)) {
    for (const one of (modules ?? '').split(',')) {
      const [module, , alias] = one.trim().split(/\s+/);
      yield [module!, alias ?? module!.split('.')[0]!];
    }
    if (from === undefined) continue;
    for (const one of names!.replace(/[()\\]/g, '').split(',')) {
      const [word, , alias] = one.trim().split(/\s+/);
      if (!/^\w+$/.test(word!)) yield [from];
      else yield [from.endsWith('.') ? `${from}${word}` : `${from}.${word}`, alias ?? word!];
    }
  }
}

function* go(text: string): Generator<Found> {
  const statement = /^import[ \t]*(?:\(([^)]*)\)|([\w.]*[ \t]*"[^"\n]+"))/gm;
  for (const [, block, single] of text.matchAll(statement)) {
    for (const [, alias, path] of (block ?? single!).matchAll(/([\w.]*)[ \t]*"([^"\n]+)"/g))
      yield [path!, alias === '' ? packageName(path!) : alias!];
  }
}

/** What a Go package is usually called: the end of its path, without its version. */
function packageName(path: string): string {
  const end = path.split('/').findLast((part) => !/^v\d+$/.test(part)) ?? path;
  return end
    .replace(/\.v\d+$/, '')
    .replace(/^go-/, '')
    .split('-')
    .at(-1)!;
}

function* rust(text: string): Generator<Found> {
  const visibility = '(?:pub(?:\\([^)]*\\))?[ \\t]+)?';
  for (const [, name] of text.matchAll(new RegExp(`^[ \\t]*${visibility}mod[ \\t]+(\\w+)[ \\t]*;`, 'gm'))) {
    yield [`mod ${name}`, name!];
  }
  for (const [, tree] of text.matchAll(new RegExp(`^[ \\t]*${visibility}use[ \\t]+([^;]+);`, 'gm')))
    yield* useTree('', tree!.replace(/\/\/.*/g, ''));
}

const maxUseDepth = 8;

/** `a::{b, c::{d as e, self}}` */
function* useTree(prefix: string, tree: string, depth = 0): Generator<Found> {
  const [, path = '', inner] = /^\s*([\w:\s]*?)(?:::)?\s*\{([\s\S]*)\}\s*$/.exec(tree) ?? [];
  if (inner !== undefined) {
    if (depth < maxUseDepth)
      for (const one of splitOutside(inner)) yield* useTree(joined(prefix, path.trim()), one, depth + 1);
    return;
  }
  const [word = '', , alias] = tree.trim().split(/\s+/);
  const module = joined(prefix, word.replace(/(^|::)(self|\*)$/, ''));
  const name = word.endsWith('*') ? '' : module.split('::').at(-1)!;
  yield [module, alias ?? name];
}

/** At the commas that stand in no braces. */
function splitOutside(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of text) {
    if (character === '{') depth++;
    if (character === '}') depth--;
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.filter((part) => part.trim() !== '');
}

function joined(prefix: string, path: string): string {
  return prefix === '' || path === '' ? prefix + path : `${prefix}::${path}`;
}

function* java(text: string): Generator<Found> {
  for (const [, module] of text.matchAll(/^[ \t]*import[ \t]+(?:static[ \t]+)?([\w.]+)/gm))
    yield [module!, module!.split('.').at(-1)!];
}

function* csharp(text: string): Generator<Found> {
  const using =
    /^[ \t]*(?:global[ \t]+)?using[ \t]+(?:static[ \t]+)?(?:(\w+)[ \t]*=[ \t]*)?([\w.]+)[ \t]*;/gm;
  for (const [, alias, module] of text.matchAll(using)) yield [module!, alias ?? ''];
}

function* ruby(text: string): Generator<Found> {
  for (const [, relative, path] of text.matchAll(/\brequire(_relative)?[ \t]*\(?[ \t]*['"]([^'"\n]+)['"]/g)) {
    yield [relative === undefined || path!.startsWith('.') ? path! : `./${path}`];
  }
}

function* php(text: string): Generator<Found> {
  const use =
    /^[ \t]*use[ \t]+(?:function[ \t]+|const[ \t]+)?\\?([\w\\]+)(?:\{([^}]*)\}|[ \t]+as[ \t]+(\w+))?/gm;
  for (const [, path, names, alias] of text.matchAll(use)) {
    if (names === undefined) yield [path!, alias ?? path!.split('\\').at(-1)!];
    else
      for (const one of names.split(',')) {
        const [word, , other] = one.trim().split(/\s+/);
        yield [`${path}${word}`, other ?? word!.split('\\').at(-1)!];
      }
  }
  for (const [, path] of text.matchAll(/\b(?:require|include)(?:_once)?\b[^;'"]*['"]([^'"\n]+)['"]/g)) {
    yield [path!.replace(/^\//, '')];
  }
}
