import * as t from 'io-ts';
import { mergedDocument, readConcernDocument } from '#kit/config/concern.ts';
import { decode } from '#kit/decode.ts';
import type { Folders } from '#kit/folders.ts';

/** The part of config/agents.json that bounds a planning. */
const Agents = t.strict({ planner: t.strict({ bounds: t.strict({ seconds: t.number }) }) });

/** Seconds that the planner itself may take. @throws InvalidInput (`config_invalid`) */
export function planningSeconds(folders: Pick<Folders, 'config'>): number {
  const { document, path } = mergedDocument(readConcernDocument('agents', folders));
  return decode(Agents, document, path, 'config_invalid').planner.bounds.seconds;
}
