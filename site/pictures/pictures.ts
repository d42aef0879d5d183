import { drawRows, frame } from './draw.ts';
import { movingPicture } from './moving.ts';
import { recordLoop, recordPlan } from './scene.ts';

export interface Picture {
  /** Below the site's `public/`. */
  readonly name: string;
  readonly svg: string;
}

/** The pictures of README and home page, of what our programs print in a real terminal now. */
export async function takePictures(): Promise<Picture[]> {
  const rows = (await recordPlan()).at(-1)!;
  const plan = frame({
    rows: rows.length,
    title: '~/hello',
    describedAs: 'core plan 1: seven proposed actions with their risk, and the commands to look and approve',
    body: drawRows(rows),
  });
  const loop = movingPicture(
    await recordLoop(),
    'core run 1 in a terminal: plan, diff, approval of both gates, pull request; then core undo 1 takes it back',
  );
  return [
    { name: 'plan.svg', svg: plan },
    { name: 'loop.svg', svg: loop },
  ];
}

/** A picture without what differs from one recording to the next: identifiers, times, ports. */
export function settled(svg: string): string {
  return svg
    .replaceAll(/ textLength="[\d.]+"/g, '')
    .replaceAll(/(?<=<text [^>]*>)[^<]+/g, (text) =>
      text
        .replaceAll(/\b\d+(?:\.\d+)? m?s\b/g, 'TIME')
        .replaceAll(/(?<=comment |127\.0\.0\.1:)\d+/g, 'NUMBER')
        .replaceAll(/(?<![a-z0-9])[0-9a-f]{3,}(?![a-z0-9])/g, 'ID')
        .replace(/^[0-9a-f]{1,2}$/, 'ID'),
    );
}
