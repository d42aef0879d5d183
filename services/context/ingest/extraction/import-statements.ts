import type { CodeLanguage } from './languages.ts';

const maxImports = 500;

/**
 * The modules that a file imports, as written, every one once. Read from the text and not from the tree, so that a file that
 * breaks its grammar still says what it needs; a match in a string does no harm, as only what exists becomes an edge.
 *
 * Forms: Python `.a.b` and `a.b`, with an imported name as one more part; Rust `mod name` and paths `crate::a::b`; PHP
 * classes `A\B` and paths; Ruby `./a` for `require_relative`; all others as in the source.
 */
export function importsOf(language: CodeLanguage, text: string): string[] {
  return [...new Set(readers[language](text))]
    .filter((one) => one !== '' && one.length < 300)
    .slice(0, maxImports);
}

const javascript = (text: string) =>
  firstGroups(text, /\b(?:from|import|require)\s*\(?\s*['"]([^'"\n]+)['"]/g);
const include = (text: string) => firstGroups(text, /^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]/gm);

const readers: Readonly<Record<CodeLanguage, (text: string) => Iterable<string>>> = {
  typescript: javascript,
  tsx: javascript,
  javascript,
  python,
  go,
  rust,
  java: (text) => firstGroups(text, /^[ \t]*import[ \t]+(?:static[ \t]+)?([\w.]+)/gm),
  c: include,
  cpp: include,
  csharp: (text) =>
    firstGroups(
      text,
      /^[ \t]*(?:global[ \t]+)?using[ \t]+(?:static[ \t]+)?(?:\w+[ \t]*=[ \t]*)?([\w.]+)[ \t]*;/gm,
    ),
  ruby,
  php,
};

function firstGroups(text: string, pattern: RegExp): string[] {
  return Array.from(text.matchAll(pattern), (match) => match[1]!);
}

function* python(text: string): Generator<string> {
  const statement =
    /^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+([^\n#]+))/gm;
  for (const [, from, names, modules] of text.matchAll(statement)) {
    for (const one of (modules ?? '').split(',')) yield one.trim().split(/\s/)[0]!;
    if (from === undefined) continue;
    for (const one of names!.replace(/[()\\]/g, '').split(',')) {
      const word = one.trim().split(/\s/)[0]!;
      if (/^\w+$/.test(word)) yield from.endsWith('.') ? `${from}${word}` : `${from}.${word}`;
      else yield from;
    }
  }
}

function* go(text: string): Generator<string> {
  const statement = /^import[ \t]*(?:\(([^)]*)\)|[\w.]*[ \t]*"([^"\n]+)")/gm;
  for (const [, block, single] of text.matchAll(statement)) {
    if (single !== undefined) yield single;
    for (const [, path] of (block ?? '').matchAll(/"([^"\n]+)"/g)) yield path!;
  }
}

function* rust(text: string): Generator<string> {
  const visibility = '(?:pub(?:\\([^)]*\\))?[ \\t]+)?';
  for (const [, name] of text.matchAll(new RegExp(`^[ \\t]*${visibility}mod[ \\t]+(\\w+)[ \\t]*;`, 'gm'))) {
    yield `mod ${name}`;
  }
  for (const [, path] of text.matchAll(new RegExp(`^[ \\t]*${visibility}use[ \\t]+([^;]+);`, 'gm'))) {
    const [, prefix = '', names] = /^([\w:]*?)(?:::)?\{([\s\S]*)\}$/.exec(path!.trim()) ?? [];
    if (names === undefined) yield path!.trim().split(/\s/)[0]!;
    else for (const one of names.replace(/\{[\s\S]*?\}/g, '').split(',')) yield joined(prefix, one);
  }
}

function joined(prefix: string, name: string): string {
  const word = name.trim().split(/\s/)[0]!.replace(/::$/, '');
  return word === '' || word === 'self' ? prefix : prefix === '' ? word : `${prefix}::${word}`;
}

function* ruby(text: string): Generator<string> {
  for (const [, relative, path] of text.matchAll(/\brequire(_relative)?[ \t]*\(?[ \t]*['"]([^'"\n]+)['"]/g)) {
    yield relative === undefined || path!.startsWith('.') ? path! : `./${path}`;
  }
}

function* php(text: string): Generator<string> {
  const use = /^[ \t]*use[ \t]+(?:function[ \t]+|const[ \t]+)?\\?([\w\\]+)(?:\{([^}]*)\})?/gm;
  for (const [, path, names] of text.matchAll(use)) {
    if (names === undefined) yield path!;
    else for (const one of names.split(',')) yield `${path}${one.trim().split(/\s/)[0]}`;
  }
  for (const [, path] of text.matchAll(/\b(?:require|include)(?:_once)?\b[^;'"]*['"]([^'"\n]+)['"]/g)) {
    yield path!.replace(/^\//, '');
  }
}
