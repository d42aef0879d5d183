import type { CypherCall } from '../cypher-engine.ts';
import { refuseWrites } from '../text/read-only.ts';
import { refuseUnsupported } from './unsupported.ts';

/**
 * What a query is read for before the engine sees it; much to load, so that the first query does.
 * @throws Refused (`cypher_read_only`, `cypher_not_supported`)
 */
export function refuseQuery(text: string, params: CypherCall['params']): void {
  refuseUnsupported({ text, tokens: refuseWrites(text), params });
}
