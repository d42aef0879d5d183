import { hostname } from 'node:os';
import { join } from 'node:path';
import { canonicalJson, sha256 } from '#kit/digest.ts';
import { prepareFolder } from '#kit/folders.ts';
import { withFileLock } from '#kit/storage/lock.ts';
import { differs, type MoveOptions, type MovePart } from '#kit/storage-move/part.ts';
import { changeRecords, lookAtRecords } from '#kit/tokens/postgres-records.ts';
import { joinRecords } from '#kit/tokens/shared-records.ts';
import type { TokenRecord } from '#kit/tokens/token.ts';
import { readRegistry, writeRegistry } from '#kit/tokens/token-files.ts';

/**
 * What is known of tokens. Their texts stay in their files on each host, as does registry.json: with a database it lists what a host
 * made itself. On the way to files, tokens that other hosts made for people and programs come too, not those of their services.
 */
export function tokensPart({ folders, to, database }: MoveOptions): MovePart {
  const own = (): readonly TokenRecord[] => readRegistry(folders.registry)?.records ?? [];
  const shared = async () => (await lookAtRecords(database, null)).records ?? [];
  return {
    name: 'tokens',
    count,
    prepare: async () => {},
    copy,
    compare,
    foreignFiles: async () => null,
    close: async () => {},
  };

  async function wanted(): Promise<readonly TokenRecord[]> {
    if (to === 'postgres') return own();
    const mine = new Set(own().map((record) => record.sha256));
    return (await shared()).filter((record) => record.kind !== 'service' || mine.has(record.sha256));
  }

  async function count(): Promise<number> {
    return (await wanted()).length;
  }

  async function copy(done: (entries: number) => void): Promise<void> {
    const records = await wanted();
    if (to === 'postgres') {
      // Those that are there already keep their place.
      await changeRecords(database, (all) => {
        const ours = new Set(records.map((record) => record.sha256));
        return joinRecords(
          all.filter((record) => ours.has(record.sha256)),
          records,
          hostname(),
        ).records;
      });
    } else {
      prepareFolder(folders.registry, 'config');
      withFileLock(join(folders.registry, '.lock'), () => {
        const before = own();
        const after = registryOf(before, records);
        if (canonicalJson(after) !== canonicalJson(before)) writeRegistry(folders.registry, after);
      });
    }
    done(records.length);
  }

  async function compare(done: (entries: number) => void) {
    const records = await wanted();
    const there = new Map(
      (to === 'postgres' ? await shared() : own()).map((record) => [record.sha256, canonical(record)]),
    );
    const lacking = records.find((record) => there.get(record.sha256) !== canonical(record));
    if (lacking !== undefined) throw differs('tokens', `${lacking.name} is not the same on both sides`);
    done(records.length);
    const texts = records.map(canonical).toSorted();
    return { entries: records.length, sha256: sha256(texts.map((text) => `${text}\n`).join('')) };
  }
}

/** Those that are there keep their place; what is not in the database opened nothing, and gives way to one of its name. */
function registryOf(before: readonly TokenRecord[], shared: readonly TokenRecord[]): TokenRecord[] {
  const bySha = new Map(shared.map((record) => [record.sha256, record]));
  const names = new Set(shared.map(({ name }) => name));
  const known = new Set(before.map((record) => record.sha256));
  const kept = before.filter((record) => bySha.has(record.sha256) || !names.has(record.name));
  return [
    ...kept.map((record) => {
      const there = bySha.get(record.sha256) ?? record;
      return canonical(there) === canonical(record) ? record : withoutHost(there);
    }),
    ...shared.filter((record) => !known.has(record.sha256)).map(withoutHost),
  ];
}

function withoutHost({
  name,
  kind,
  scopes,
  sha256: hash,
  created,
  expires,
  revoked,
  former,
}: TokenRecord): TokenRecord {
  return { name, kind, scopes: [...scopes], sha256: hash, created, expires, revoked, former };
}

function canonical(record: TokenRecord): string {
  const time = (text: string | null) => (text === null ? null : new Date(text).toISOString());
  const { created, expires, revoked, scopes, former = [] } = record;
  return canonicalJson({
    ...withoutHost(record),
    former,
    ...{ created: time(created), expires: time(expires), revoked: time(revoked) },
    scopes: [...scopes],
  });
}
