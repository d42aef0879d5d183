import { expect } from 'chai';
import { Execution } from '../../services/context/execution/execution.ts';
import { noteForgotten } from '../../services/context/execution/execution-commands.ts';
import { openForWriting } from '../../services/context/record/connection.ts';
import { GraphRecord } from '../../services/context/record/graph-record.ts';
import { at, rejected, sampleOutcome, samplePlan } from '../fixtures/context/sample-execution.ts';
import { type MemoryPlace, openMemory } from './context-memory.place.ts';

const run = 'run_0199aabbccddeeff00112233';
const reason = 'it leaks: see mail, really; ask jo';

describe('What a run reports after its words were forgotten', () => {
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
      const { id } = await place.remember(said);
      expect(await contentOf(id)).to.equal(kept);
      expect(await place.remember(said)).to.include({ id, created: false });
    });

  it('does not come back with a later decision or summary of the run', async () => {
    const { writer, readers, memory } = place;
    const execution = new Execution({ writer, readers, memory });
    await execution.recordPlan(samplePlan());
    await execution.recordOutcome(sampleOutcome(1, 9, [rejected('no zanzibar'), rejected('no zanzibar')]));
    expect((await place.lines()).join()).to.include('zanzibar');
    await memory.forget({ id: undefined, source: 'mira', reason: undefined }, 'mira');
    const before = { by: 'mira', at: at(120), reason: 'no zanzibar' };
    const approved = { state: 'pending' as const, decided_at: at(130), earlier_rejections: [before] };
    const summary = 'The run ended. mira rejected apply_patch: no zanzibar. validation passed.';
    const later = sampleOutcome(1, 12, [approved, rejected('no zanzibar')], { summary });
    expect(await execution.recordOutcome(later)).to.deep.include({ problems: [] });
    const lines = (await place.lines()).join();
    expect(lines).to.include('validation passed').and.not.include('zanzibar');
  });

  it('leaves the same words of others alone', async () => {
    const content = `mira rejected apply_patch: ${reason}`;
    for (const key of ['run_0199aabbccddeeff00445566/decision/1', 'mine']) {
      const { id } = await place.remember({ layer: 'semantic', content: `${key} ${content}`, key });
      expect(await contentOf(id)).to.include(reason);
    }
  });
});
