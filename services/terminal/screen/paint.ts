import type { Color, Row, Style } from './cell.ts';

/** Turns a row into what a terminal obeys. */
export type Paint = (row: Row) => string;

const colors: Readonly<Record<Color, string>> = {
  red: '31',
  green: '32',
  yellow: '33',
  blue: '34',
  magenta: '35',
  cyan: '36',
  gray: '90',
};
/** Of the 256-colour palette: dark enough for light text of any colour. */
const grounds: Readonly<Record<NonNullable<Style['ground']>, string>> = {
  added: '48;5;22',
  removed: '48;5;52',
  chosen: '48;5;238',
};
const reset = '\x1b[0m';

/** @param color false: bold, underline and inverse stay, so that what is chosen can be seen */
export function createPaint({ color }: { readonly color: boolean }): Paint {
  return (row) => {
    let painted = '';
    for (const { text: given, style } of row) {
      const text = uncontrolled(given);
      const codes = style === undefined ? '' : codesOf(style, color);
      painted += codes === '' ? text : `\x1b[${codes}m${text}${reset}`;
    }
    return painted;
  };
}

/** The last guard: whatever a view forgot, nothing but Core's own sequences reaches the terminal. */
export function uncontrolled(text: string): string {
  return /[\x00-\x1f\x7f-\x9f]/.test(text) ? text.replace(/[\x00-\x1f\x7f-\x9f]/g, '?') : text;
}

function codesOf(style: Style, color: boolean): string {
  const codes: string[] = [];
  if (style.bold === true) codes.push('1');
  if (style.dim === true && color) codes.push('2');
  if (style.underline === true) codes.push('4');
  if (style.inverse === true || (!color && style.ground === 'chosen')) codes.push('7');
  if (color && style.color !== undefined) codes.push(colors[style.color]);
  if (color && style.ground !== undefined) codes.push(grounds[style.ground]);
  return codes.join(';');
}
