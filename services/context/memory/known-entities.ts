import { InvalidInput, Refused } from '#kit/errors.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { jaccard, trigrams } from './normalise.ts';

/** @throws Refused (`entity_unknown`) naming the nearest; InvalidInput where a memory would be about a memory */
export function checkEntities(record: GraphRecord, about: readonly string[]): void {
  const find = record.prepare('SELECT label FROM nodes WHERE id = ?');
  for (const [index, id] of about.entries()) {
    const found = find.get(id) as { label: string } | undefined;
    const pointer = `/about/${index}`;
    if (found === undefined) throw unknownEntity(record, id, pointer);
    if (found.label !== 'Memory') continue;
    const detail = `is ${JSON.stringify(id)}: must be the id of an entity; a memory is not about memories`;
    throw new InvalidInput('invalid_input', `the memory: ${pointer} ${detail}`, {
      errors: [{ pointer, detail }],
    });
  }
}

function unknownEntity(record: GraphRecord, id: string, pointer: string): Refused {
  const near = nearIds(record, id);
  const rule =
    near.length === 0
      ? 'there is nothing like it here; ids are those that search gives'
      : `near it ${near.length === 1 ? 'is' : 'are'} ${near.join(', ')}`;
  const detail = `no entity has the id ${JSON.stringify(id)}; ${rule}`;
  return new Refused('entity_unknown', detail, { facts: { id, near }, errors: [{ pointer, detail }] });
}

const shown = 3;
const leastLikeness = 0.3;

/** Ids like one that nothing has, the likest first: its neighbours in order, and what has its ending as a path or name. */
export function nearIds(record: GraphRecord, id: string): string[] {
  const own = id.includes(':') ? id.slice(id.indexOf(':') + 1) : id;
  const path = own.includes(':') ? own.slice(own.indexOf(':') + 1) : own;
  const candidates = [
    ...record
      .prepare("SELECT id FROM nodes WHERE id < ? AND label <> 'Memory' ORDER BY id DESC LIMIT 40")
      .all(id),
    ...record.prepare("SELECT id FROM nodes WHERE id > ? AND label <> 'Memory' ORDER BY id LIMIT 40").all(id),
    ...record.prepare("SELECT id FROM nodes WHERE kind = 'repository' ORDER BY repository LIMIT 200").all(),
    ...record
      .prepare(
        `SELECT n.id FROM (SELECT DISTINCT repository FROM nodes WHERE kind = 'repository' LIMIT 200) r
         JOIN nodes n ON n.repository = r.repository AND n.path = ? WHERE n.label <> 'Memory' LIMIT 40`,
      )
      .all(path),
  ] as { id: string }[];
  const wanted = trigrams(id.toLowerCase());
  const scored = [...new Set(candidates.map((row) => row.id))].map((candidate) => ({
    candidate,
    likeness: Math.max(
      jaccard(wanted, trigrams(candidate.toLowerCase())),
      candidate.endsWith(`:${path}`) || candidate.endsWith(`/${path}`) ? 0.9 : 0,
    ),
  }));
  return scored
    .filter(({ likeness }) => likeness >= leastLikeness)
    .sort((a, b) => b.likeness - a.likeness || a.candidate.localeCompare(b.candidate))
    .slice(0, shown)
    .map(({ candidate }) => candidate);
}
