export interface Bar {
  readonly label: string;
  /** Under the label, smaller. */
  readonly note?: string;
  /** One for each series, in their order; null where nothing was measured. */
  readonly values: readonly (number | null)[];
  /** What stands behind each bar. */
  readonly texts: readonly string[];
  /** From and to, as a line over the first bar. */
  readonly spread?: readonly [number, number];
}

export interface BarChart {
  readonly describedAs: string;
  readonly bars: readonly Bar[];
  /** Their names, above the chart; none for a chart of one series. */
  readonly series: readonly string[];
  /** The value at the right end. */
  readonly max: number;
  /** A line across all bars. */
  readonly mark?: { readonly at: number; readonly label: string };
}

const width = 800;
const left = 366;
const right = 124;
const barHeight = 11;
const gap = 2;
const between = 14;

/** Horizontal bars in the colours of the site; one element without a line between its parts, as Markdown takes it. */
export function barChart({ describedAs, bars, series, max, mark }: BarChart): string {
  const top = series.length > 1 || mark !== undefined ? 34 : 8;
  const rowHeight = Math.max(barHeight * series.length + gap * (series.length - 1), 26) + between;
  const height = top + bars.length * rowHeight + 4;
  const x = (value: number) => round(left + (Math.min(value, max) / max) * (width - left - right));
  const parts = bars.flatMap((bar, index) => {
    const y = top + index * rowHeight;
    return [...label(bar, y), ...valuesOf(bar, y, x, mark === undefined ? null : width - right + 8)];
  });
  const legend = series.length > 1 ? series.flatMap((name, index) => legendOf(name, index)) : [];
  const line =
    mark === undefined
      ? []
      : [
          `<path class="mark" d="M${x(mark.at)} ${top - 6}V${height - 8}"/>`,
          `<text class="small" x="${x(mark.at)}" y="${top - 14}" text-anchor="middle">${escaped(mark.label)}</text>`,
        ];
  return `<div class="core-figure core-chart"><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(describedAs)}">
${[...legend, ...parts, ...line].join('\n')}
</svg></div>
`;
}

function label({ label: text, note }: Bar, y: number): string[] {
  const first = note === undefined ? y + 17 : y + 11;
  return [
    `<text x="${left - 12}" y="${first}" text-anchor="end">${escaped(text)}</text>`,
    ...(note === undefined
      ? []
      : [`<text class="small" x="${left - 12}" y="${y + 26}" text-anchor="end">${escaped(note)}</text>`]),
  ];
}

/** @param column where the texts stand below each other; null: behind their bars */
function valuesOf(
  { values, texts, spread }: Bar,
  y: number,
  x: (value: number) => number,
  column: number | null,
): string[] {
  const first = values.length === 1 ? y + 7 : y;
  return values.flatMap((value, index) => {
    if (value === null) return [];
    const at = first + index * (barHeight + gap);
    const middle = at + barHeight / 2;
    return [
      `<rect class="series-${index}" x="${left}" y="${at}" width="${round(x(value) - left)}" height="${barHeight}" rx="2"/>`,
      ...(spread === undefined || index > 0
        ? []
        : [`<path class="spread" d="M${x(spread[0])} ${middle}H${x(spread[1])}"/>`]),
      `<text class="small" x="${column ?? x(value) + 6}" y="${at + 10}">${escaped(texts[index] ?? '')}</text>`,
    ];
  });
}

function legendOf(name: string, index: number): string[] {
  const x = left + index * 150;
  return [
    `<rect class="series-${index}" x="${x}" y="6" width="12" height="12" rx="2"/>`,
    `<text class="small" x="${x + 18}" y="16">${escaped(name)}</text>`,
  ];
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
