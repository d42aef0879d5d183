import { type Color, fitRow, type Row, type Style } from './cell.ts';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Cursor {
  /** From 0. */
  readonly row: number;
  readonly column: number;
}

export interface ScreenWriter {
  /** Shows the rows, top left first; sends only lines that are others than before. */
  draw(rows: readonly Row[], size: Size, cursor?: Cursor | null): void;
  /** Draws in other colours from the next frame on. */
  repaint(paint: Paint): void;
  /** Everything is sent again next time: the screen may hold something else. */
  forget(): void;
}

/** Terminals that know it show the frame at once; others ignore it. */
const beginFrame = '\x1b[?2026h';
const endFrame = '\x1b[?2026l';
/** What was there before may be longer where a terminal draws signs narrower than they were laid out. */
const eraseLine = '\x1b[2K';
const hideCursor = '\x1b[?25l';
const showCursor = '\x1b[?25h';

export function createScreenWriter(options: {
  readonly write: (text: string) => void;
  readonly paint: Paint;
  readonly ellipsis: string;
}): ScreenWriter {
  const { write, ellipsis } = options;
  let { paint } = options;
  let shown: string[] = [];
  let before: Size = { columns: 0, rows: 0 };
  let place = '';

  return {
    draw(rows, size, cursor = null) {
      const resized = size.columns !== before.columns || size.rows !== before.rows;
      if (resized) shown = [];
      before = size;
      let out = '';
      for (let index = 0; index < size.rows; index++) {
        // The last column of the last line stays empty: writing there scrolls some terminals.
        const width = index === size.rows - 1 ? size.columns - 1 : size.columns;
        const line = paint(fitRow(rows[index] ?? [], width, ellipsis));
        if (shown[index] === line) continue;
        shown[index] = line;
        out += `\x1b[${index + 1};1H${eraseLine}${line}`;
      }
      const newPlace = cursor === null ? hideCursor : cursorTo(cursor);
      if (out === '' && newPlace === place) return;
      place = newPlace;
      write(`${beginFrame}${hideCursor}${resized ? '\x1b[2J' : ''}${out}${newPlace}${endFrame}`);
    },
    repaint(other) {
      paint = other;
    },
    forget() {
      shown = [];
      place = '';
      before = { columns: 0, rows: 0 };
    },
  };
}

function cursorTo({ row, column }: Cursor): string {
  return `\x1b[${row + 1};${column + 1}H${showCursor}`;
}

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
export const themes = ['dark', 'light'] as const;
/** What the terminal writes on. */
export type Theme = (typeof themes)[number];

/** Of the 256-colour palette: dark enough for light text of any colour, or light enough for dark text. */
const grounds: Readonly<Record<Theme, Readonly<Record<NonNullable<Style['ground']>, string>>>> = {
  dark: { added: '48;5;22', removed: '48;5;52', chosen: '48;5;238' },
  light: { added: '48;5;194', removed: '48;5;224', chosen: '48;5;253' },
};
/** Yellow, cyan and green of most palettes cannot be read on white. */
const onLight: Readonly<Partial<Record<Color, string>>> = {
  green: '38;5;28',
  yellow: '38;5;94',
  cyan: '38;5;24',
  gray: '38;5;242',
};
const reset = '\x1b[0m';

/** @param color false: bold, underline and inverse stay, so that what is chosen can be seen */
export function createPaint({
  color,
  theme = 'dark',
}: {
  readonly color: boolean;
  readonly theme?: Theme;
}): Paint {
  return (row) => {
    let painted = '';
    for (const { text: given, style } of row) {
      const text = uncontrolled(given);
      const codes = style === undefined ? '' : codesOf(style, color, theme);
      painted += codes === '' ? text : `\x1b[${codes}m${text}${reset}`;
    }
    return painted;
  };
}

/** The last guard: whatever a view forgot, nothing but Core's own sequences reaches the terminal. */
export function uncontrolled(text: string): string {
  return /[\x00-\x1f\x7f-\x9f]/.test(text) ? text.replace(/[\x00-\x1f\x7f-\x9f]/g, '?') : text;
}

function codesOf(style: Style, color: boolean, theme: Theme): string {
  const codes: string[] = [];
  if (style.bold === true) codes.push('1');
  if (style.dim === true && color) codes.push('2');
  if (style.underline === true) codes.push('4');
  if (style.inverse === true || (!color && style.ground === 'chosen')) codes.push('7');
  if (color && style.color !== undefined)
    codes.push((theme === 'light' && onLight[style.color]) || colors[style.color]);
  if (color && style.ground !== undefined) codes.push(grounds[theme][style.ground]);
  return codes.join(';');
}
