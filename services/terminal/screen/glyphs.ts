import { asciiSymbols, type Symbols, unicodeSymbols } from '#kit/cli/display.ts';

/** The signs of the whole platform, and those that only a screen needs. */
export interface Glyphs extends Symbols {
  readonly unicode: boolean;
  readonly pointer: string;
  readonly horizontal: string;
  readonly folded: string;
  readonly unfolded: string;
  readonly up: string;
  readonly down: string;
}

export const unicodeGlyphs: Glyphs = {
  ...unicodeSymbols,
  unicode: true,
  pointer: '▌',
  horizontal: '─',
  folded: '▸',
  unfolded: '▾',
  up: '↑',
  down: '↓',
};

export const asciiGlyphs: Glyphs = {
  ...asciiSymbols,
  unicode: false,
  pointer: '>',
  horizontal: '-',
  folded: '+',
  unfolded: 'v',
  up: '^',
  down: 'v',
};

/** Those that go with these signs. */
export function glyphsFor(symbols: Symbols): Glyphs {
  return symbols === unicodeSymbols ? unicodeGlyphs : asciiGlyphs;
}
