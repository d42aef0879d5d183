import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { Link } from '../model/state.ts';
import { type Row, span } from '../screen/cell.ts';

/** The whole screen while there is nothing else to show. */
export function troubleRows(
  link: Link & { readonly state: 'trouble' },
  { program }: { readonly program: string },
): readonly Row[] {
  return [
    [],
    [span('  '), span(visibleLine(link.message), { bold: true })],
    [],
    [span(`  ${visibleLine(link.hint)}`)],
    [],
    [
      span(`  This screen goes on by itself as soon as it answers. q ends ${visibleLine(program)}.`, {
        color: 'gray',
      }),
    ],
  ];
}
