import { withoutReturn } from '#kit/git/patch.ts';

/** A fenced block, or the lines between two of them. */
export interface Segment {
  readonly kind: 'prose' | 'block';
  /** What stands behind the opening fence, for example `diff`; empty for prose. */
  readonly info: string;
  readonly lines: readonly string[];
  /** Somebody else's words: `>` stood before every line. */
  readonly quoted: boolean;
  /** Number of the first line in the text, from 1. */
  readonly line: number;
}

interface OpenFence {
  readonly mark: string;
  readonly length: number;
  readonly indent: number;
}

/**
 * Splits Markdown as GitHub writes it into fenced blocks and prose. Fences may be indented, stand in lists and in quotes; one
 * that is never closed reaches to the end. HTML comments are left out: nobody who reads the issue sees them. Lines of blocks
 * keep a carriage return at their end, which may belong to a file.
 */
export function segmentsOf(markdown: string): Segment[] {
  const lines = markdown.split('\n');
  const segments: Segment[] = [];
  let prose: string[] = [];
  let proseLine = 1;
  let proseQuoted = false;

  function endProse(): void {
    if (prose.some((line) => line.trim() !== '')) {
      segments.push({ kind: 'prose', info: '', lines: prose, quoted: proseQuoted, line: proseLine });
    }
    prose = [];
  }

  for (let index = 0; index < lines.length; index += 1) {
    const { depth, text } = unquoted(withoutReturn(lines[index]!));
    if (text.trimStart().startsWith('<!--')) {
      endProse();
      while (index < lines.length && !lines[index]!.includes('-->')) index += 1;
      continue;
    }
    const opening = fenceOf(text);
    if (opening === null) {
      if (prose.length === 0 || depth > 0 !== proseQuoted) {
        endProse();
        proseLine = index + 1;
        proseQuoted = depth > 0;
      }
      prose.push(text);
      continue;
    }
    endProse();
    const start = index + 2;
    const content: string[] = [];
    for (index += 1; index < lines.length; index += 1) {
      const { depth: marks, text: inside } = unquoted(lines[index]!, depth);
      // Fewer marks end a quoted block.
      if (marks < depth) {
        index -= 1;
        break;
      }
      if (closes(inside, opening.fence)) break;
      content.push(withoutIndent(inside, opening.fence.indent));
    }
    segments.push({ kind: 'block', info: opening.info, lines: content, quoted: depth > 0, line: start });
  }
  endProse();
  return segments;
}

function fenceOf(text: string): { fence: OpenFence; info: string } | null {
  const match = /^(\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*)(`{3,}|~{3,})(.*)$/.exec(text);
  if (match === null) return null;
  const [, before, mark, rest] = match as unknown as [string, string, string, string];
  if (mark.startsWith('`') && rest.includes('`')) return null;
  return {
    fence: { mark: mark[0]!, length: mark.length, indent: before.length },
    info: rest.trim(),
  };
}

function closes(text: string, { mark, length }: OpenFence): boolean {
  const trimmed = text.trim();
  return trimmed.length >= length && trimmed === mark.repeat(trimmed.length);
}

/** The line without its quote marks, at most `max` of them. */
function unquoted(line: string, max = Number.POSITIVE_INFINITY): { depth: number; text: string } {
  let text = line;
  let depth = 0;
  for (let mark = /^ {0,3}> ?/.exec(text); mark !== null && depth < max; mark = /^ {0,3}> ?/.exec(text)) {
    text = text.slice(mark[0].length);
    depth += 1;
  }
  return { depth, text };
}

function withoutIndent(line: string, indent: number): string {
  let cut = 0;
  while (cut < indent && (line[cut] === ' ' || line[cut] === '\t')) cut += 1;
  return line.slice(cut);
}
