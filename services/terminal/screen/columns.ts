import { textWidth } from '#kit/cli/text-width.ts';

/** Of the interface's own signs each takes one; the tables for all others take long to load. */
const own = /^[\x20-\x7e…·−✔✘▌│─▸▾↑↓]*$/;

/**
 * The most columns that some terminal takes for a text. What is one sign on a new terminal, a flag, a family or a skin
 * tone, older ones draw as its parts beside each other; laid out for the parts, nothing is ever pushed off the screen.
 */
export function columnsOf(text: string): number {
  if (own.test(text)) return text.length;
  if (!/[\u200d\ufe0f\u20e3\u{1f1e6}-\u{1f1ff}\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]/u.test(text))
    return textWidth(text);
  let columns = 0;
  let last = 0;
  for (const character of text) {
    if (character === '\ufe0f') {
      // Asks for the picture of a sign that may be one column wide.
      columns += 2 - last;
      last = 2;
      continue;
    }
    last = isPart(character) ? 2 : textWidth(character);
    columns += last;
  }
  return columns;
}

function isPart(character: string): boolean {
  const code = character.codePointAt(0)!;
  return (code >= 0x1f1e6 && code <= 0x1f1ff) || (code >= 0x1f3fb && code <= 0x1f3ff);
}
