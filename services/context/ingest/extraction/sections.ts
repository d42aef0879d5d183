import type { Part } from './extraction.ts';
import { headingsOf } from './headings.ts';
import type { DocumentLanguage } from './languages.ts';

const mostSections = 2_000;

/** The parts of a document by its headings, each without those below it. What stands before the first is the file's alone. */
export function sectionsOf(language: DocumentLanguage, text: string): Part[] {
  const lines = text.replace(/\n+$/, '').split('\n');
  const headings = headingsOf(language, lines).slice(0, mostSections);
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
