import type { Row, Run, Tone } from './row.ts';

/** What a character takes of a row, and a row of the picture, in pixels. */
export const cell = { width: 8.4, height: 19 };
export const margin = { side: 20, top: 52, bottom: 18 };
export const columns = 80;
const baseline = 14;
const fonts =
  "ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace";
const colours: Readonly<Record<Tone, string>> = {
  red: '#ff8f8f',
  green: '#7fd6a2',
  yellow: '#e8c06a',
  blue: '#8ab8ff',
  cyan: '#6fd3d3',
};
export const paper = '#14191c';
const ink = '#dfe5e7';

/** A window of a terminal with this many rows; `style` goes beside what every picture has. */
export function frame(options: {
  readonly rows: number;
  readonly title: string;
  readonly describedAs: string;
  readonly style?: string;
  readonly body: string;
}): string {
  const width = round(columns * cell.width + 2 * margin.side);
  const height = options.rows * cell.height + margin.top + margin.bottom;
  const tones = Object.entries(colours).map(([tone, colour]) => `.${tone}{fill:${colour}}`);
  const style = [
    `text{font:14px ${fonts};fill:${ink};white-space:pre}`,
    '.bold{font-weight:700}.dim{opacity:.62}',
    ...tones,
    options.style ?? '',
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(options.describedAs)}">
<style>${style.filter((part) => part !== '').join('\n')}</style>
<rect width="${width}" height="${height}" rx="10" fill="${paper}"/>
<rect x=".5" y=".5" width="${round(width - 1)}" height="${height - 1}" rx="9.5" fill="none" stroke="#ffffff" stroke-opacity=".14"/>
<g fill="#4a5459"><circle cx="20" cy="20" r="5.5"/><circle cx="38" cy="20" r="5.5"/><circle cx="56" cy="20" r="5.5"/></g>
<text class="dim" x="${round(width / 2)}" y="25" text-anchor="middle">${escaped(options.title)}</text>
${options.body}
</svg>
`;
}

/** Rows of text from the given one on, below each other. */
export function drawRows(rows: readonly Row[], first = 0): string {
  return rows
    .flatMap((row, index) => row.map((run) => drawRun(run, first + index)))
    .join('\n');
}

/** As wide as its cells, whatever font the reader has. */
function drawRun(run: Run, row: number): string {
  const x = round(margin.side + run.column * cell.width);
  const y = margin.top + row * cell.height;
  const length = [...run.text].length;
  const width = round(length * cell.width);
  const back = run.inverse
    ? `<rect class="${run.tone ?? ''}" x="${x}" y="${y - 1}" width="${width}" height="${cell.height - 1}" opacity=".3"/>\n`
    : '';
  const names = [run.tone, run.bold ? 'bold' : null, run.dim ? 'dim' : null].filter((name) => name !== null);
  const kind = names.length === 0 ? '' : ` class="${names.join(' ')}"`;
  const fit = length === 1 ? '' : ` textLength="${width}" lengthAdjust="spacingAndGlyphs"`;
  return `${back}<text${kind} x="${x}" y="${y + baseline}"${fit}>${escaped(run.text)}</text>`;
}

export function round(pixels: number): number {
  return Math.round(pixels * 100) / 100;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('"', '&quot;');
}
