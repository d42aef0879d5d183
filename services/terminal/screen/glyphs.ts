/** The signs that are no letters, for terminals with Unicode. */
export const unicodeGlyphs = {
  unicode: true,
  ellipsis: '…',
  dot: '·',
  minus: '−',
  tick: '✔',
  cross: '✘',
  pointer: '▌',
  vertical: '│',
  horizontal: '─',
  folded: '▸',
  unfolded: '▾',
  up: '↑',
  down: '↓',
  spinner: ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'],
};

export type Glyphs = Readonly<typeof unicodeGlyphs>;

export const asciiGlyphs: Glyphs = {
  unicode: false,
  ellipsis: '...',
  dot: '-',
  minus: '-',
  tick: 'ok',
  cross: 'x',
  pointer: '>',
  vertical: '|',
  horizontal: '-',
  folded: '+',
  unfolded: 'v',
  up: '^',
  down: 'v',
  spinner: ['|', '/', '-', '\\'],
};

export function glyphsFor(environment: {
  readonly LANG: string | undefined;
  readonly TERM: string | undefined;
}): Glyphs {
  const unicode = /utf-?8/i.test(environment.LANG ?? '') && environment.TERM !== 'linux';
  return unicode ? unicodeGlyphs : asciiGlyphs;
}
