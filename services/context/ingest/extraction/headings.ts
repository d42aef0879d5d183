import type { DocumentLanguage } from './languages.ts';

export interface Heading {
  readonly title: string;
  /** From 1, for the outermost. */
  readonly level: number;
  /** The line on which it begins, from 0. */
  readonly line: number;
  /** The first line of what stands under it. */
  readonly from: number;
}

export function headingsOf(language: DocumentLanguage, lines: readonly string[]): Heading[] {
  return readers[language](lines);
}

const readers = { markdown, restructuredtext, asciidoc } as const;

function markdown(lines: readonly string[]): Heading[] {
  const found: Heading[] = [];
  const first = frontMatterEnd(lines);
  let fence = '';
  for (let line = first; line < lines.length; line++) {
    const text = lines[line]!;
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(text)?.[1];
    if (fence !== '') {
      if (mark?.startsWith(fence) && /^\s*[`~]+\s*$/.test(text)) fence = '';
      continue;
    }
    if (mark !== undefined) {
      fence = mark;
      continue;
    }
    const hashes = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$/.exec(text);
    const under = line > first ? /^ {0,3}(=+|-{2,})[ \t]*$/.exec(text)?.[1] : undefined;
    if (hashes !== null) {
      found.push({ title: plain(hashes[2]!), level: hashes[1]!.length, line, from: line + 1 });
    } else if (under !== undefined && isParagraph(lines[line - 1]!)) {
      const title = plain(lines[line - 1]!.trim());
      found.push({ title, level: under.startsWith('=') ? 1 : 2, line: line - 1, from: line + 1 });
    }
  }
  return found.filter(({ title }) => title !== '');
}

function frontMatterEnd(lines: readonly string[]): number {
  if (lines[0]?.trim() !== '---') return 0;
  const end = lines.findIndex((text, line) => line > 0 && /^(---|\.\.\.)\s*$/.test(text));
  return end < 0 ? 0 : end + 1;
}

function isParagraph(text: string): boolean {
  return /\S/.test(text) && !/^\s*([#>|*+-]|\d+[.)]|`{3})/.test(text) && !/^ {4}/.test(text);
}

/** Without the marks of emphasis, code and links. */
function plain(title: string): string {
  return title
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]|<[^>]*>/g, '')
    .trim();
}

/** A title is underlined, perhaps overlined too, by a mark whose rank is its first appearance. */
function restructuredtext(lines: readonly string[]): Heading[] {
  const ranks: string[] = [];
  const found: Heading[] = [];
  for (let line = 1; line < lines.length; line++) {
    const mark = adornment(lines[line]!);
    const title = lines[line - 1]!.trimEnd();
    if (mark === null || title === '' || adornment(title) !== null) continue;
    if (lines[line]!.trimEnd().length < Math.min(title.length, 4)) continue;
    const over = line > 1 && adornment(lines[line - 2]!) === mark;
    if (/^\s/.test(title) && !over) continue;
    const rank = `${mark}${over}`;
    if (!ranks.includes(rank)) ranks.push(rank);
    const start = over ? line - 2 : line - 1;
    found.push({ title: plain(title), level: ranks.indexOf(rank) + 1, line: start, from: line + 1 });
  }
  return found;
}

function adornment(text: string): string | null {
  return /^([!-/:-@[-`{-~])\1{2,}\s*$/.exec(text)?.[1] ?? null;
}

function asciidoc(lines: readonly string[]): Heading[] {
  const found: Heading[] = [];
  let block = '';
  for (const [line, text] of lines.entries()) {
    const delimiter = /^(-{4,}|\.{4,}|={4,}|\+{4,}|\/{4,}|```)\s*$/.exec(text)?.[1];
    if (delimiter !== undefined && (block === '' || block === delimiter)) {
      block = block === '' ? delimiter : '';
      continue;
    }
    const heading = block === '' ? /^(={1,6})\s+(\S.*)$/.exec(text) : null;
    if (heading !== null) {
      found.push({ title: plain(heading[2]!), level: heading[1]!.length, line, from: line + 1 });
    }
  }
  return found;
}
