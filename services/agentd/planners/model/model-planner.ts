import type { KnownModel } from '#kit/config/known-models.ts';
import { CoreError, Failed, Interrupted, Refused } from '#kit/errors.ts';
import type { Influence } from '../../action.ts';
import { commentInfluence, issueInfluence } from '../../planning/influences.ts';
import type { ChatMessage, Model, ToolCall } from '../../planning/model.ts';
import type { Planner, PlannerType, PlanningInput, Proposal, Turn } from '../../planning/planner.ts';
import type { PlannerBounds } from '../../planning/roles.ts';
import { askModel, defaultRetry, type ModelAnswer, type RetryOptions } from './ask-model.ts';
import { openingMessages } from './prompt.ts';
import { type Outcome, type ToolResult, ToolRunner } from './tool-runner.ts';
import { changingTools } from './tools.ts';

export interface ModelPlannerOptions {
  readonly model: Model;
  readonly bounds: PlannerBounds;
  /** Most tokens of one answer; 8192 without it. */
  readonly max_output_tokens?: number | undefined;
  /** US dollars for a million tokens of output; where it is set, no answer may take more than half of the money left. */
  readonly output_price?: number;
  readonly retry?: RetryOptions;
}

export const model: PlannerType = {
  missing: ({ models }) => (chatModelFor(models(), null) === null ? noModelConfigured() : null),
  create({ agents, models, openModel }, { tier }, runId) {
    const known = chatModelFor(models(), tier);
    if (known === null) throw noModelConfigured();
    return createModelPlanner({
      model: openModel(known, tier, runId),
      bounds: agents.planner.bounds,
      max_output_tokens: known.output_tokens ?? undefined,
      output_price: known.most_output_price,
    });
  },
};

function noModelConfigured(): Refused {
  return new Refused(
    'model_not_configured',
    'planner "model" needs a model, and none for chat is configured in models.json; the other planner is "patch"',
    { hint: './core model add configures one; or plan with --planner patch' },
  );
}

/**
 * The model that plans for a tier: the first of that tier, else the first that has none, else any that chats. One model alone
 * serves every role.
 */
export function chatModelFor(models: readonly KnownModel[], tier: string | null): KnownModel | null {
  const chats = models.filter(({ kind }) => kind === 'chat');
  return (
    chats.find((model) => model.tier === tier) ??
    chats.find((model) => model.tier === null) ??
    chats[0] ??
    null
  );
}

const maxAnswerTokens = 8192;
/** In fewer tokens no edit has room. */
const minUsefulTokens = 1024;
const reminder =
  'That answer called no tool, so nothing happened. Go on with a tool; end with submit_plan or ask.';
const cutOff = 'That answer was cut off at its maximum length. Continue in smaller pieces.';

export function createModelPlanner(options: ModelPlannerOptions): Planner {
  const { provider, model, tier } = options.model;
  return {
    name: 'model',
    model: { provider, model, tier },
    propose: (input) => propose(input, options),
    close: async () => options.model.close?.(),
  };
}

async function propose(input: PlanningInput, options: ModelPlannerOptions): Promise<Proposal> {
  const { bounds } = options;
  const started = performance.now();
  const deadline = AbortSignal.timeout(Math.min(bounds.seconds * 1000, 2 ** 31 - 1));
  const signal = AbortSignal.any([input.signal, deadline]);
  try {
    return await plan(input, options, signal);
  } catch (error) {
    if (input.signal.aborted) throw interruption(input.signal);
    if (deadline.aborted) throw boundReached('seconds', (performance.now() - started) / 1000, bounds);
    throw error;
  }
}

async function plan(
  input: PlanningInput,
  options: ModelPlannerOptions,
  signal: AbortSignal,
): Promise<Proposal> {
  const { model, bounds, max_output_tokens = maxAnswerTokens, retry = defaultRetry } = options;
  const runner = new ToolRunner(input, signal);
  if (!runner.tools.some(({ name }) => name === 'ask' || name === 'submit_plan')) {
    throw new Refused(
      'role_does_not_plan',
      `role ${input.role.name} may propose ${input.role.may_propose.join(', ') || 'nothing'}; planning needs a role that may propose apply_patch or comment_issue`,
    );
  }
  const names = runner.tools.map(({ name }) => name);
  const prompt = { messages: openingMessages(input, names), tools: runner.tools };
  const messages = [...(await input.conversation.open(prompt))];
  const turns: Turn[] = [];
  for (const turn of input.conversation.stored) {
    turns.push(turn);
    messages.push(...turn.messages);
    const outcome = await replay(turn, runner);
    if (outcome !== null) return withInfluences(outcome, input, runner);
  }
  if (turns.length > 0) input.progress(`continuing after ${turns.length} stored steps`);

  for (;;) {
    signal.throwIfAborted();
    const used = usedBy(turns);
    checkBounds(used, bounds);
    const affordable = affordableTokens(bounds.money - used.money, options.output_price ?? 0);
    const max_tokens = Math.min(max_output_tokens, bounds.tokens - used.tokens, affordable);
    const request = { messages, tools: runner.tools, max_tokens };
    const answer = await askModel(model, request, signal, retry, input.progress);
    const { added, outcome } = await act(answer, runner, signal);
    const { usage, model: name } = answer.end;
    const turn = await input.conversation.store({ messages: added, usage, model: name });
    turns.push(turn);
    messages.push(...turn.messages);
    if (outcome !== null) return withInfluences(outcome, input, runner);
  }
}

/** The gateway reserves the cost of an answer of maximum length, and refuses a call that the budget does not cover. */
function affordableTokens(moneyLeft: number, price: number): number {
  if (price <= 0) return Number.POSITIVE_INFINITY;
  return Math.max(minUsefulTokens, Math.floor((moneyLeft / 2 / price) * 1_000_000));
}

/** Does what the model asked for. After the call that ends the planning no other is done. */
async function act(
  answer: ModelAnswer,
  runner: ToolRunner,
  signal: AbortSignal,
): Promise<{ added: ChatMessage[]; outcome: Outcome | null }> {
  const { text, calls, end } = answer;
  const said: ChatMessage = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const added: ChatMessage[] = [said];
  let outcome: Outcome | null = null;
  for (const call of calls) {
    signal.throwIfAborted();
    const result: ToolResult =
      outcome === null
        ? await runner.run(call)
        : { content: 'not done: the planning has ended', outcome: null };
    outcome ??= result.outcome;
    added.push({ role: 'tool', tool_call_id: call.id, content: result.content });
  }
  if (outcome === null && end.finish_reason === 'length') added.push({ role: 'user', content: cutOff });
  else if (calls.length === 0) added.push({ role: 'user', content: reminder });
  return { added, outcome };
}

/**
 * Brings a fresh scratch copy to where a stored turn left it. The validation is not run again: its result is in the turn.
 * @throws Failed `conversation_replay_differs` when an edit does not come out as it did, so that nothing goes on from a wrong state
 */
async function replay(turn: Turn, runner: ToolRunner): Promise<Outcome | null> {
  const [said] = turn.messages;
  const calls: readonly ToolCall[] = said?.role === 'assistant' ? (said.tool_calls ?? []) : [];
  const answers = new Map(
    turn.messages.flatMap((message) =>
      message.role === 'tool' ? [[message.tool_call_id, message.content] as const] : [],
    ),
  );
  for (const call of calls) {
    const { name } = call.function;
    if (name === 'run_validation') continue;
    const result = await runner.run(call);
    if (changingTools.has(name) && result.content !== answers.get(call.id)) {
      throw new Failed(
        'conversation_replay_differs',
        `the stored planning cannot be continued: ${name} now answers "${result.content.slice(0, 200)}"`,
        { hint: 'plan the issue again' },
      );
    }
    if (result.outcome !== null) return result.outcome;
  }
  return null;
}

function withInfluences(outcome: Outcome, input: PlanningInput, { seen }: ToolRunner): Proposal {
  return { ...outcome, influences: influencesOf(input, seen) };
}

/** The texts and files that the model was shown. */
function influencesOf(
  { repository, issue, comments }: PlanningInput,
  seen: ReadonlySet<string>,
): Influence[] {
  return [
    issueInfluence(repository, issue),
    ...comments.map(commentInfluence),
    ...[...seen]
      .sort()
      .map((path): Influence => ({ kind: 'file', source: path, author: null, trusted: true })),
  ];
}

function interruption(signal: AbortSignal): CoreError {
  if (signal.reason instanceof CoreError) return signal.reason;
  return new Interrupted('cancelled', 'planning was cancelled');
}

type BoundName = keyof PlannerBounds;

/** What a planning used so far. Turns of an interrupted one count; its time does not. */
interface Used {
  readonly steps: number;
  readonly tokens: number;
  /** US dollars; 0 where no price is configured. */
  readonly money: number;
}

export function usedBy(turns: readonly Turn[]): Used {
  let tokens = 0;
  let money = 0;
  for (const { usage } of turns) {
    tokens += usage.input_tokens + usage.output_tokens;
    money += usage.cost ?? 0;
  }
  return { steps: turns.length, tokens, money };
}

/** @throws Refused `planner_bound_reached` before a step that is not allowed any more */
function checkBounds(used: Used, bounds: PlannerBounds): void {
  for (const name of ['steps', 'tokens', 'money'] as const) {
    if (used[name] >= bounds[name]) throw boundReached(name, used[name], bounds);
  }
}

function boundReached(name: BoundName, value: number, bounds: PlannerBounds): Refused {
  const setting = `planner.bounds.${name}`;
  const rounded = Math.round(value * 10_000) / 10_000;
  return new Refused(
    'planner_bound_reached',
    `planning stopped at its bound of ${bounds[name]} ${units[name]} (used: ${rounded}); nothing is proposed`,
    {
      facts: { bound: name, value, limit: bounds[name], setting },
      hint: `raise ${setting} in config/agents.json, or make the issue smaller`,
    },
  );
}

const units: Readonly<Record<BoundName, string>> = {
  steps: 'steps',
  tokens: 'tokens',
  seconds: 'seconds',
  money: 'US dollars',
};
