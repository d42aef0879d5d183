import type { KnownModel } from '#kit/config/known-models.ts';
import { counted } from '#kit/counted.ts';
import { canonicalJson } from '#kit/digest.ts';
import { CoreError, Failed, Refused } from '#kit/errors.ts';
import type { Influence } from '../../action.ts';
import { oneLine } from '../../actions/published-texts.ts';
import type { AgentDialect } from '../../planning/agent-settings.ts';
import { textInfluences } from '../../planning/influences.ts';
import type { ChatMessage, Model, ToolCall } from '../../planning/model.ts';
import type { Planner, PlannerType, PlanningInput, Proposal, Turn } from '../../planning/planner.ts';
import type { PlannerBounds } from '../../planning/roles.ts';
import { dollars } from '../amounts.ts';
import { type BudgetRefusal, budgetRefusal, isForSize, requestTooLarge } from '../budget-refusal.ts';
import { interruption } from '../interruption.ts';
import { askModel, defaultRetry, type ModelAnswer, type RetryOptions } from './ask-model.ts';
import { FittedConversation } from './fitted-conversation.ts';
import { openingMessages } from './prompt.ts';
import { isFailure, type Outcome, type ToolResult, ToolRunner } from './tool-runner.ts';
import { changingTools, toolsFor } from './tools.ts';

export interface ModelPlannerOptions {
  readonly model: Model;
  readonly bounds: PlannerBounds;
  /** Most tokens of one answer; 8192 without it. */
  readonly max_output_tokens?: number | undefined;
  /** Tokens that input and answer have room in, as configured; the model may say fewer. */
  readonly context_tokens?: number | undefined;
  /** US dollars for a million tokens of output; where it is set, no answer may take more than half of the money left. */
  readonly output_price?: number;
  readonly retry?: RetryOptions;
}

export const model: PlannerType = {
  missing: ({ models }) => (chatModelFor(models(), null) === null ? noModelConfigured() : null),
  create({ agents, models, openModel }, { tier }, { run_id: runId }) {
    const known = chatModelFor(models(), tier);
    if (known === null) throw noModelConfigured();
    return createModelPlanner({
      model: openModel(known, tier, runId),
      bounds: agents.planner.bounds,
      max_output_tokens: known.output_tokens ?? undefined,
      context_tokens: known.context_tokens ?? undefined,
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
 * @param dialect what it has to be asked in
 */
export function chatModelFor(
  models: readonly KnownModel[],
  tier: string | null,
  dialect: AgentDialect = 'chat',
): KnownModel | null {
  const chats = models.filter((model) => speaks(model, dialect));
  return (
    chats.find((model) => model.tier === tier) ??
    chats.find((model) => model.tier === null) ??
    chats[0] ??
    null
  );
}

/** Whether the gateway can ask a model in a dialect: it translates between all but Google's. */
export function speaks({ kind, upstream_kinds: kinds }: KnownModel, dialect: AgentDialect): boolean {
  return kind === 'chat' && kinds.some((upstream) => (upstream === 'google') === (dialect === 'google'));
}

const maxAnswerTokens = 8192;
/** In fewer tokens no edit has room. */
const minUsefulTokens = 1024;
const reminder =
  'That answer called no tool, so nothing happened. Go on with a tool; end with submit_plan or ask.';
const cutOff = 'That answer was cut off at its maximum length. Continue in smaller pieces.';

export function createModelPlanner(options: ModelPlannerOptions): Planner {
  const { model, tier } = options.model;
  return {
    name: 'model',
    model: { model, tier },
    propose: (input) => propose(input, options),
    close: async () => options.model.close?.(),
  };
}

async function propose(input: PlanningInput, options: ModelPlannerOptions): Promise<Proposal> {
  const { bounds } = options;
  const deadline = AbortSignal.timeout(Math.min(bounds.seconds * 1000, 2 ** 31 - 1));
  const signal = AbortSignal.any([input.signal, deadline]);
  const usage = new Usage();
  try {
    return await plan(input, options, usage, signal);
  } catch (error) {
    if (input.signal.aborted) throw interruption(input.signal);
    if (deadline.aborted) throw boundReached('seconds', usage.used(), bounds);
    throw error;
  }
}

async function plan(
  input: PlanningInput,
  options: ModelPlannerOptions,
  usage: Usage,
  signal: AbortSignal,
): Promise<Proposal> {
  const { model, bounds, max_output_tokens = maxAnswerTokens, retry = defaultRetry } = options;
  const tools = toolsFor(input);
  if (!tools.some(({ name }) => name === 'ask' || name === 'submit_plan')) {
    throw new Refused(
      'role_does_not_plan',
      `role ${input.role.name} may propose ${input.role.may_propose.join(', ') || 'nothing'} by config/agents.json; planning needs a role that may propose apply_patch or comment_issue`,
    );
  }
  const conversation = new FittedConversation({
    model: model.model,
    tools,
    window: await windowOf(options, signal),
    max_answer: max_output_tokens,
  });
  const runner = new ToolRunner(input, tools, conversation.resultCharacters, signal);
  const names = tools.map(({ name }) => name);
  const prompt = { messages: openingMessages(input, names, conversation.openingBytes), tools };
  conversation.open(await input.conversation.open(prompt));
  const turns: Turn[] = [];
  for (const turn of input.conversation.stored) {
    turns.push(turn);
    usage.add(turn);
    conversation.add(turn.messages);
    const outcome = await replay(turn, runner);
    if (outcome !== null) return completed(outcome, input, runner, options.model.model);
  }
  if (turns.length > 0) input.progress(`continuing after ${turns.length} stored steps`);

  for (;;) {
    signal.throwIfAborted();
    requireToolCalls(turns, model.model, max_output_tokens);
    requireProgress(turns, model.model);
    const used = usage.used();
    checkBounds(used, bounds);
    const { messages, max_tokens: fitting } = conversation.request();
    const affordable = affordableTokens(bounds.money - used.money, options.output_price ?? 0);
    const max_tokens = Math.min(fitting, bounds.tokens - used.tokens, affordable);
    input.status(`step ${used.steps + 1}: asking ${model.model}${usage.inWords()}`);
    let answer: ModelAnswer;
    try {
      answer = await askModel(model, { messages, tools, max_tokens }, signal, retry, input.progress);
    } catch (error) {
      const refusal = budgetRefusalIn(input.run_id, error);
      if (refusal !== null && isForSize(refusal))
        throw requestTooLarge('the planner', model.model, refusal, 'planner.bounds.money');
      if (refusal !== null) throw boundReached('money', usage.used(), bounds, error);
      if (signal.aborted || !conversation.overflowed(error)) throw error;
      input.progress('the conversation is too long for the model; shortening older tool results');
      continue;
    }
    conversation.learn(answer.end.usage.input_tokens);
    const doing = (call: string) => input.status(`step ${used.steps + 1}: ${call}${usage.inWords()}`);
    const { added, outcome } = await act(answer, runner, doing, signal);
    const { usage: counted, model: name, provider } = answer.end;
    const turn = await input.conversation.store({ messages: added, usage: counted, model: name, provider });
    turns.push(turn);
    usage.add(turn);
    conversation.add(turn.messages);
    if (outcome !== null) return completed(outcome, input, runner, options.model.model);
  }
}

/** The gateway refuses a call that may cost more than is left of what the run may spend; null for another error. */
function budgetRefusalIn(runId: string, error: unknown): BudgetRefusal | null {
  if (!(error instanceof CoreError) || error.facts.code !== 'insufficient_quota') return null;
  return budgetRefusal(runId, error.message);
}

/** The smaller of what is configured and what the model's upstreams say; null where neither does. */
async function windowOf(
  { model, context_tokens }: ModelPlannerOptions,
  signal: AbortSignal,
): Promise<number | null> {
  const said = (await model.contextTokens?.(signal)) ?? null;
  const known = [context_tokens, said].filter((tokens) => tokens != null);
  return known.length === 0 ? null : Math.min(...known);
}

const maxWithoutCall = 2;

/** @throws Refused (`model_calls_no_tools`) for a model whose last answers called none */
function requireToolCalls(turns: readonly Turn[], model: string, maxAnswer: number): void {
  const last = turns.slice(-maxWithoutCall);
  if (last.length < maxWithoutCall || last.some((turn) => callsOf(turn).length > 0)) return;
  const cut = last.every(({ messages }) => messages.at(-1)?.content === cutOff);
  throw new Refused(
    'model_calls_no_tools',
    cut
      ? `this model does not call tools: the last ${maxWithoutCall} answers of ${model} reached the most tokens of an answer before they called one; nothing is proposed`
      : `this model does not call tools: the last ${maxWithoutCall} answers of ${model} called none, and planning is done by tools; nothing is proposed`,
    {
      facts: { model, turns: turns.length },
      hint: cut
        ? `raise limits.output_tokens of ${model} in models.json (${maxAnswer} now), or plan with another model; ./core show RUN --prompt prints its answers`
        : 'plan with a model that supports tool calls, or with --planner patch; ./core show RUN --prompt prints its answers',
    },
  );
}

const maxSameFailures = 3;

/** @throws Refused (`model_repeats_failure`) for a model whose last calls are the same and fail the same */
function requireProgress(turns: readonly Turn[], model: string): void {
  const last = turns.flatMap(resultsOf).slice(-maxSameFailures);
  const [{ name, failure, key } = { name: '', failure: null, key: '' }] = last;
  if (last.length < maxSameFailures || failure === null) return;
  if (last.some((call) => call.key !== key || call.failure === null)) return;
  throw new Refused(
    'model_repeats_failure',
    `planning stopped: ${model} made the same call of ${name} ${maxSameFailures} times in a row, and it failed each time (${oneLine(failure, 200)}); nothing is proposed`,
    {
      facts: { model, tool: name, turns: turns.length },
      hint: 'plan again, or with a larger model; ./core show RUN --prompt prints the calls and their answers',
    },
  );
}

interface CallResult {
  readonly name: string;
  /** Equal for calls of one tool with the same arguments. */
  readonly key: string;
  /** What the tool answered; null where it did what was asked. */
  readonly failure: string | null;
}

function resultsOf(turn: Pick<Turn, 'messages'>): CallResult[] {
  const answers = new Map(
    turn.messages.flatMap((message) =>
      message.role === 'tool' ? [[message.tool_call_id, message.content] as const] : [],
    ),
  );
  return callsOf(turn).map(({ id, function: { name, arguments: text } }) => {
    const answer = answers.get(id) ?? '';
    return { name, key: JSON.stringify([name, normal(text)]), failure: isFailure(answer) ? answer : null };
  });
}

/** Arguments without differences in white space and in the order of members. */
function normal(text: string): string {
  try {
    return canonicalJson(JSON.parse(text));
  } catch {
    return text.trim();
  }
}

function callsOf({ messages: [said] }: Pick<Turn, 'messages'>): readonly ToolCall[] {
  return said?.role === 'assistant' ? (said.tool_calls ?? []) : [];
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
  doing: (call: string) => void,
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
        ? await runner.run(call, doing)
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
  const answers = new Map(
    turn.messages.flatMap((message) =>
      message.role === 'tool' ? [[message.tool_call_id, message.content] as const] : [],
    ),
  );
  for (const call of callsOf(turn)) {
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

function completed(outcome: Outcome, input: PlanningInput, { seen }: ToolRunner, model: string): Proposal {
  const influences = influencesOf(input, seen);
  return outcome.kind === 'comment'
    ? { ...outcome, influences }
    : { ...outcome, influences, patch_by: { kind: 'model', model } };
}

/** The texts and files that the model was shown. */
function influencesOf(input: PlanningInput, seen: ReadonlySet<string>): Influence[] {
  return [
    ...textInfluences(input),
    ...[...seen]
      .sort()
      .map((path): Influence => ({ kind: 'file', source: path, author: null, trusted: true })),
  ];
}

type BoundName = keyof PlannerBounds;

/** What a planning used so far. Turns of an interrupted one count; its time does not. */
interface Used {
  readonly steps: number;
  readonly tokens: number;
  /** US dollars; 0 where no price is configured. */
  readonly money: number;
  readonly seconds: number;
}

/** Adds up what the turns of a planning use. */
class Usage {
  readonly #started = performance.now();
  #steps = 0;
  #input = 0;
  #output = 0;
  #money = 0;

  add({ usage: { input_tokens, output_tokens, cost } }: Pick<Turn, 'usage'>): void {
    this.#steps += 1;
    this.#input += input_tokens;
    this.#output += output_tokens;
    this.#money += cost ?? 0;
  }

  used(): Used {
    return {
      steps: this.#steps,
      tokens: this.#input + this.#output,
      money: this.#money,
      seconds: (performance.now() - this.#started) / 1000,
    };
  }

  /** To stand after what is being done; empty before the first turn. */
  inWords(): string {
    if (this.#steps === 0) return '';
    const money = this.#money === 0 ? '' : `, ${dollars(this.#money)}`;
    return ` (so far ${counted(this.#input + this.#output, 'token')}${money})`;
  }
}

/** @throws Refused `planner_bound_reached` before a step that is not allowed any more */
function checkBounds(used: Used, bounds: PlannerBounds): void {
  for (const name of ['steps', 'tokens', 'money'] as const) {
    if (used[name] >= bounds[name]) throw boundReached(name, used, bounds);
  }
}

function boundReached(name: BoundName, used: Used, bounds: PlannerBounds, cause?: unknown): Refused {
  const setting = `planner.bounds.${name}`;
  const spent = [counted(used.tokens, 'token'), dollars(used.money), `${Math.round(used.seconds)} s`];
  return new Refused(
    'planner_bound_reached',
    `planning stopped at its bound of ${inUnits[name](bounds[name])}: ${counted(used.steps, 'turn')} of the model used ${spent.join(', ')}; nothing is proposed`,
    {
      ...(cause !== undefined && { cause }),
      facts: { bound: name, value: used[name], limit: bounds[name], setting, used },
      hint: `raise ${setting} in agents.json, or make the issue smaller`,
    },
  );
}

const inUnits: Readonly<Record<BoundName, (value: number) => string>> = {
  steps: (value) => counted(value, 'turn'),
  tokens: (value) => counted(value, 'token'),
  seconds: (value) => counted(value, 'second'),
  money: dollars,
};
