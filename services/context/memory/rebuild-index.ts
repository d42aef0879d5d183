import type { GraphRecord } from '../record/graph-record.ts';
import { secureDelete } from './secure-delete.ts';

export function rebuildMemoryIndex(record: GraphRecord, _: null): null {
  secureDelete(record);
  record.db.exec("INSERT INTO memory_index (memory_index) VALUES ('rebuild')");
  record.db.exec("INSERT INTO memory_index (memory_index, rank) VALUES ('secure-delete', 1)");
  return null;
}
