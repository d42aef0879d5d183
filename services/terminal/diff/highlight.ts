import type { HLJSApi, LanguageFn } from 'highlight.js';
import type { Span, Style } from '../screen/cell.ts';
import { lineText } from './line-text.ts';
import { isTextLine, lineKinds, type Patch } from './parse-patch.ts';

/** Colours for the text of a patch's lines. */
export interface Highlighter {
  /** The line in pieces; one plain piece while its language is loaded, or where none fits. */
  spans(patch: Patch, line: number, path: string): readonly Span[];
}

/** Endings of files, or their whole names, by the name of the grammar in highlight.js. */
const endings: Readonly<Record<string, string>> = {
  javascript: 'js mjs cjs jsx',
  typescript: 'ts mts cts tsx',
  cpp: 'c h cc cpp hpp cxx',
  bash: 'sh bash zsh',
  xml: 'html xml svg vue',
  yaml: 'yml yaml',
  ini: 'toml ini cfg',
  css: 'css',
  scss: 'scss',
  less: 'less',
  python: 'py',
  ruby: 'rb',
  go: 'go',
  rust: 'rs',
  java: 'java',
  kotlin: 'kt',
  swift: 'swift',
  csharp: 'cs',
  php: 'php',
  json: 'json',
  markdown: 'md',
  sql: 'sql',
  lua: 'lua',
  perl: 'pl',
  dockerfile: 'dockerfile',
  makefile: 'makefile',
};
const languages: ReadonlyMap<string, string> = new Map(
  Object.entries(endings).flatMap(([language, list]) => list.split(' ').map((ending) => [ending, language])),
);

const styles: Readonly<Record<string, Style>> = {
  keyword: { color: 'magenta' },
  built_in: { color: 'cyan' },
  type: { color: 'cyan' },
  literal: { color: 'cyan' },
  number: { color: 'cyan' },
  string: { color: 'yellow' },
  regexp: { color: 'yellow' },
  comment: { color: 'gray' },
  title: { color: 'blue' },
  attr: { color: 'blue' },
  name: { color: 'blue' },
  section: { color: 'blue', bold: true },
  meta: { color: 'gray' },
};

/** A side of a hunk is coloured in pieces of so many lines, when one of them is first shown. */
const pieceLines = 400;
/** Longer lines are made by machines; colouring them costs more than it shows. */
const maxLineLength = 2_000;
const maxPieces = 400;

/** @param loaded called when a grammar has come and what is on the screen may look better now */
export function createHighlighter(loaded: () => void): Highlighter {
  const grammars = new Map<string, 'loading' | 'ready' | 'missing'>();
  let pieces = new Map<string, readonly (readonly Span[])[]>();
  let of: Patch | null = null;
  let engine: HLJSApi | null = null;

  async function load(language: string): Promise<void> {
    try {
      const [core, grammar] = await Promise.all([
        import('highlight.js/lib/core'),
        import(`highlight.js/lib/languages/${language}`) as Promise<{ default: LanguageFn }>,
      ]);
      engine ??= core.default.newInstance();
      engine.registerLanguage(language, grammar.default);
      grammars.set(language, 'ready');
      loaded();
    } catch {
      // Without its colours the text is the same.
      grammars.set(language, 'missing');
    }
  }

  function isReady(language: string): boolean {
    if (!grammars.has(language)) {
      grammars.set(language, 'loading');
      void load(language);
    }
    return grammars.get(language) === 'ready';
  }

  return {
    spans(patch, line, path) {
      const plain = () => [{ text: lineText(patch, line) }];
      const language = languageOf(path);
      if (language === null || !isTextLine(patch.kinds[line]!) || !isReady(language)) return plain();
      if (of !== patch || pieces.size > maxPieces) pieces = new Map();
      of = patch;
      const other = patch.kinds[line] === lineKinds.removed ? lineKinds.added : lineKinds.removed;
      const side = sidePiece(patch, line, other);
      const key = `${other}:${side[0]}`;
      let coloured = pieces.get(key);
      if (coloured === undefined) {
        coloured = colour(
          engine!,
          language,
          side.map((index) => lineText(patch, index)),
        );
        pieces.set(key, coloured);
      }
      return coloured[side.indexOf(line)] ?? plain();
    },
  };
}

export function languageOf(path: string): string | null {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  const ending = name.slice(name.lastIndexOf('.') + 1);
  return languages.get(ending) ?? null;
}

/** The lines around one that are of the same hunk and on the same side, without those of the `other`. */
function sidePiece({ kinds }: Patch, line: number, other: number): number[] {
  let first = line;
  while (first > 0 && (isTextLine(kinds[first - 1]!) || kinds[first - 1] === lineKinds.note)) {
    first--;
    if (line - first >= pieceLines) break;
  }
  // Pieces begin at the same lines whichever of their lines is asked for.
  if (first > 0 && isTextLine(kinds[first - 1]!)) first = line - (line % pieceLines);
  const side: number[] = [];
  for (let index = first; index < kinds.length && side.length < pieceLines * 2; index++) {
    const kind = kinds[index]!;
    if (!isTextLine(kind) && kind !== lineKinds.note) break;
    if (isTextLine(kind) && kind !== other) side.push(index);
  }
  return side;
}

function colour(engine: HLJSApi, language: string, lines: readonly string[]): readonly (readonly Span[])[] {
  const text = lines.map((line) => (line.length > maxLineLength ? '' : line)).join('\n');
  const coloured = spansOfMarkup(engine.highlight(text, { language, ignoreIllegals: true }).value);
  // Whatever a grammar does, the text that is shown is the text of the patch.
  return lines.map((line, index) => {
    const spans = coloured[index] ?? [];
    return spans.map((span) => span.text).join('') === line ? spans : [{ text: line }];
  });
}

/** Lines of spans out of what the library makes: text, `<span class="hljs-…">` and four entities. */
function spansOfMarkup(markup: string): Span[][] {
  const lines: Span[][] = [[]];
  const open: (Style | undefined)[] = [];
  for (const [token] of markup.matchAll(/<span class="[^"]*">|<\/span>|[^<]+/g)) {
    if (token === '</span>') open.pop();
    else if (token.startsWith('<span')) open.push(styleOf(token) ?? open.at(-1));
    else {
      for (const [index, text] of withoutEntities(token).split('\n').entries()) {
        if (index > 0) lines.push([]);
        const style = open.at(-1);
        if (text !== '') lines.at(-1)!.push(style === undefined ? { text } : { text, style });
      }
    }
  }
  return lines;
}

function styleOf(tag: string): Style | undefined {
  const name = /hljs-(\w+)/.exec(tag)?.[1];
  return name === undefined ? undefined : styles[name];
}

function withoutEntities(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&');
}
