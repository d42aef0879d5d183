/**
 * Text from outside on its way to a terminal. Control characters, escape sequences, bidirectional overrides and characters
 * without a glyph are shown as `\x1b` or `\u{202e}`: what a person reads is what is there, and nothing moves the cursor.
 */

const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Cn}\u{2800}]/gu;

/** Text for one line: line ends and tabs are shown as well. */
export function visibleLine(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  return showing(text, show);
}

/** Text of several lines, for example a patch or a log; `\n` and tabs keep their meaning. */
export function visibleLines(text: string): string {
  if (/^[\x20-\x7e\n\t]*$/.test(text)) return text;
  return showing(text, (found) => (found === '\n' || found === '\t' ? found : show(found)));
}

/** Emoji sequences are kept whole: their joiners have a meaning that is seen. */
function showing(text: string, show: (found: string) => string): string {
  if (!/[\u200d\ufe0f\u{e0020}-\u{e007f}]/u.test(text)) return text.replace(invisible, show);
  let shown = '';
  let end = 0;
  for (const emoji of text.matchAll(emojiSequence())) {
    shown += text.slice(end, emoji.index).replace(invisible, show) + emoji[0];
    end = emoji.index + emoji[0].length;
  }
  return shown + text.slice(end).replace(invisible, show);
}

let compiled: RegExp | undefined;

/** Compiled when the first joiner is met: it takes longer than all else that a command does. */
function emojiSequence(): RegExp {
  compiled ??= /\p{RGI_Emoji}/gv;
  return compiled;
}

function show(found: string): string {
  if (found === '\n') return '\\n';
  if (found === '\t') return '\\t';
  if (found === '\r') return '\\r';
  const code = found.codePointAt(0)!;
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
}
