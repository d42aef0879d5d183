import { cell, columns, drawRows, frame, margin, paper, round } from './draw.ts';
import { plain } from './recorded-terminal.ts';
import type { Row } from './row.ts';
import type { Recording } from './scene.ts';

/** Rows that are seen at once. */
const windowRows = 26;
const ms = { key: 70, row: 40, step: 420, afterTyping: 500, toRead: 4_000, question: 2_400, end: 6_000 };
const lastOfPlan = 'approvals expire';

/** When how many rows are uncovered. */
interface Moment {
  readonly at: number;
  readonly rows: number;
}

interface Typing {
  readonly at: number;
  readonly row: number;
  readonly keys: number;
}

/** Rows of a shot from the first that the shot before it did not have, from its time until the given one. */
interface Layer {
  readonly rows: readonly Row[];
  readonly first: number;
  readonly from: number;
  readonly until: number;
}

/**
 * The recording as a film that begins again: commands are typed, rows come one by one, questions are answered, and the
 * picture scrolls as a terminal does. Its times are ours, not those of the recording. Where the reader wants nothing to
 * move it stands at its end.
 */
export function movingPicture(shots: Recording, describedAs: string): string {
  const { moments, typings, layers, end } = timeline(shots);
  const rules = [
    keyframes('scroll', moments, end, ({ rows }) => `transform:translateY(${scrolled(rows)}px)`),
    keyframes('cover', moments, end, ({ rows }) => `transform:translateY(${rows * cell.height}px)`),
    ...typings.map((typing, index) => typingRule(typing, index, end)),
    ...layers.map((layer, index) => layerRule(layer, index, end)),
    `.film *,.film{animation-duration:${end}ms;animation-iteration-count:infinite;animation-timing-function:step-end}`,
    '.scroll{animation-name:scroll}.cover{animation-name:cover}',
    ...typings.map((_, index) => `.t${index}{animation-name:t${index}}`),
    ...layers.map((_, index) => `.l${index}{animation-name:l${index}}`),
    '@media (prefers-reduced-motion:reduce){.film,.film *{animation:none!important}}',
  ];
  const last = moments.at(-1)!.rows;
  const height = windowRows * cell.height;
  const width = round(columns * cell.width);
  const covers = typings.map(
    ({ row }, index) =>
      `<rect class="t${index}" x="${round(margin.side + 2 * cell.width)}" y="${margin.top + row * cell.height}" width="${width}" height="${cell.height}" fill="${paper}" opacity="0"/>`,
  );
  const body = [
    `<clipPath id="window"><rect x="2" y="${margin.top - 2}" width="${round(width + 2 * margin.side - 4)}" height="${height + 4}"/></clipPath>`,
    `<g clip-path="url(#window)"><g class="film scroll" style="transform:translateY(${scrolled(last)}px)">`,
    ...layers.map(
      ({ rows, first, until }, index) =>
        `<g class="l${index}"${until < end ? ' opacity="0"' : ''}>\n${drawRows(rows, first)}\n</g>`,
    ),
    ...covers,
    `<rect class="cover" x="0" y="${margin.top}" width="${round(width + 2 * margin.side)}" height="${last * cell.height + height}" fill="${paper}" style="transform:translateY(${last * cell.height}px)"/>`,
    '</g></g>',
  ];
  return frame({ rows: windowRows, title: '~/hello', describedAs, style: rules.join('\n'), body: body.join('\n') });
}

function timeline(shots: Recording) {
  const moments: Moment[] = [];
  const typings: Typing[] = [];
  const layers: Layer[] = [];
  let now = 0;
  for (const [index, shot] of shots.entries()) {
    const first = sameRows(shots[index - 1] ?? [], shot);
    const from = now;
    for (const [offset, row] of shot.slice(first).entries()) {
      const text = plain(row);
      moments.push({ at: now, rows: first + offset + 1 });
      if (text.startsWith('$ ')) {
        const keys = text.length - 2;
        typings.push({ at: now + ms.afterTyping, row: first + offset, keys });
        now += 2 * ms.afterTyping + keys * ms.key;
      } else now += text.includes(lastOfPlan) ? ms.toRead : /^ {3}\S {2}/.test(text) ? ms.step : ms.row;
    }
    now += index === shots.length - 1 ? ms.end : ms.question;
    layers.push({ rows: shot.slice(first), first, from, until: now });
  }
  return { moments, typings, layers: layers.flatMap((layer, index) => split(layer, layers[index + 1], now)), end: now };
}

/** What the next shot has no more goes with it; the rest stays. */
function split(layer: Layer, next: Layer | undefined, end: number): Layer[] {
  const kept = next === undefined ? layer.rows.length : next.first - layer.first;
  const stays = { ...layer, rows: layer.rows.slice(0, kept), until: end };
  const goes = { ...layer, rows: layer.rows.slice(kept), first: layer.first + kept };
  return [stays, goes].filter(({ rows }) => rows.length > 0);
}

function sameRows(before: readonly Row[], after: readonly Row[]): number {
  const differs = before.findIndex((row, index) => plain(row) !== plain(after[index] ?? []));
  return differs === -1 ? before.length : differs;
}

function scrolled(rows: number): number {
  return -Math.max(0, rows - windowRows) * cell.height;
}

function keyframes(
  name: string,
  moments: readonly Moment[],
  end: number,
  style: (moment: Moment) => string,
): string {
  const steps: string[] = [];
  let before = '';
  for (const moment of moments) {
    const now = style(moment);
    if (now !== before) steps.push(`${percent(moment.at, end)}{${now}}`);
    before = now;
  }
  return `@keyframes ${name}{${steps.join('')}to{${before}}}`;
}

function typingRule({ at, keys }: Typing, index: number, end: number): string {
  const done = at + keys * ms.key;
  const shift = (characters: number) => `transform:translateX(${round(characters * cell.width)}px)`;
  const typing = `animation-timing-function:steps(${keys},end)`;
  return `@keyframes t${index}{0%{opacity:1;${shift(0)}}${percent(at, end)}{opacity:1;${shift(0)};${typing}}${percent(done, end)}{opacity:0;${shift(keys)}}to{opacity:0}}`;
}

function layerRule({ from, until }: Layer, index: number, end: number): string {
  const shown = from === 0 ? '0%{opacity:1}' : `0%{opacity:0}${percent(from, end)}{opacity:1}`;
  return `@keyframes l${index}{${shown}${until < end ? `${percent(until, end)}{opacity:0}to{opacity:0}` : 'to{opacity:1}'}}`;
}

function percent(at: number, end: number): string {
  return `${Math.round((at / end) * 1e6) / 1e4}%`;
}
