import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { siteFolder } from './site-build.ts';

/** A fenced block of a page that people read. */
export interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  /** Why no test runs it; null where one does. */
  readonly noRun: string | null;
  readonly text: string;
}

/** Pages that people write, in the order in which their commands run. */
export function handWrittenPages(): string[] {
  const first = ['index.md', 'getting-started.md', 'context.md'];
  const all = globSync('*.md', { cwd: siteFolder }).sort();
  return [...first, ...all.filter((page) => !first.includes(page))];
}

export function textOf(page: string): string {
  return readFileSync(join(siteFolder, page), 'utf8');
}

export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { readonly info: string; readonly line: number; readonly lines: string[] } | null = null;
  for (const [index, line] of textOf(page).split('\n').entries()) {
    const fence = /^```(.*)$/.exec(line);
    if (fence === null) open?.lines.push(line);
    else if (open === null) open = { info: fence[1]!, line: index + 1, lines: [] };
    else {
      const [language = ''] = open.info.split(' ');
      const noRun = /no-run="([^"]+)"/.exec(open.info)?.[1] ?? null;
      blocks.push({ page, line: open.line, language, noRun, text: open.lines.join('\n') });
      open = null;
    }
  }
  if (open !== null) throw new Error(`${page}:${open.line}: the block has no end`);
  return blocks;
}

/** What a reader would type: all of a `sh` block, and what stands behind `$` in a `console` block. */
export function commandsOf({ language, text }: Block): string[] {
  if (language === 'sh') return statements(text.split('\n'));
  if (language !== 'console') return [];
  const lines = text.split('\n');
  return lines.flatMap((line, index) =>
    line.startsWith('$ ') ? statements([line.slice(2), ...lines.slice(index + 1)]).slice(0, 1) : [],
  );
}

/** Lines that a shell reads as one are one. */
function statements(lines: readonly string[]): string[] {
  const found: string[] = [];
  let begun = '';
  for (const line of lines) {
    begun = begun === '' ? line : `${begun}\n${line}`;
    if (isOpen(begun)) continue;
    const isSilent = begun.trim() === '' || begun.trim().startsWith('#');
    if (!isSilent) found.push(begun);
    begun = '';
  }
  return begun === '' ? found : [...found, begun];
}

function isOpen(text: string): boolean {
  let quote: string | null = null;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (character === '\\' && quote !== "'") at++;
    else if (quote !== null) quote = character === quote ? null : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === '#' && /\s/.test(text[at - 1] ?? ' ')) {
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end;
    }
  }
  return quote !== null || text.endsWith('\\');
}

/** The calls of our programs in a command, and those between backticks in prose, as words. */
export function coreCalls(text: string): string[][] {
  return text
    .replaceAll('\\\n', ' ')
    .split(/\n|&&|\|\||[|;]/)
    .map((part) => words(part.trim().replace(/^\$ /, '')))
    .filter(([program = '']) => program === './core' || /^core-[a-z-]+$/.test(program));
}

export function inlineCalls(page: string): string[] {
  const prose = textOf(page).replaceAll(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/`((?:\.\/core|core-[a-z-]+) [^`]+)`/g)].map(([, call]) => call!);
}

function words(text: string): string[] {
  const found = text.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(#.*$)|([^\s"'#]+)/g);
  return [...found]
    .filter(([, , , comment]) => comment === undefined)
    .map(([whole, double, single]) => double ?? single ?? whole);
}
