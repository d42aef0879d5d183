import type { KnownModel } from '#kit/config/known-models.ts';
import type { PatchAuthor } from '#kit/contracts/patch-author.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { codeOf, Refused, TooLarge } from '#kit/errors.ts';
import type { Influence } from '../../action.ts';
import type { AgentRoom } from '../../planning/agent-room.ts';
import type { AgentDialect } from '../../planning/agent-settings.ts';
import { contextRepository } from '../../planning/context.ts';
import { passageInfluence, textInfluences } from '../../planning/influences.ts';
import type {
  Planner,
  PlannerServices,
  PlannerType,
  PlanningInput,
  Proposal,
} from '../../planning/planner.ts';
import type { Role } from '../../planning/roles.ts';
import type { RunKey } from '../../planning/run-key.ts';
import { chatModelFor, speaks } from '../model/model-planner.ts';
import { type Agent, agentNamed } from './agent.ts';
import type { AgentAttempt, Ended } from './attempt.ts';
import { boundReached, boundsLeft } from './bounds.ts';
import { explained } from './last-message.ts';
import { startOf } from './programs.ts';
import { agentPrompt } from './prompt.ts';

/** A real coding agent in a room of its own: what it leaves in its files is the change. */
export const agent: PlannerType = {
  missing: ({ agents }) => (Object.keys(agents.agents).length === 0 ? noAgentConfigured() : null),
  create(services, role, { request }) {
    const repository = contextRepository(request);
    const chosen = agentNamed(services.agents, request.agent ?? '');
    const model = agentModel(chosen, services.models(), role.tier);
    return createAgentPlanner({ agent: chosen, model, role, repository, services });
  },
};

function noAgentConfigured(): Refused {
  return new Refused(
    'agent_not_configured',
    'planner "agent" needs a coding agent, and agents.json has none; other planners are "model" and "patch"',
    { hint: './core agent list shows what is installed; ./core agent add configures one' },
  );
}

/**
 * The model that an agent asks; null for one that asks none of ours.
 * @throws Refused (`agent_model_missing`)
 */
export function agentModel(
  { name, dialect, model }: Pick<Agent, 'name' | 'dialect' | 'model'>,
  models: readonly KnownModel[],
  tier: string,
): KnownModel | null {
  if (dialect === null) return null;
  const configured = models.find((known) => known.name === model);
  const found =
    model === null
      ? chatModelFor(models, tier, dialect)
      : configured !== undefined && speaks(configured, dialect)
        ? configured
        : null;
  if (found !== null) return found;
  throw new Refused('agent_model_missing', whyNoModel({ name, dialect, model }, configured), {
    hint: `./core model add configures one${dialect === 'google' ? ' (--kind google)' : ''}; ./core model list shows those that are`,
  });
}

function whyNoModel(
  { name, dialect, model }: { name: string; dialect: AgentDialect; model: string | null },
  configured: KnownModel | undefined,
): string {
  const wanted = `agent ${name} speaks ${dialectNames[dialect]}`;
  if (model === null) return `${wanted}, and models.json has no chat model that can be asked so`;
  const asks = `agent ${name} asks model ${JSON.stringify(model)}`;
  return configured === undefined
    ? `${asks}, and models.json has no such chat model`
    : `${asks}, which cannot be asked by ${dialectNames[dialect]}: its upstreams are ${configured.upstream_kinds.join(', ')}`;
}

export const dialectNames: Readonly<Record<AgentDialect, string>> = {
  messages: 'Messages',
  responses: 'Responses',
  chat: 'chat completions',
  google: 'generateContent',
};

export interface AgentPlannerOptions {
  readonly agent: Agent;
  readonly model: KnownModel | null;
  readonly role: Role;
  /** As the context service names it. */
  readonly repository: string;
  readonly services: Pick<PlannerServices, 'rooms' | 'openRunKey'>;
}

export function createAgentPlanner(options: AgentPlannerOptions): Planner {
  const { model, role } = options;
  return {
    name: 'agent',
    reaches_out: [...options.agent.hosts, ...options.agent.credentials],
    model: model === null ? null : { model: model.name, tier: role.tier },
    propose: (input) => propose(input, options),
  };
}

async function propose(input: PlanningInput, options: AgentPlannerOptions): Promise<Proposal> {
  const { agent, model, services } = options;
  await services.rooms.sweep();
  const submitted = await submittedBefore(input, patchBy(options));
  if (submitted !== null) return submitted;
  const start = startOf(agent);
  const { bounds } = agent;
  const key =
    model === null
      ? null
      : await services.openRunKey({
          run_id: input.run_id,
          model: model.name,
          money: bounds.money,
          seconds: bounds.seconds,
        });
  try {
    return await withKey(input, options, start, key);
  } finally {
    await key?.close();
  }
}

async function withKey(
  input: PlanningInput,
  options: AgentPlannerOptions,
  start: ReturnType<typeof startOf>,
  key: RunKey | null,
): Promise<Proposal> {
  const { agent, model, role, repository, services } = options;
  const { earlier } = input.agent_record;
  const usage = (await key?.usage()) ?? null;
  const left = boundsLeft(agent, earlier, usage);
  const reached = (['money', 'seconds', 'turns'] as const).find((name) => left[name] <= 0);
  const seconds = agent.bounds.seconds - left.seconds;
  if (reached !== undefined) throw boundReached(agent, reached, { seconds, usage }, false);
  if (earlier !== null)
    input.progress(`starting ${agent.name} again in a fresh copy, with what is left of its bounds`);
  const mounts = (await input.prepare?.(input.signal)) ?? [];
  const [opening] = await input.conversation.open({
    messages: [{ role: 'user', content: agentPrompt(input) }],
    tools: [],
  });
  // With it comes the library of the agent's protocol.
  const { AgentAttempt: Attempt } = await import('./attempt.ts');
  let attempt: AgentAttempt | null = null;
  const room = await services.rooms.open({
    run_id: input.run_id,
    repository,
    scratch: input.scratch,
    base_commit: input.base_commit,
    mounts,
    programs: start.programs,
    hosts: agent.hosts,
    credentials: agent.credentials,
    model:
      key === null
        ? null
        : {
            gateway_url: key.url,
            key: key.key,
            onRefused: (message) => attempt?.refused(message),
            onLost: (message) => attempt?.lostGateway(message),
          },
    signal: input.signal,
  });
  try {
    attempt = new Attempt({
      input,
      agent,
      command: start.command,
      model: model === null ? null : { name: model.name, tier: role.tier },
      key,
      room,
      left,
      usage,
      prompt: String(opening!.content),
    });
    const ended = await attempt.run();
    if (ended.end === 'cancelled') throw ended.error;
    if (ended.end === 'finished') {
      await room.readBack();
      return await submitted(input, options, ended, await readInfluences(input, room));
    }
    const draft = await keptDraft(input, agent, room, ended);
    throw ended.bound === null
      ? ended.error
      : boundReached(agent, ended.bound, { seconds: seconds + ended.seconds, usage: ended.usage }, draft);
  } finally {
    await room.close();
  }
}

/** What the agent left becomes the plan: a change, or where it changed nothing its message as a comment. */
async function submitted(
  input: PlanningInput,
  options: AgentPlannerOptions,
  ended: Ended,
  influences: readonly Influence[],
): Promise<Proposal> {
  const { agent } = options;
  const { agent_record: record, issue, secrets } = input;
  const message = secrets.mask(ended.last_message, 'the answer of the agent');
  const patch = await record.keepPatch();
  if (patch === null && message.trim() === '') {
    throw new Refused(
      'agent_changed_nothing',
      `agent ${agent.name} ended without a change of a file and without an answer; nothing is proposed`,
      { hint: './core show RUN --prompt prints what it did' },
    );
  }
  const { title, explanation } = explained(message, issue.title, `Made by ${agent.name}`);
  const text = patch === null ? message.trim() : explanation;
  await record.append({
    type: 'agent_read_back',
    data: {
      attempt: ended.attempt,
      submitted: true,
      patch,
      title,
      explanation: await record.keep(text),
      influences: [...influences],
    },
  });
  crashPoint('agent.read_back');
  return proposalOf(input, { patch, title, text, influences }, patchBy(options));
}

const maxInfluences = 100;

/** What the agent was shown of the context service; what outsiders had a hand in comes first. */
async function readInfluences(input: PlanningInput, room: Pick<AgentRoom, 'passages'>): Promise<Influence[]> {
  const judged = (await input.judge(room.passages())).map(passageInfluence);
  const masked = judged.map((one) => ({
    ...one,
    source: input.secrets.mask(one.source, `context ${one.source}`),
  }));
  const all = [...masked.filter(({ trusted }) => !trusted), ...masked.filter(({ trusted }) => trusted)];
  const more = all.slice(maxInfluences);
  if (more.length === 0) return all;
  const trusted = more.every((one) => one.trusted);
  const rest: Influence = {
    kind: 'memory',
    source: `${more.length} more passages of the context`,
    author: null,
    trusted,
  };
  return [...all.slice(0, maxInfluences), rest];
}

function proposalOf(
  input: PlanningInput,
  work: {
    readonly patch: string | null;
    readonly title: string;
    readonly text: string;
    readonly influences: readonly Influence[];
  },
  patch_by: PatchAuthor,
): Proposal {
  const { patch, title, text } = work;
  const influences = [...textInfluences(input), ...work.influences];
  return patch === null
    ? { kind: 'comment', body: text, influences }
    : { kind: 'change', title, explanation: text, influences, patch_by };
}

function patchBy({ agent: { name, protocol }, model }: AgentPlannerOptions): PatchAuthor {
  return { kind: 'agent', agent: name, protocol, model: model?.name ?? null };
}

/** The work of an agent that had ended when the planning was cut off; null where it has to be started again. */
async function submittedBefore(input: PlanningInput, patch_by: PatchAuthor): Promise<Proposal | null> {
  const { agent_record: record, scratch } = input;
  const done = record.earlier?.read_back;
  if (done == null || !done.submitted) return null;
  try {
    if (done.patch !== null) await scratch.edit({ kind: 'patch', patch: await record.read(done.patch) });
  } catch (error) {
    if (!['patch_not_allowed', 'patch_does_not_apply', 'artifact_not_found'].includes(codeOf(error)))
      throw error;
    return null;
  }
  const text = Buffer.from(await record.read(done.explanation)).toString('utf8');
  const { patch, title, influences = [] } = done;
  return proposalOf(input, { patch, title, text, influences }, patch_by);
}

/** True if something was kept. What cannot be kept is said, and is no reason to fail otherwise. */
async function keptDraft(
  input: PlanningInput,
  agent: Agent,
  room: { readBack(): Promise<void> },
  ended: Ended,
): Promise<boolean> {
  const { agent_record: record, issue, secrets } = input;
  try {
    await room.readBack();
    const patch = await record.keepPatch();
    if (patch === null) return false;
    const message = secrets.mask(ended.last_message, 'the answer of the agent');
    const { title, explanation } = explained(message, issue.title, `Made by ${agent.name}`);
    const data = {
      attempt: ended.attempt,
      submitted: false,
      patch,
      title,
      explanation: await record.keep(explanation),
      influences: undefined,
    };
    await record.append({ type: 'agent_read_back', data });
    return true;
  } catch (error) {
    if (!(error instanceof Refused || error instanceof TooLarge)) throw error;
    input.progress(`no draft is kept: ${error.message}`);
    return false;
  }
}
