import type { GraphRecord } from '../record/graph-record.ts';
import { completeSignatures } from './signatures.ts';

export function rebuildMemoryIndex(record: GraphRecord, _: null): null {
  record.db.exec("INSERT INTO memory_index (memory_index) VALUES ('rebuild')");
  record.db.exec("INSERT INTO memory_index (memory_index, rank) VALUES ('secure-delete', 1)");
  completeSignatures(record);
  return null;
}
