import type { RunEvent } from './event.ts';

/** What a model was sent, or answered: told, and nothing is made of it after planning. */
export function isConversation({ type }: RunEvent): boolean {
  return type === 'planner_prompt' || type === 'planner_turn';
}

/** Every artifact that an event names, with the place that names it. */
export function artifactReferences(event: RunEvent): { readonly digest: string; readonly field: string }[] {
  switch (event.type) {
    case 'source_read':
      return [{ digest: event.data.issue.content, field: 'issue.content' }];
    case 'planner_prompt':
    case 'planner_turn':
      return [{ digest: event.data.content, field: 'content' }];
    case 'action_proposed': {
      const { action } = event.data;
      return Object.entries(action.artifacts).map(([name, digest]) => ({
        digest,
        field: `action.artifacts.${name}`,
      }));
    }
    case 'plan_sealed': {
      const { explanation, patch } = event.data.plan;
      const references = [{ digest: explanation, field: 'plan.explanation' }];
      return patch === null ? references : [...references, { digest: patch, field: 'plan.patch' }];
    }
    case 'action_result': {
      const { report, logs } = event.data.outcome.facts;
      const named: [string, unknown][] = [['report', report], ...Object.entries(logs ?? {})];
      return named.flatMap(([name, digest]) =>
        typeof digest === 'string' && /^[0-9a-f]{64}$/.test(digest)
          ? [{ digest, field: `outcome.facts.${name}` }]
          : [],
      );
    }
    case 'torn_line_set_aside':
      return [{ digest: event.data.artifact, field: 'artifact' }];
    case 'record_recovered': {
      const { set_aside } = event.data;
      return set_aside === null ? [] : [{ digest: set_aside.artifact, field: 'set_aside.artifact' }];
    }
    default:
      return [];
  }
}
