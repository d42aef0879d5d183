import { expect } from 'chai';
import { PieceQueue } from './piece-queue.ts';

function scene(idleMs = 1000) {
  const said: string[] = [];
  const source = {
    pause: () => void said.push('pause'),
    resume: () => void said.push('resume'),
    abort: () => void said.push('abort'),
  };
  return { said, queue: new PieceQueue(source, idleMs, () => new Error('late')) };
}

describe('The queue of pieces', () => {
  it('stops the sender while too much waits', async () => {
    const { said, queue } = scene();
    queue.push(Buffer.alloc(60_000, 'a'));
    expect(said).to.deep.equal([]);
    queue.push(Buffer.alloc(60_000, 'b'));
    expect(said).to.deep.equal(['pause']);
    expect((await queue.next()).value).to.have.length(60_000);
    expect(said).to.deep.equal(['pause', 'resume']);
  });

  it('gives out the first piece alone, and then all that came as one', async () => {
    const { queue } = scene();
    for (const piece of ['a', 'b', 'c']) queue.push(Buffer.from(piece));
    expect(String((await queue.next()).value)).to.equal('a');
    expect(String((await queue.next()).value)).to.equal('bc');
    for (const piece of ['d', 'e']) queue.push(Buffer.from(piece));
    expect(String((await queue.next()).value)).to.equal('de');
  });

  it('gives out what came before an error', async () => {
    const { queue } = scene();
    queue.push(Buffer.from('a'));
    queue.fail(new Error('broken'));
    expect(String((await queue.next()).value)).to.equal('a');
    expect(await queue.next().catch((error) => error.message)).to.equal('broken');
  });

  it('limits the wait for the sender, and not for the reader', async () => {
    const { said, queue } = scene(20);
    queue.push(Buffer.from('a'));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(String((await queue.next()).value)).to.equal('a');
    expect(await queue.next().catch((error) => error.message)).to.equal('late');
    expect(said).to.deep.equal(['abort']);
  });

  it('ends the sender when the reader leaves', async () => {
    const { said, queue } = scene();
    await queue.return();
    await queue.return();
    expect(said).to.deep.equal(['abort']);
    expect((await queue.next()).done).to.equal(true);
  });
});
