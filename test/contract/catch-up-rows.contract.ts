import { expect } from 'chai';
import type { BridgeStorage } from '../../services/bridge/bridge-storage.ts';
import { EventQueue } from '../../services/bridge/queue/event-queue.ts';
import { queueConfig } from '../fixtures/bridge/queue-config.ts';
import type { StoragePlace } from '../fixtures/bridge/storage-place.ts';
import { eventOf, sampleEvent } from './bridge-queue.contract.ts';

const at = (text: string) => Date.parse(`${text}Z`);
const hello = { forge: 'work', owner: 'demo', repo: 'hello' };

/** How far repositories were asked, wherever it is kept. */
export function catchUpRowsContract(
  name: string,
  makePlace: () => StoragePlace | Promise<StoragePlace>,
): void {
  describe(`how far forges were asked, in ${name}`, () => {
    let place: StoragePlace;
    let storage: BridgeStorage;

    beforeEach(async () => {
      place = await makePlace();
      await place.set(at('2026-05-04T12:00:00'));
      storage = place.open();
    });
    afterEach(() => storage.close());

    it('begins at the first delivery of a repository, and then goes forward alone', async () => {
      const queue = new EventQueue(storage, queueConfig);
      const delivery = (number: number, occurred_at: string, source: 'gitea' | 'schedule' = 'gitea') =>
        queue.accept(
          eventOf(number, {
            ...{ source, target: { ...hello, number } },
            content: { ...sampleEvent.content, occurred_at },
          }),
        );
      await delivery(1, '2026-05-04T10:00:00Z');
      await delivery(2, '2026-05-04T09:00:00Z');
      await delivery(3, '2026-05-04T08:00:00Z', 'schedule');
      expect(await storage.catchUps.known()).to.deep.equal([{ ...hello, since: at('2026-05-04T09:00:00') }]);
      await storage.catchUps.passed(hello, at('2026-05-04T11:00:00'));
      await storage.catchUps.passed(hello, at('2026-05-04T10:30:00'));
      expect(await storage.catchUps.known()).to.deep.equal([{ ...hello, since: at('2026-05-04T11:00:00') }]);
    });

    it('is never ahead of the clock, and comes back where the clock had been', async () => {
      await storage.catchUps.passed(hello, at('2030-01-01T00:00:00'));
      expect(await storage.catchUps.known()).to.deep.equal([{ ...hello, since: place.now() }]);
      await place.set(at('2026-05-04T10:00:00'));
      expect(await storage.catchUps.known()).to.deep.equal([{ ...hello, since: place.now() }]);
      await storage.catchUps.passed(hello, at('2026-05-04T09:00:00'));
      expect(await storage.catchUps.known()).to.deep.equal([{ ...hello, since: at('2026-05-04T09:00:00') }]);
    });
  });
}
