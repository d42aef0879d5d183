import type { HLJSApi, LanguageFn } from 'highlight.js';
import { inBackground } from '../callbacks.ts';
import { lineText } from './line-text.ts';
import { isTextLine, lineKinds, type Patch } from './patch.ts';

/** Kinds of words that are coloured, as highlight.js names them. */
export const syntaxKinds = [
  'keyword',
  'built_in',
  'type',
  'literal',
  'number',
  'string',
  'regexp',
  'comment',
  'title',
  'attr',
  'name',
  'section',
  'meta',
] as const;

export type SyntaxKind = (typeof syntaxKinds)[number];

/** Text of a line, and what it is; null where it has no colour of its own. */
export interface SyntaxPiece {
  readonly text: string;
  readonly kind: SyntaxKind | null;
}

/** Kinds of words in the text of a patch's lines. */
export interface Highlighter {
  /** The line in pieces; one plain piece while its language is loaded, or where none fits. */
  pieces(patch: Patch, line: number, path: string): readonly SyntaxPiece[];
  /** Resolves when the language of a file is loaded, or when none fits; never rejects. */
  ready(path: string): Promise<void>;
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

/** A side of a hunk is coloured in pieces of so many lines, when one of them is first shown. */
const pieceLines = 400;
/** Longer lines are made by machines; colouring them costs more than it shows. */
const maxLineLength = 2_000;
const maxPieces = 400;

/** @param loaded called when a grammar has come and what is on the screen may look better now */
export function createHighlighter(loaded: () => void = () => {}): Highlighter {
  const loads = new Map<string, Promise<void>>();
  const ready = new Set<string>();
  const coloured = new WeakMap<Patch, Map<string, readonly (readonly SyntaxPiece[])[]>>();
  let engine: HLJSApi | null = null;

  async function load(language: string): Promise<void> {
    try {
      const [core, grammar] = await Promise.all([
        import('highlight.js/lib/core'),
        import(`highlight.js/lib/languages/${language}`) as Promise<{ default: LanguageFn }>,
      ]);
      engine ??= core.default.newInstance();
      engine.registerLanguage(language, grammar.default);
      ready.add(language);
      loaded();
    } catch {
      // Without its colours the text is the same.
    }
  }

  function loading(language: string): Promise<void> {
    const known = loads.get(language) ?? load(language);
    loads.set(language, known);
    return known;
  }

  function isReady(language: string): boolean {
    inBackground('a grammar for colours', () => loading(language));
    return ready.has(language);
  }

  return {
    pieces(patch, line, path) {
      const plain = () => [{ text: lineText(patch, line), kind: null }];
      const language = languageOf(path);
      if (language === null || !isTextLine(patch.kinds[line]!) || !isReady(language)) return plain();
      const known = coloured.get(patch);
      const pieces = known === undefined || known.size > maxPieces ? new Map() : known;
      coloured.set(patch, pieces);
      const other = patch.kinds[line] === lineKinds.removed ? lineKinds.added : lineKinds.removed;
      const side = sidePiece(patch, line, other);
      const key = `${other}:${side[0]}`;
      let piece = pieces.get(key);
      if (piece === undefined) {
        piece = colour(
          engine!,
          language,
          side.map((index) => lineText(patch, index)),
        );
        pieces.set(key, piece);
      }
      return piece[side.indexOf(line)] ?? plain();
    },
    async ready(path) {
      const language = languageOf(path);
      if (language !== null) await loading(language);
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

function colour(
  engine: HLJSApi,
  language: string,
  lines: readonly string[],
): readonly (readonly SyntaxPiece[])[] {
  const text = lines.map((line) => (line.length > maxLineLength ? '' : line)).join('\n');
  const coloured = piecesOfMarkup(engine.highlight(text, { language, ignoreIllegals: true }).value);
  // Whatever a grammar does, the text that is shown is the text of the patch.
  return lines.map((line, index) => {
    const pieces = coloured[index] ?? [];
    return pieces.map(({ text }) => text).join('') === line ? pieces : [{ text: line, kind: null }];
  });
}

/** Lines of pieces out of what the library makes: text, `<span class="hljs-…">` and four entities. */
function piecesOfMarkup(markup: string): SyntaxPiece[][] {
  const lines: SyntaxPiece[][] = [[]];
  const open: (SyntaxKind | null)[] = [];
  for (const [token] of markup.matchAll(/<span class="[^"]*">|<\/span>|[^<]+/g)) {
    if (token === '</span>') open.pop();
    else if (token.startsWith('<span')) open.push(kindOf(token) ?? open.at(-1) ?? null);
    else {
      for (const [index, text] of withoutEntities(token).split('\n').entries()) {
        if (index > 0) lines.push([]);
        if (text !== '') lines.at(-1)!.push({ text, kind: open.at(-1) ?? null });
      }
    }
  }
  return lines;
}

function kindOf(tag: string): SyntaxKind | undefined {
  const name = /hljs-(\w+)/.exec(tag)?.[1];
  return syntaxKinds.find((kind) => kind === name);
}

function withoutEntities(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&');
}
