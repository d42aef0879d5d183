import { MovedRows, type MovedTable, type Row } from '#kit/storage-move/moved-tables.ts';
import type { MoveOptions, MovePart, OpenMoveParts } from '#kit/storage-move/part.ts';
import { continueNumbers, sameColumns } from '#kit/storage-move/same-columns.ts';
import { takenUpBySync } from './queue/stored-event.ts';
import { openBridgeDatabase } from './storage/sqlite/database.ts';

const events = sameColumns({
  name: 'events of the queue',
  sqlite: 'events',
  postgres: 'bridge_events',
  key: ['seq'],
  columns: {
    ...{ seq: 'bigint', event_id: 'text', source: 'text', body_sha256: 'text', issue_sha256: 'text' },
    ...{ facts: 'text', target: 'text', state: 'text', received_at: 'bigint', changed_at: 'bigint' },
    ...{ attempts: 'bigint', generation: 'bigint', due_at: 'bigint', run_id: 'text' },
    ...{ reason_code: 'text', reason: 'text' },
  },
  derived: {
    columns: {
      ...{ turn: 'integer', taken_up_by_sync: 'boolean', forge: 'text', owner: 'text', repo: 'text' },
      occurred_at: 'bigint',
    },
    values: ofEvent,
  },
  finish: continueNumbers('bridge_events'),
});

const deliveries = sameColumns({
  name: 'reports to dashboards',
  sqlite: 'deliveries',
  postgres: 'bridge_deliveries',
  key: ['seq'],
  columns: {
    ...{ seq: 'bigint', dashboard: 'text', run_id: 'text', status: 'text', body: 'text', state: 'text' },
    ...{ changed_at: 'bigint', attempts: 'bigint', due_at: 'bigint', reason_code: 'text', reason: 'text' },
  },
  derived: { columns: { run_updated_at: 'text', created_at: 'bigint' }, values: ofDelivery },
  finish: continueNumbers('bridge_deliveries'),
});

const schedules = sameColumns({
  name: 'schedules',
  sqlite: 'schedules',
  postgres: 'bridge_schedules',
  key: ['name'],
  columns: { name: 'text', evaluated_until: 'bigint', result: 'text' },
});

const catchUps = sameColumns({
  name: 'repositories caught up with',
  sqlite: 'catch_ups',
  postgres: 'bridge_catch_ups',
  key: ['forge', 'owner', 'repo'],
  columns: { forge: 'text', owner: 'text', repo: 'text', until: 'bigint' },
});

/** The turn of an event only has to rise with those of its issue: its own number does, and no other can have it. */
function ofEvent({ seq, facts }: Row) {
  const { target, by, content } = JSON.parse(String(facts)) as {
    readonly target?: { readonly forge?: string; readonly owner: string; readonly repo: string } | null;
    readonly by?: string;
    readonly content?: { readonly occurred_at?: string };
  };
  const { forge = null, owner = null, repo = null } = target ?? {};
  const occurred = Date.parse(content?.occurred_at ?? '');
  return {
    turn: target == null ? null : (seq as number),
    taken_up_by_sync: by === takenUpBySync,
    ...{ forge, owner, repo },
    occurred_at: Number.isNaN(occurred) ? null : occurred,
  };
}

function ofDelivery({ body, changed_at }: Row) {
  const { run, observed_at } = JSON.parse(String(body)) as {
    readonly run?: { readonly updated_at?: string };
    readonly observed_at?: string;
  };
  const observed = Date.parse(observed_at ?? '');
  return {
    run_updated_at: run?.updated_at ?? '',
    created_at: Number.isNaN(observed) ? (changed_at as number) : observed,
  };
}

/** Everything that the bridge keeps. What a bridge was processing is pending again, as after its end. */
export const openMoveParts: OpenMoveParts = async (options) => {
  const files = openBridgeDatabase(options.folders.state);
  const side = { path: files.path, writer: files.db };
  const part = (table: MovedTable): MovePart => new MovedRows(table, side, options);
  return [
    new Queue(events, side, options, () => files.close()),
    ...[deliveries, schedules, catchUps].map(part),
  ];
};

class Queue extends MovedRows {
  readonly #options: MoveOptions;
  readonly #close: () => void;

  constructor(
    table: MovedTable,
    side: ConstructorParameters<typeof MovedRows>[1],
    options: MoveOptions,
    close: () => void,
  ) {
    super(table, side, options);
    this.#options = options;
    this.#close = close;
  }

  override async prepare(): Promise<void> {
    if (this.#options.to === 'postgres') return;
    for (const table of ['bridge_events', 'bridge_deliveries'])
      await this.#options.database.query(
        `UPDATE ${table} SET state = 'pending', due_at = coalesce(due_at, changed_at), claim = NULL, claimed_until = NULL
         WHERE state = 'processing'`,
      );
  }

  override async close(): Promise<void> {
    this.#close();
  }
}
