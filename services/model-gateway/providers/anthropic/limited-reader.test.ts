import { expect } from 'chai';
import { LimitedReader } from './limited-reader.ts';

describe('A reader with a limit on each wait', () => {
  it('gives what comes, and the error of what is read', async () => {
    let controller: ReadableStreamDefaultController<number> | undefined;
    const stream = new ReadableStream<number>({
      start(given) {
        controller = given;
      },
    });
    const reader = new LimitedReader(stream.getReader(), { ms: 60_000, late: () => new Error('late') });
    controller!.enqueue(1);
    expect(await reader.read()).to.deep.equal({ done: false, value: 1 });
    controller!.error(new Error('broken'));
    expect(await reader.read().catch((error) => error.message)).to.equal('broken');
    reader.stop();
  });

  it('gives up a part that does not come, and counts no time in which nobody waits', async () => {
    let late = 0;
    const stream = new ReadableStream<number>({ start: (controller) => controller.enqueue(1) });
    const reader = new LimitedReader(stream.getReader(), {
      ms: 10,
      late() {
        late++;
        return new Error('late');
      },
    });
    expect((await reader.read()).value).to.equal(1);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(late).to.equal(0);
    expect(await reader.read().catch((error) => error.message)).to.equal('late');
    expect(late).to.equal(1);
  });

  it('waits on while there are other signs of life', async () => {
    const stream = new ReadableStream<number>();
    let heardAt = performance.now() + 100;
    const late = () => new Error('late');
    const reader = new LimitedReader(stream.getReader(), { ms: 10, late, heardAt: () => heardAt });
    const until = heardAt;
    expect(await reader.read().catch((error) => error.message)).to.equal('late');
    expect(performance.now()).to.be.at.least(until);
    heardAt = 0;
    expect(await reader.read().catch((error) => error.message)).to.equal('late');
  });
});
