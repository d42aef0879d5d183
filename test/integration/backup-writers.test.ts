import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { backup } from '../../services/supervisor/backup/backup.ts';
import { restore } from '../../services/supervisor/backup/restore.ts';
import { sampleRequest } from '../contract/run-store.sample.ts';
import { foldersIn, makeSampleHome, type SampleHome } from '../fixtures/backup/sample-home.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';

const writer = fileURLToPath(new URL('../fixtures/backup/busy-writer.ts', import.meta.url));
const silent = { begin() {}, add() {}, end() {} };
const { signal } = new AbortController();

describe('a backup while others write', () => {
  let sample: SampleHome;
  const writers: ChildProcess[] = [];

  before(async () => {
    sample = await makeSampleHome();
    const { folders, store } = sample;
    const { run_id } = await store.create(sampleRequest({ number: 2 }));
    for (const run of [sample.runId, run_id]) {
      const child = spawn(
        process.execPath,
        ['--disable-warning=ExperimentalWarning', writer, folders.state, run],
        {
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
      writers.push(child);
      await once(child.stdout!, 'data');
    }
  });
  after(async () => {
    await Promise.all(
      writers.map((child) => {
        const ended = once(child, 'close');
        child.kill('SIGKILL');
        return ended;
      }),
    );
    sample.close();
  });

  it('shows each run and each database as of one moment', async () => {
    for (let round = 0; round < 3; round++) {
      const { file, manifest } = await backup({
        ...{ folders: sample.folders, target: temporaryFolder(), withSecrets: false, withMirrors: false },
        ...{ version: '0.1.0', progress: silent, signal },
      });
      const home = join(temporaryFolder(), 'home');
      await restore({ file, folders: foldersIn(home), stateOnly: false, progress: silent, signal });
      const record = new DatabaseSync(join(home, 'state/context/record.sqlite'));
      expect({ ...record.prepare('PRAGMA integrity_check').get() }).to.deep.equal({ integrity_check: 'ok' });
      const facts = record.prepare('SELECT seq FROM facts WHERE run_id = ?');
      const store = runStoreIn(join(home, 'state'));
      const { runs } = await store.list({ limit: 10 });
      expect(runs).to.have.length(2);
      let events = 0;
      for (const { run_id } of runs) {
        const { problems } = await store.verify(run_id);
        expect(problems.filter(({ where }) => !where.includes('artifacts/'))).to.deep.equal([]);
        const log = await store.events(run_id);
        events += log.length;
        const known = new Set(facts.all(run_id).map(({ seq }) => Number(seq)));
        expect(known).not.to.be.empty;
        for (const seq of known) expect(log.length, 'a fact is newer than its run').to.be.at.least(seq);
        const said = log.flatMap(({ type, data }) =>
          type === 'cancel_requested' ? [Number(data.reason)] : [],
        );
        expect(
          said.filter((seq) => !known.has(seq)),
          'a run knows of a fact that is not there',
        ).to.deep.equal([]);
      }
      expect(manifest.counts).to.include({ runs: 2, events });
      store.close();
      record.close();
    }
  });
});
