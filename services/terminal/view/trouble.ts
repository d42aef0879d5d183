import { visibleLine } from '#kit/cli/terminal-text.ts';
import { type Row, type Span, span, wrapRow } from '../screen/cell.ts';
import type { Link } from '../state/state.ts';

/** The whole screen while there is nothing else to show. */
export function troubleRows(
  link: Link & { readonly state: 'trouble' },
  columns: number,
  { program }: { readonly program: string },
): readonly Row[] {
  const end = `This screen goes on by itself as soon as it answers. q ends ${visibleLine(program)}.`;
  return [
    [],
    ...indented(span(visibleLine(link.message), { bold: true }), columns),
    [],
    ...indented(span(visibleLine(link.hint)), columns),
    [],
    ...indented(span(end, { color: 'gray' }), columns),
  ];
}

function indented(text: Span, columns: number): readonly Row[] {
  const lines = wrapRow([text], Math.max(1, columns - 4), true);
  return lines.map((line) => [span('  '), ...line]);
}
