import { expect } from 'chai';
import { noteForgotten } from '../../services/context/execution/forgotten-words.ts';
import { openForWriting } from '../../services/context/record/connection.ts';
import { GraphRecord } from '../../services/context/record/graph-record.ts';
import { type MemoryPlace, openMemory } from './context-memory.place.ts';

const run = 'run_0199aabbccddeeff00112233';
const reason = 'it leaks: see mail, really; ask jo';

describe('What a run tells after its words were forgotten', () => {
  let place: MemoryPlace;

  beforeEach(() => {
    place = openMemory();
    const db = openForWriting(place.record.path);
    noteForgotten(new GraphRecord(db), run, [reason]);
    db.close();
  });

  afterEach(() => place.close());

  async function contentOf(id: string): Promise<string> {
    const lines = (await place.lines()).map((line) => JSON.parse(line) as { id: string; content: string });
    return lines.find((line) => line.id === id)!.content;
  }

  for (const [content, kept] of [
    [`mira rejected apply_patch: ${reason}`, 'mira rejected apply_patch'],
    [`mira rejected apply_patch: ${reason}; jo approved x`, 'mira rejected apply_patch; jo approved x'],
    [
      `demo/hello#4: planned. mira rejected a: ${reason}. jo rejected b: ${reason}.`,
      'demo/hello#4: planned. mira rejected a. jo rejected b.',
    ],
    [`${reason}`, '[forgotten]'],
    ['mira rejected apply_patch: it leaks', 'mira rejected apply_patch: it leaks'],
  ] as const)
    it(`is kept without them: ${JSON.stringify(content)}`, async () => {
      const said = { layer: 'semantic', content, key: `${run}/decision/1` };
      const { id } = await place.tell(said);
      expect(await contentOf(id)).to.equal(kept);
      expect(await place.tell(said)).to.include({ id, created: false });
    });

  it('leaves the same words of others alone', async () => {
    const content = `mira rejected apply_patch: ${reason}`;
    for (const key of ['run_0199aabbccddeeff00445566/decision/1', 'mine']) {
      const { id } = await place.tell({ layer: 'semantic', content: `${key} ${content}`, key });
      expect(await contentOf(id)).to.include(reason);
    }
  });
});
