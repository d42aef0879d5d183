export interface Bar {
  readonly label: string;
  /** Behind the label, smaller; narrow screens leave it out. */
  readonly note?: string;
  /** One for each series, in their order; null where nothing was measured. */
  readonly values: readonly (number | null)[];
  /** The text of each bar: at the right end of a chart with a mark, else behind the bar. */
  readonly texts: readonly string[];
  /** From and to, as a line over the first bar. */
  readonly spread?: readonly [number, number];
}

export interface BarChart {
  readonly describedAs: string;
  readonly bars: readonly Bar[];
  /** Their names, above the chart; none for a chart of one series. */
  readonly series: readonly string[];
  /** The value at the right end of the bars. */
  readonly max: number;
  /** A line across all bars. */
  readonly mark?: { readonly at: number; readonly label: string };
}

/** Width of the longest bar, in percent of the chart; the rest is for texts. */
const plot = 66;
const labelHeight = 17;
const barHeight = 11;
const gap = 3;
const between = 12;

/**
 * Horizontal bars in the colours of the site, each below its label. Lengths are percentages and texts have a fixed size, so the
 * chart can be read at every width. One element without a line between its parts, as Markdown takes it.
 */
export function barChart({ describedAs, bars, series, max, mark }: BarChart): string {
  const top = series.length > 1 || mark !== undefined ? 28 : 4;
  const rowHeight = labelHeight + (barHeight + gap) * Math.max(series.length, 1) + between;
  const height = top + bars.length * rowHeight;
  const x = (value: number) => round((Math.min(value, max) / max) * plot);
  const parts = bars.flatMap((bar, index) => {
    const y = top + index * rowHeight;
    return [label(bar, y), ...valuesOf(bar, y + labelHeight, x, mark !== undefined)];
  });
  const legend = series.length > 1 ? series.flatMap((name, index) => legendOf(name, index)) : [];
  const lines =
    mark === undefined
      ? []
      : [
          ...bars.map((_, index) => {
            const y = top + index * rowHeight + labelHeight;
            return `<line class="mark" x1="${x(mark.at)}%" x2="${x(mark.at)}%" y1="${y - 1}" y2="${y + barHeight + 4}"/>`;
          }),
          `<text class="small" x="${x(mark.at)}%" y="14" text-anchor="middle">${escaped(mark.label)}</text>`,
        ];
  return `<div class="core-figure core-chart"><svg width="100%" height="${height}" role="img" aria-label="${escaped(describedAs)}">
${[...legend, ...parts, ...lines].join('\n')}
</svg></div>
`;
}

function label({ label: text, note }: Bar, y: number): string {
  const behind = note === undefined ? '' : `<tspan class="small note" dx="8">${escaped(note)}</tspan>`;
  return `<text x="0" y="${y + 12}"><tspan>${escaped(text)}</tspan>${behind}</text>`;
}

function valuesOf(
  { values, texts, spread }: Bar,
  y: number,
  x: (value: number) => number,
  inColumn: boolean,
): string[] {
  return values.flatMap((value, index) => {
    if (value === null) return [];
    const at = y + index * (barHeight + gap);
    const middle = at + barHeight / 2;
    return [
      `<rect class="series-${index}" x="0" y="${at}" width="${x(value)}%" height="${barHeight}" rx="2"/>`,
      ...(spread === undefined || index > 0
        ? []
        : [
            `<line class="spread" x1="${x(spread[0])}%" x2="${x(spread[1])}%" y1="${middle}" y2="${middle}"/>`,
          ]),
      `<text class="small" ${inColumn ? 'x="100%" text-anchor="end"' : `x="${x(value)}%" dx="6"`} y="${at + 10}">${escaped(texts[index] ?? '')}</text>`,
    ];
  });
}

function legendOf(name: string, index: number): string[] {
  const x = index * 50;
  return [
    `<rect class="series-${index}" x="${x}%" y="4" width="12" height="12" rx="2"/>`,
    `<text class="small" x="${x}%" dx="18" y="14">${escaped(name)}</text>`,
  ];
}

function round(percent: number): number {
  return Math.round(percent * 100) / 100;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
