import type { GraphRecord } from '../record/graph-record.ts';

export function rebuildMemoryIndex(record: GraphRecord, _: null): null {
  record.db.exec("INSERT INTO memory_index (memory_index) VALUES ('rebuild')");
  record.db.exec("INSERT INTO memory_index (memory_index, rank) VALUES ('secure-delete', 1)");
  return null;
}
