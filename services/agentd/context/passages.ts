import type { LookupResult } from '#kit/contracts/context/memory.ts';
import type { SearchResult } from '#kit/contracts/context/search.ts';
import type { ContextPassage } from '../planning/planner.ts';

export function passageOfResult(result: SearchResult): ContextPassage {
  const { id, kind, title, path, start_line, end_line, snippet, score, why } = result;
  const lines = start_line === null ? '' : `:${start_line}${end_line === null ? '' : `-${end_line}`}`;
  const edges = why.edges.map((edge) => `${edge.kind} of ${edge.from}`);
  return {
    id,
    kind,
    source: path === null ? id : `${path}${lines}`,
    path,
    title,
    text: snippet,
    layer: 'graph',
    why: [...(why.terms.length === 0 ? [] : [`words ${why.terms.join(', ')}`]), ...edges].join('; '),
    score,
    about: [],
    run_id: kind === 'run' ? id.replace(/^run:/, '') : null,
  };
}

export function passageOfMemory(result: LookupResult): ContextPassage {
  const { id, layer, kind, title, text, about, session, subject, score, why, steps } = result;
  const neighbours = why.neighbours.map(({ relation }) => relation);
  return {
    id,
    kind,
    source: id,
    path: null,
    title,
    text:
      steps.length === 0 ? text : [text, ...steps.map((step, index) => `${index + 1}. ${step}`)].join('\n'),
    layer,
    why: [
      ...(why.terms.length === 0 ? [] : [`words ${why.terms.join(', ')}`]),
      ...(why.subject === null ? [] : [`subject ${why.subject}`]),
      ...(neighbours.length === 0 ? [] : [`beside ${[...new Set(neighbours)].join(', ')}`]),
    ].join('; '),
    score,
    about,
    run_id: runIn(session) ?? runIn(subject) ?? runIn(about.find((entity) => entity.startsWith('run:'))),
  };
}

/** The run that a session or an action's id names. */
function runIn(text: string | null | undefined): string | null {
  return /\brun_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(text ?? '')?.[0] ?? null;
}
