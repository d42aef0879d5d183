/** What lies in a run folder beside its views. */
export const logName = 'events.jsonl';
export const artifactsName = 'artifacts';
export const tombstoneName = 'tombstone.json';
