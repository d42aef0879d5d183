import type { NamesOfPart, Part } from './extraction.ts';
import type { DocumentLanguage } from './languages.ts';

const maxSections = 2_000;

/** The parts of a document by its headings, each without those below it. What stands before the first is the file's alone. */
export function sectionsOf(language: DocumentLanguage, text: string): Part[] {
  const lines = text.replace(/\n+$/, '').split('\n');
  const headings = readers[language](lines).slice(0, maxSections);
  const slugs = new Set<string>();
  const open: { level: number; at: number }[] = [];
  return headings.map(({ title, level, line, from }, at) => {
    while (open.length > 0 && open.at(-1)!.level >= level) open.pop();
    const parent = open.at(-1)?.at ?? -1;
    const trail = open.map((outer) => headings[outer.at]!.title);
    open.push({ level, at });
    const next = headings[at + 1]?.line ?? lines.length;
    const below = headings.find((other, place) => place > at && other.level <= level)?.line ?? lines.length;
    return {
      node: 'section',
      name: unusedSlug(slugOf(title), slugs),
      nth: 1,
      title: [...trail, title].join(' › '),
      sort: 'heading',
      start: line + 1,
      end: Math.max(line + 1, below),
      parent,
      body: lines.slice(from, next).join('\n'),
      signature: '',
    };
  });
}

/** Headings of the same words are counted from 1, as forges do. */
function unusedSlug(slug: string, used: Set<string>): string {
  let unused = slug;
  for (let count = 1; used.has(unused); count++) unused = `${slug}-${count}`;
  used.add(unused);
  return unused;
}

/** As forges make the anchor of a heading. */
function slugOf(title: string): string {
  const slug = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
  return slug.slice(0, 120).toWellFormed() || 'section';
}

interface Heading {
  readonly title: string;
  /** From 1, for the outermost. */
  readonly level: number;
  /** The line on which it begins, from 0. */
  readonly line: number;
  /** The first line of what stands under it. */
  readonly from: number;
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

/** What a document names in backticks or links to, by section; what stands before the first heading is the file's. */
export function mentionsOfDocument(text: string, parts: readonly Part[]): NamesOfPart[] {
  const first = parts[0]?.start ?? Number.POSITIVE_INFINITY;
  const before = Number.isFinite(first) ? text.split('\n', first - 1).join('\n') : text;
  const bodies = [
    { part: -1, body: before },
    ...parts.map(({ title, body }, part) => ({ part, body: `${title}\n${body}` })),
  ];
  return bodies
    .map(({ part, body }) => ({ part, names: mentionsIn(body) }))
    .filter(({ names }) => names.length > 0);
}

const maxMentions = 100;
const maxMentionLength = 200;

/** What a text names in backticks or links to: paths and names of symbols, each once, without the line that may follow a path. */
function mentionsIn(text: string): string[] {
  const found = new Set<string>();
  for (const [, code] of text.matchAll(/`{1,2}([^`\n]+)`{1,2}/g)) add(code!);
  for (const [, target] of text.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+["'][^)]*)?\)/g)) {
    if (!/^[a-z][a-z0-9+.-]*:|^#/i.test(target!)) add(decoded(target!.replace(/[#?].*$/, '')));
  }
  return [...found];

  function add(raw: string): void {
    const name = raw
      .trim()
      .replace(/\([^()]*\)$/, '')
      .replace(/:\d+(?::\d+|-\d+)?$/, '');
    if (found.size < maxMentions && name.length > 2 && name.length <= maxMentionLength && !/\s/.test(name))
      found.add(name);
  }
}

function decoded(target: string): string {
  try {
    return decodeURI(target);
  } catch {
    return target;
  }
}
