import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { holdFolder } from './lock.ts';

const thing = { code: 'toy_held', name: 'the toy' };
const module = new URL('./lock.ts', import.meta.url).href;

describe('A folder that one process holds', () => {
  let folder: string;

  beforeEach(() => {
    folder = temporaryFolder();
  });

  it('is refused to a second holder, with the name of the first and what to do', () => {
    const hold = holdFolder(folder, thing);
    expect(() => holdFolder(folder, thing))
      .to.throw(`the toy in ${folder} is held by process ${process.pid} on `)
      .that.includes({ code: 'toy_held', status: 409 })
      .with.property('hint')
      .that.contains('--home');
    hold.release();
  });

  it('is free after its release, which was in order', () => {
    holdFolder(folder, thing).release();
    expect(existsSync(join(folder, 'holder.json'))).to.equal(false);
    const again = holdFolder(folder, thing);
    expect(again.endedWell).to.equal(true);
    again.release();
  });

  it('is free after it was abandoned, and the next holder learns of it', () => {
    holdFolder(folder, thing).abandon();
    const again = holdFolder(folder, thing);
    expect(again.endedWell).to.equal(false);
    again.release();
  });

  it('is free as soon as its holder is killed, and the next holder learns of it', async () => {
    const child = await heldElsewhere(folder);
    expect(() => holdFolder(folder, thing)).to.throw(`process ${child.pid} on `);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    const again = holdFolder(folder, thing);
    expect(again.endedWell).to.equal(false);
    again.release();
  });

  it('is refused also where nobody can say who holds it', () => {
    const hold = holdFolder(folder, thing);
    writeFileSync(join(folder, 'holder.json'), 'torn');
    expect(() => holdFolder(folder, thing))
      .to.throw('is held by another process')
      .with.property('code', 'toy_held');
    hold.release();
  });
});

async function heldElsewhere(folder: string): Promise<ReturnType<typeof fork>> {
  const source = join(temporaryFolder(), 'holder.mjs');
  writeFileSync(
    source,
    `import { holdFolder } from ${JSON.stringify(module)};
    holdFolder(${JSON.stringify(folder)}, ${JSON.stringify(thing)});
    process.send('held'); setInterval(() => {}, 1_000);`,
  );
  const child = fork(source, { execArgv: [] });
  await once(child, 'message');
  return child;
}
