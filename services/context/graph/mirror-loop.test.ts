import { expect } from 'chai';
import { silentLogger } from '#kit/log.ts';
import type { Changes, Position } from './changes.ts';
import { type GraphMirror, MirrorLoop, TooMuchAtOnce } from './mirror-loop.ts';

const last = 5_000;
const positionAt = (nodes: number): Position => ({ record: 'r', nodes, edges: 0, deletions: 0 });

/** A record of nodes alone. */
const readers = {
  async ask(_: string, { after, limit }: { after: Position | null; limit: number }) {
    const from = after?.nodes ?? 0;
    const to = Math.min(last, from + limit);
    const nodes = Array.from({ length: to - from }, (_, nth) => ({
      label: 'CoreEntity' as const,
      properties: { id: String(from + nth + 1) },
    }));
    const changes: Changes = {
      ...{ deletions: [], nodes, edges: [] },
      position: positionAt(to),
      complete: to === last,
    };
    return { restart: false, changes, last };
  },
} as unknown as ConstructorParameters<typeof MirrorLoop>[0]['readers'];

/** Takes so many changes at once and no more. */
function mirrorThatTakes(most: () => number) {
  const held: string[] = [];
  const mirror: GraphMirror = {
    lastKnown: null,
    prepare: async () => {},
    position: async () => positionAt(held.length),
    async apply({ nodes }) {
      if (nodes.length > most()) throw new TooMuchAtOnce(`${nodes.length} in one transaction`);
      held.push(...nodes.map(({ properties }) => String(properties.id)));
    },
    clear: async () => void held.splice(0),
    digests: async () => ({ nodes: {}, edges: {} }) as never,
    close: async () => {},
  };
  return { held, mirror };
}

describe('The loop that keeps a mirror up to date', () => {
  it('hands over smaller parts where a batch is too much at once, each change once and in order', async () => {
    const { held, mirror } = mirrorThatTakes(() => 7);
    const loop = new MirrorLoop({ mirror, readers, logger: silentLogger });
    await loop.catchUp();
    expect(held).to.deep.equal(Array.from({ length: last }, (_, nth) => String(nth + 1)));
    await loop.close();
  });

  it('fails where even one change is too much, and goes on from there later', async () => {
    let most = 0;
    const { held, mirror } = mirrorThatTakes(() => most);
    const loop = new MirrorLoop({ mirror, readers, logger: silentLogger });
    const error = await loop.catchUp().catch((thrown) => thrown);
    expect(error).to.be.instanceOf(TooMuchAtOnce);
    expect(held).to.deep.equal([]);
    most = 2_000;
    await loop.catchUp();
    expect(held).to.have.length(last);
    await loop.close();
  });
});
