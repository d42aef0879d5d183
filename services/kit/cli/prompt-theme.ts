import { styleText } from 'node:util';
import { type Symbols, unicodeSymbols } from './display.ts';

/** The theme of a question of inquirer, which else has signs of its own. */
export function promptTheme(symbols: Symbols) {
  if (symbols === unicodeSymbols) return {};
  return {
    prefix: { done: styleText('green', symbols.tick) },
    spinner: { frames: [...symbols.spinner] },
  };
}

/** As `promptTheme`, for a question with choices. */
export function selectTheme(symbols: Symbols) {
  if (symbols === unicodeSymbols) return {};
  return {
    ...promptTheme(symbols),
    icon: { cursor: '>' },
    style: {
      keysHelpTip: (keys: [key: string, action: string][]) =>
        styleText('dim', keys.map(([key, action]) => `${keyNames[key] ?? key} ${action}`).join(', ')),
    },
  };
}

const keyNames: Readonly<Record<string, string>> = { '↑↓': 'up/down', '⏎': 'enter' };
