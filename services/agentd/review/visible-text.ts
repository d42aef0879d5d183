import { standInsOf, withoutLookAlikes } from '#kit/cli/look-alikes.ts';
import { visibleLine, visibleLines } from '#kit/cli/terminal-text.ts';
import { type Html, html } from './html.ts';

/**
 * Text from outside on its way to a page, as the terminal shows it: control characters, bidirectional overrides and what has no
 * glyph are shown by their numbers, as are letters of other scripts within a Latin word. Each number stands out.
 */

/** Line ends and tabs keep their meaning. */
export function shownText(text: string): Html {
  return marked(text, withoutLookAlikes(visibleLines(text.replaceAll('\r\n', '\n'))));
}

/** Line ends and tabs are shown as well. */
export function shownLine(text: string): Html {
  return marked(text, withoutLookAlikes(visibleLine(text)));
}

/** For attributes and titles, which hold no marks. */
export function plainLine(text: string): string {
  return withoutLookAlikes(visibleLine(text));
}

function marked(text: string, shown: string): Html {
  if (shown === text) return html`${shown}`;
  const parts: Html[] = [];
  let end = 0;
  for (const { at, length } of standInsOf(text.replaceAll('\r\n', '\n'), shown)) {
    if (length === 0) continue;
    parts.push(html`${shown.slice(end, at)}<mark class="odd">${shown.slice(at, at + length)}</mark>`);
    end = at + length;
  }
  return html`${parts}${shown.slice(end)}`;
}
