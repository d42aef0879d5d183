import type { DatabaseSync } from 'node:sqlite';
import type { MemoryDetail } from '#kit/contracts/context/memory.ts';
import { NotFound } from '#kit/errors.ts';
import { lookUpMemories } from './lookup/lookup.ts';
import { memoryLines, memoryOrder } from './memory-line.ts';
import { memoryById, memoryFacts } from './memory-row.ts';

function readMemory(db: DatabaseSync, id: string): MemoryDetail {
  const row = memoryById(db, id);
  if (row !== null) return { ...memoryFacts(db, row), content: row.content };
  const gone = db.prepare('SELECT forgotten_at FROM forgotten_memories WHERE id = ?').get(id) as
    | { forgotten_at: string }
    | undefined;
  const what = JSON.stringify(id);
  if (gone === undefined) throw new NotFound('memory_not_found', `no memory has the id ${what}`);
  throw new NotFound(
    'memory_forgotten',
    `${what} was forgotten at ${gone.forgotten_at}; nothing of it is kept`,
  );
}

/** True if bytes of forgotten memories may still be in the files. */
function hasUnwiped(db: DatabaseSync, _: null): boolean {
  return db.prepare('SELECT 1 FROM forgotten_memories WHERE wiped = 0 LIMIT 1').get() !== undefined;
}

export const memoryQueries = { lookUpMemories, readMemory, memoryOrder, memoryLines, hasUnwiped } as const;
