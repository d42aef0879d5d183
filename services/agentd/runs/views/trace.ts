import { sha256 } from '#kit/digest.ts';
import type { RunEvent } from '../event.ts';
import type { Run } from '../run.ts';

/** One line of `trace.jsonl`, with the names of OpenTelemetry's data model. */
export interface Span {
  /** The run's UUID without its dashes. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly startTimeUnixNano: string;
  /** null while it goes on, or when a crash cut it off. */
  readonly endTimeUnixNano: string | null;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly status: 'unset' | 'ok' | 'error';
  readonly as_of_seq: number;
}

interface Draft {
  readonly name: string;
  readonly parent: Draft | null;
  readonly seq: number;
  readonly start: string;
  readonly attributes: Record<string, string | number | boolean>;
  end: string | null;
  status: Span['status'];
}

/** Spans made of the events that begin and end something. */
export function traceOf(run: Run, events: readonly RunEvent[]): Span[] {
  const root = draft('run', null, 1, run.created_at, {
    'core.run_id': run.run_id,
    'core.status': run.status,
  });
  root.end = run.updated_at;
  const spans = [root, ...spansOf(events, root)];
  const traceId = run.run_id.replace('run_', '').replaceAll('-', '');
  const idOf = ({ name, seq }: Draft): string => sha256(`${run.run_id} ${seq} ${name}`).slice(0, 16);
  return spans.map((span) => ({
    traceId,
    spanId: idOf(span),
    parentSpanId: span.parent === null ? null : idOf(span.parent),
    name: span.name,
    startTimeUnixNano: nanoseconds(span.start),
    endTimeUnixNano: span.end === null ? null : nanoseconds(span.end),
    attributes: span.attributes,
    status: span.status,
    as_of_seq: run.head.seq,
  }));
}

function spansOf(events: readonly RunEvent[], root: Draft): Draft[] {
  const spans: Draft[] = [];
  const open = new Map<string, Draft>();
  let before = root.start;
  for (const event of events) {
    const start = (key: string, name: string, parent: string, attributes: Draft['attributes']): void => {
      const span = draft(name, open.get(parent) ?? root, event.seq, event.at, attributes);
      open.set(key, span);
      spans.push(span);
    };
    const end = (key: string, ok: boolean): void => {
      const span = open.get(key);
      open.delete(key);
      if (span !== undefined) Object.assign(span, { end: event.at, status: ok ? 'ok' : 'error' });
    };
    switch (event.type) {
      case 'planning_started':
        start('planning', 'planning', 'run', {});
        break;
      case 'planner_turn': {
        const { usage, tool_calls } = event.data;
        const turn = draft('planner_turn', open.get('planning') ?? root, event.seq, before, {
          'gen_ai.request.model': usage.model,
          'gen_ai.usage.input_tokens': usage.input_tokens,
          'gen_ai.usage.output_tokens': usage.output_tokens,
          'core.tool_calls': tool_calls.length,
        });
        spans.push(Object.assign(turn, { end: event.at, status: 'ok' }));
        break;
      }
      case 'agent_started':
        start('agent', 'agent', 'planning', {
          'core.agent': event.data.agent,
          'core.attempt': event.data.attempt,
        });
        break;
      case 'agent_ended':
        end('agent', event.data.end === 'finished');
        break;
      case 'plan_sealed':
      case 'planning_failed':
        end('planning', event.type === 'plan_sealed');
        break;
      case 'execution_started':
        start('execution', event.data.kind, 'run', { 'core.dry_run': event.data.dry_run });
        break;
      case 'action_intent':
        start(event.data.action_id, 'action', 'execution', {
          'core.action_id': event.data.action_id,
          'core.attempt': event.data.attempt,
        });
        break;
      case 'action_result':
        end(event.data.action_id, event.data.state === 'succeeded');
        break;
      case 'execution_finished':
        end('execution', event.data.stopped === null);
        break;
      case 'undo_started':
        start('undo', 'undo', 'run', {});
        break;
      case 'undo_intent':
        start(`undo ${event.data.action_id}`, 'undo_action', 'undo', {
          'core.action_id': event.data.action_id,
        });
        break;
      case 'undo_result':
        end(`undo ${event.data.action_id}`, event.data.state !== 'failed');
        break;
      case 'undo_finished':
        end('undo', event.data.complete);
        break;
    }
    before = event.at;
  }
  return spans;
}

function draft(
  name: string,
  parent: Draft | null,
  seq: number,
  start: string,
  attributes: Draft['attributes'],
): Draft {
  return { name, parent, seq, start, attributes, end: null, status: 'unset' };
}

function nanoseconds(at: string): string {
  return `${Date.parse(at)}000000`;
}
