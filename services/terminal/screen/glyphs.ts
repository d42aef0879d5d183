/** The signs that are no letters, for terminals with Unicode and without. */
export interface Glyphs {
  readonly unicode: boolean;
  readonly ellipsis: string;
  readonly dot: string;
  readonly minus: string;
  readonly tick: string;
  readonly cross: string;
  readonly pointer: string;
  readonly vertical: string;
  readonly horizontal: string;
  readonly folded: string;
  readonly unfolded: string;
  readonly up: string;
  readonly down: string;
  readonly spinner: readonly string[];
}

export const unicodeGlyphs: Glyphs = {
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
