import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { isQuick } from '../needs.ts';
import { openMemory } from './context-memory.place.ts';

const recorder = fileURLToPath(new URL('./context-memory.recorder.ts', import.meta.url));
const rounds = isQuick ? 5 : 20;

describe('A memory whose process is killed', () => {
  it(`has every acknowledged memory afterwards, ${rounds} times`, async () => {
    const state = temporaryFolder();
    const acknowledged = new Map<string, string>();
    for (let round = 1; round <= rounds; round++) {
      await recordUntilKilled(state, round, acknowledged);
      const place = openMemory(state);
      expect(place.record.recoveredNow).to.equal(false);
      const present = new Map(
        (await place.lines()).map((line) => JSON.parse(line)).map(({ id, content }) => [id, content]),
      );
      for (const [id, content] of acknowledged)
        expect(present.get(id), `${id} of round ${round}`).to.equal(content);
      // What was sent and not acknowledged is there as a whole or not at all.
      expect(await place.texts(`round ${round}`, { limit: 100 })).not.to.be.empty;
      expect(broken(place.record.path)).to.deep.equal([]);
      await place.close();
    }
    expect(acknowledged.size).to.be.greaterThan(rounds * 5);
  });
});

async function recordUntilKilled(
  state: string,
  round: number,
  acknowledged: Map<string, string>,
): Promise<void> {
  const child = spawn(process.execPath, [recorder, state, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const enough = 5 + ((round * 37) % 90);
  let seen = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [id, content] = JSON.parse(line);
    acknowledged.set(id, content);
    if (++seen === enough) child.kill('SIGKILL');
  }
  const [, signal] = await ended;
  expect(signal, `the recorder of round ${round} ended by itself`).to.equal('SIGKILL');
}

/** Rows of one table that lack their part in another, and an index that does not fit its text. */
function broken(path: string): unknown[] {
  const db = new DatabaseSync(path);
  db.exec("INSERT INTO memory_index (memory_index, rank) VALUES ('integrity-check', 1)");
  const found = db
    .prepare(
      `SELECT id FROM nodes WHERE label = 'Memory' AND node NOT IN (SELECT memory FROM memories)
       UNION ALL SELECT id FROM memories WHERE memory NOT IN (SELECT memory FROM memory_sightings)
       UNION ALL SELECT id FROM memories WHERE fact IS NOT NULL
         AND (SELECT count(*) FROM memories o WHERE o.fact = memories.fact AND o.valid_to > '9999') <> 1`,
    )
    .all();
  db.close();
  return found;
}
