import { type FilePatch, scanPatches } from '#kit/git/patch.ts';
import type { CommitMark } from './commit-order.ts';
import { isSameBelow } from './render-patch.ts';

/** `[PATCH v2 1/3]` in the subject of a mail. */
export interface SeriesMark {
  /** Line of the text. */
  readonly line: number;
  /** 0 is the cover letter. */
  readonly part: number;
  readonly total: number;
  readonly version: number;
}

export interface ReadDiffs {
  readonly files: readonly FilePatch[];
  readonly problems: readonly string[];
  readonly marks: readonly SeriesMark[];
  readonly commits: readonly CommitMark[];
}

/** Patches in lines of text, also coloured and indented ones. A form that Core does not read is a problem that names it. */
export function readDiffs(written: readonly string[], firstLine: number): ReadDiffs {
  const lines = uncoloured(written);
  const { files, problems, others } = scanPatches(lines, firstLine);
  const prose = new Set(others);
  const named = new Set<OtherForm>();
  const found = {
    files: [...files],
    problems: [...problems],
    marks: [] as SeriesMark[],
    commits: [] as CommitMark[],
  };
  for (let index = 0; index < lines.length; index += 1) {
    if (!prose.has(index)) continue;
    const line = firstLine + index;
    const form = otherForms.find(({ begins }) => begins(lines.slice(index, index + 3)));
    if (form !== undefined && !named.has(form)) found.problems.push(`line ${line}: ${form.problem}`);
    if (form !== undefined) named.add(form);
    const mark = markIn(lines[index]!);
    if (mark !== null) found.marks.push({ line, ...mark });
    if (/^\s*commit [0-9a-f]{7,64}(?: \(.*\))?\s*$/.test(lines[index]!)) {
      found.commits.push({ line, date: dateBelow(lines.slice(index + 1, index + 8)) });
    }
    const indented = indentedFrom(lines, index);
    if (indented === null) continue;
    const inside = scanPatches(indented, line);
    found.files.push(...inside.files);
    found.problems.push(...inside.problems);
    index += indented.length - 1;
  }
  found.problems.push(...found.files.flatMap(problemOfNames));
  return { ...found, files: found.files.sort((a, b) => a.line - b.line) };
}

/** Names that cannot be of one file. git refuses them too. */
function problemOfNames({ extended, header, moved, named, line }: FilePatch): string[] {
  if (extended.length === 0) return [];
  const isSame = (one: string, other: string) => one === other || isSameBelow(one, other);
  const isMoved = (name: string, path: string) => name === path || name.endsWith(`/${path}`);
  const sides = (['old', 'new'] as const).map((side) => ({
    names: [header?.[side], named?.[side]].filter((name) => typeof name === 'string'),
    moved: moved[side],
  }));
  for (const { names, moved: path } of sides) {
    const [one, other] = names;
    const wrong = names.find((name) => path !== null && !isMoved(name, path));
    const pair = wrong !== undefined ? [wrong, path] : [one, other];
    const differ = one !== undefined && other !== undefined && !isSame(one, other);
    if (wrong === undefined && !differ) continue;
    return [`line ${line}: the first lines of this diff contradict each other: ${pair.join(' and ')}`];
  }
  const [old, now] = sides.map(({ names }) => names[0]);
  const isMove = moved.old !== null && moved.new !== null;
  if (isMove || old === undefined || now === undefined || isSame(old, now)) return [];
  return [
    `line ${line}: this diff names ${old} and ${now}, but has no \`rename from\` and \`rename to\`; ${howToDiff}`,
  ];
}

interface OtherForm {
  /** @param lines up to three, the first is where the form may begin */
  readonly begins: (lines: readonly string[]) => boolean;
  readonly problem: string;
}

const howToDiff = 'give the output of `git diff`';

const otherForms: readonly OtherForm[] = [
  {
    begins: ([first]) => /^diff --(?:cc|combined) /.test(first!) || /^@@@+ -\d/.test(first!),
    problem:
      'this is a combined diff of a merge, which does not say what to apply it to; give the output of `git diff BASE MERGE`',
  },
  {
    begins: ([first, second]) => /^\*{15}/.test(first!) && /^\*\*\* \d/.test(second ?? ''),
    problem: `this is a context diff, as \`diff -c\` writes it; ${howToDiff} or \`diff -u\``,
  },
  {
    begins: ([first]) => /^diff \S.*\t\(rejected hunks\)/.test(first!),
    problem: `this is a .rej file: hunks that another program could not apply; ${howToDiff} of the whole change`,
  },
  {
    begins: ([first, second]) =>
      first!.trim() === '*** Begin Patch' && /^\s*\*\*\* (?:Add|Update|Delete) File: /.test(second ?? ''),
    problem: `this is a \`*** Begin Patch\` envelope, as coding agents write it, without line numbers; ${howToDiff} after applying it`,
  },
  {
    begins: ([first, second]) =>
      /^\d+(?:,\d+)?[acd]\d+(?:,\d+)?$/.test(first!) && /^[<>] /.test(second ?? ''),
    problem: `this is a diff without context and file names, as \`diff\` writes it without an option; ${howToDiff} or \`diff -u\``,
  },
  {
    begins: ([first]) => /^(?:\[\d*(?:;\d+)*m)+(?:diff --git |--- |\+\+\+ |@@ )/.test(first!),
    problem:
      'this is a coloured diff that lost its escape characters; give the output of `git diff --no-color`',
  },
  {
    begins: ([first]) => /^Content-Transfer-Encoding:\s*(?:quoted-printable|base64)/i.test(first!),
    problem: 'this mail is encoded for transport; give the output of `git format-patch` or `git diff`',
  },
];

const colour = /\u001b\[[\d;]*[mK]/g;

/** Without the colours of a terminal, if the patch's own lines have them; escape characters of a file stay. */
function uncoloured(lines: readonly string[]): readonly string[] {
  const isColoured = lines.some((line) =>
    /^[ \t]*(?:\u001b\[[\d;]*[mK])+(?:diff --git |--- |\+\+\+ |@@ )/.test(line),
  );
  return isColoured ? lines.map((line) => line.replaceAll(colour, '')) : lines;
}

/** The lines of a patch in an indented block, without their indentation; null if none begins here. */
function indentedFrom(lines: readonly string[], start: number): string[] | null {
  const [indent] = /^[ \t]+(?=diff --git |--- \S)/.exec(lines[start]!) ?? [];
  if (indent === undefined) return null;
  const begin = (ahead: number, text: RegExp) => {
    const line = lines[start + ahead] ?? '';
    return line.startsWith(indent) && text.test(line.slice(indent.length));
  };
  const isPatch = begin(0, /^diff --git /)
    ? begin(1, /^(?:index|old mode|new file|deleted file|similarity|rename|copy|--- )/)
    : begin(1, /^\+\+\+ /) && begin(2, /^@@ -/);
  if (!isPatch) return null;
  const block: string[] = [];
  for (const line of lines.slice(start)) {
    if (line.startsWith(indent)) block.push(line.slice(indent.length));
    else if (line.trim() === '') block.push('');
    else break;
  }
  return block;
}

/** Date of the commit, else of its author, in ms. */
function dateBelow(lines: readonly string[]): number | null {
  const dates = lines.flatMap((line) => /^\s*(?:Author|Commit)?Date:\s+(.+)$/.exec(line)?.[1] ?? []);
  const date = Date.parse(dates.at(-1) ?? '');
  return Number.isNaN(date) ? null : date;
}

function markIn(line: string): Omit<SeriesMark, 'line'> | null {
  const [, tag] = /^[\s#*_]*(?:Subject:\s*)?\[([^\]]*\bPATCH\b[^\]]*)\]/i.exec(line.slice(0, 300)) ?? [];
  const [, part, total] = /\b(\d{1,3})\/(\d{1,3})\b/.exec(tag ?? '') ?? [];
  if (part === undefined || Number(part) > Number(total)) return null;
  const [, version = '1'] = /\bv(\d{1,3})\b/i.exec(tag!) ?? [];
  return { part: Number(part), total: Number(total), version: Number(version) };
}
