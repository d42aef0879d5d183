import { MovedSchema } from '#kit/storage-move/moved-schema.ts';
import type { MoveOptions, OpenMoveParts } from '#kit/storage-move/part.ts';
import { bridgeSchema, holdQueueFile } from './schema.ts';

/** Everything that the bridge keeps. Claims of events end with their leases on the other side. @throws Conflict (`queue_held`) */
export const openMoveParts: OpenMoveParts = async (options) => [new MovedQueue(options)];

class MovedQueue extends MovedSchema {
  readonly #hold: ReturnType<typeof holdQueueFile>;

  constructor(options: MoveOptions) {
    const hold = holdQueueFile(options.folders.state);
    super(
      { name: 'rows of the queue', schema: bridgeSchema, notMoved: ['bridge_ticks', 'bridge_delivery_lock'] },
      options,
    );
    this.#hold = hold;
  }

  override async close(): Promise<void> {
    await super.close();
    this.#hold.release();
  }
}
