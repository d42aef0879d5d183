import type { BusFunction } from '#kit/bus/bus.ts';
import type { Planning } from '../planning/planning.ts';
import { agentMap } from './agent-map.ts';
import { cypher } from './cypher.ts';
import { health } from './health.ts';
import { memoryLookup } from './memory-lookup.ts';
import { planIssue } from './plan-issue.ts';
import { search } from './search.ts';
import type { Services } from './services.ts';

/** The platform's functions, in the order in which spec.md names them. */
export function platformFunctions(services: Services, planning: Planning): readonly BusFunction[] {
  return [
    health(services),
    search(services),
    memoryLookup(services),
    cypher(services),
    agentMap(services),
    planIssue(planning),
  ];
}
