import * as t from 'io-ts';
import { nullable, oneOf, Timestamp } from '../decode.ts';
import { RunSummary } from './run.ts';
import { gates } from './vocabulary.ts';

/** What a person is waited for with, the most pressing first where a run has several. */
export const inboxKinds = [
  'approval',
  'lapsed',
  'execution',
  'validation',
  'outcome',
  'interrupted',
  'draft',
  'planning',
] as const;
export type InboxKind = (typeof inboxKinds)[number];

const { run_id, status, forge, owner, repo, number, title, highest_risk } = RunSummary.type.props;

export const InboxItem = t.strict({
  /** Names what waits: the same until somebody has dealt with it. */
  id: t.string,
  run_id,
  status,
  forge,
  owner,
  repo,
  number,
  title,
  highest_risk,
  kind: oneOf(inboxKinds),
  /** Of what waits for a decision; null where nothing does. */
  gate: nullable(oneOf(gates)),
  /** When the run changed last, or the approval ended. */
  since: Timestamp,
  /** For people, for example `4 actions: 1 of 2, one a code owner`. Not safe to print. */
  text: t.string,
  /** Of `people` of policy.json, whose approval would count; null where rules ask for nobody, so that anyone with the scope may. */
  people: nullable(t.array(t.string)),
  /** Words of the command that goes on with it, without the name of the program. */
  command: t.array(t.string),
});
export type InboxItem = t.TypeOf<typeof InboxItem>;

/** `GET /v1/inbox`: what waits for whom, the longest waiting first. */
export const Inbox = t.strict({
  /** Whose it is; null for everybody's. */
  person: nullable(t.string),
  items: t.array(InboxItem),
  /** How much waits for others. */
  others: t.number,
});
export type Inbox = t.TypeOf<typeof Inbox>;
