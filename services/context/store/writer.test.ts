import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { prepareRecording } from '../memory/prepare-recording.ts';
import { openForWriting } from '../record/connection.ts';
import { Writer } from './access.ts';
import { migrate } from './schema.ts';

describe('A writer', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const repository = (name: string) => ({ repository: name, path: `/${name}`, at });
  const waits: number[] = [];
  let idle: PromiseWithResolvers<void>;
  let writer: Writer;

  beforeEach(() => {
    const path = join(temporaryFolder(), 'record.sqlite');
    const db = openForWriting(path);
    migrate(db);
    db.close();
    waits.length = 0;
    idle = Promise.withResolvers();
    writer = new Writer(path, {
      idle(longest) {
        waits.push(longest);
        return idle.promise;
      },
    });
  });

  it('does what can wait while nobody reads, in its order, and what somebody waits for at once', async () => {
    const done: string[] = [];
    const write = (name: string, durability: 'full' | 'normal') =>
      writer.run('beginIngestion', repository(name), durability).then(() => done.push(name));
    const waiting = [write('first', 'normal'), write('second', 'normal')];
    await write('urgent', 'full');
    expect(done).to.deep.equal(['urgent']);
    idle.resolve();
    await Promise.all(waiting);
    expect(done).to.deep.equal(['urgent', 'first', 'second']);
    expect(waits).to.have.length(2);
    expect(Math.max(...waits)).to.be.within(1, 1_000);
    await writer.close();
  });

  it('commits what comes together, but for what is refused, which takes nothing else back', async () => {
    const remember = (about: string[]) => {
      const content = `about ${about.length}`;
      return writer.run('recordMemory', prepareRecording({ layer: 'semantic', content, about }));
    };
    const outcomes = await Promise.allSettled([remember([]), remember(['service:none']), remember([])]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    await writer.close();
  });

  it('writes nothing after it was closed, whether it ever wrote or not', async () => {
    await writer.close();
    const late = await writer.run('beginIngestion', repository('late'), 'full').catch((error) => error);
    expect(late).to.be.an('error').with.property('code', 'thread_ended');
  });

  it('does what waits before it closes', async () => {
    const waiting = writer.run('beginIngestion', repository('last'), 'normal');
    const closed = writer.close();
    idle.resolve();
    await Promise.all([waiting, closed]);
  });
});
