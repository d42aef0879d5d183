import { visibleLines } from '#kit/cli/terminal-text.ts';
import { isTextLine, type Patch } from './parse-patch.ts';

const tabStop = 4;

/** What a line of a patch says, without its sign, safe to show. */
export function lineText({ lines, kinds }: Patch, index: number): string {
  const line = lines[index]!;
  return safeText(isTextLine(kinds[index]!) ? line.slice(1) : line);
}

/** One line, tabs as spaces up to the next stop. */
export function safeText(line: string): string {
  const visible = visibleLines(line.replaceAll('\n', ' '));
  if (!visible.includes('\t')) return visible;
  let text = '';
  for (const [index, part] of visible.split('\t').entries()) {
    if (index > 0) text += ' '.repeat(tabStop - (text.length % tabStop));
    text += part;
  }
  return text;
}
