/**
 * Text from outside on its way to a terminal. Control characters, escape sequences, bidirectional overrides and characters
 * without a glyph are shown as `\x1b` or `\u{202e}`: what a person reads is what is there, and nothing moves the cursor.
 */

const invisible =
  '[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}\\u{2800}]';
/** Emoji sequences are kept whole: their joiners have a meaning that is seen. */
const outsideEmoji = new RegExp(`\\p{RGI_Emoji}|${invisible}`, 'gv');

/** Text for one line: line ends and tabs are shown as well. */
export function visibleLine(text: string): string {
  return text.replace(outsideEmoji, show);
}

/** Text of several lines, for example a patch or a log; `\n` and tabs keep their meaning. */
export function visibleLines(text: string): string {
  return text.replace(outsideEmoji, (found) => (found === '\n' || found === '\t' ? found : show(found)));
}

function show(found: string): string {
  const code = found.codePointAt(0)!;
  if (String.fromCodePoint(code) !== found || !isInvisible(found)) return found;
  if (found === '\n') return '\\n';
  if (found === '\t') return '\\t';
  if (found === '\r') return '\\r';
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`;
  return `\\u{${code.toString(16)}}`;
}

const single = new RegExp(`^${invisible}$`, 'v');

function isInvisible(character: string): boolean {
  return single.test(character);
}
