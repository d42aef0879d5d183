import { laidText, type Mark, safeText } from '#kit/diff/line-text.ts';

const tab = '<TAB>';

/**
 * A line of a patch in words that a screen reader says: `<TAB>`, `<2 SPACES AT THE END>`, `<CR>`. A second line follows where
 * an escape stands for a character that has no glyph.
 * @param changed added or taken away: of others white space is as it is
 */
export function spokenLine(line: string, changed: boolean): readonly string[] {
  if (!changed) return [safeText(line)];
  const raw = line.slice(1);
  const { text, marks } = laidText(raw, true);
  let said = line.slice(0, 1);
  let from = 0;
  let spaces = 0;
  for (const mark of marks) {
    if (mark.kind === 'escape' && !isReturn(mark, text, raw)) continue;
    if (mark.kind === 'space') {
      said += unspoken(text.slice(from, mark.at));
      spaces++;
    } else {
      said += unspoken(text.slice(from, mark.at)) + spacesAtEnd(spaces);
      spaces = 0;
      said += mark.kind === 'tab' ? tab : '<CR>';
    }
    from = mark.at + mark.length;
  }
  said += unspoken(text.slice(from)) + spacesAtEnd(spaces);
  const escapes = marks.filter((mark) => mark.kind === 'escape' && !isReturn(mark, text, raw));
  if (escapes.length === 0) return [said];
  const names = [...new Set(escapes.map(({ at, length }) => text.slice(at, at + length)))];
  return [
    said,
    `(in the line above ${names.join(', ')} stands for what cannot be seen or looks like another)`,
  ];
}

function isReturn({ at, length }: Mark, text: string, raw: string): boolean {
  return at + length === text.length && raw.endsWith('\r');
}

function spacesAtEnd(count: number): string {
  if (count === 0) return '';
  return count === 1 ? '<SPACE AT THE END>' : `<${count} SPACES AT THE END>`;
}

/** What the line itself says in these words is not taken for them. */
function unspoken(text: string): string {
  return text.replace(/<(?=TAB>|CR>|SPACE AT|\d+ SPACES AT)/g, '\\x3c');
}
