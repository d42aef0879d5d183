import { oneLine } from '../../actions/published-texts.ts';
import type { PlanningInput } from '../../planning/planner.ts';
import type { RunUsage } from '../../planning/run-key.ts';
import type { AgentUpdate, ToolCall } from './acp-messages.ts';
import type { AgentProgram } from './acp-session.ts';
import type { Agent } from './agent.ts';
import { amounts } from './bounds.ts';
import { LastMessage } from './last-message.ts';
import type { PermissionAnswer } from './permissions.ts';
import { Transcript } from './transcript.ts';

export interface AttemptLogOptions {
  readonly input: Pick<PlanningInput, 'secrets' | 'agent_record' | 'progress' | 'status'>;
  readonly agent: Pick<Agent, 'name'>;
  readonly model: { readonly name: string; readonly tier: string } | null;
  /** Of the run, before this attempt. */
  readonly usage: RunUsage | null;
}

const maxErrorText = 4_000;

/** What an agent does in one attempt, as it is shown and recorded. */
export class AttemptLog {
  readonly attempt: number;
  usage: RunUsage | null;
  program: AgentProgram | null = null;
  readonly #options: AttemptLogOptions;
  readonly #began = performance.now();
  readonly #transcript: Transcript;
  readonly #last = new LastMessage();
  #doing = 'starting';
  #standardError = '';

  constructor(options: AttemptLogOptions) {
    this.#options = options;
    this.usage = options.usage;
    const { secrets, agent_record: record } = options.input;
    this.attempt = (record.earlier?.started.attempt ?? 0) + 1;
    this.#transcript = new Transcript(
      (text) => secrets.mask(text, 'the transcript of the agent'),
      () => this.seconds,
    );
  }

  get seconds(): number {
    return (performance.now() - this.#began) / 1000;
  }

  get lastMessage(): string {
    return this.#last.text;
  }

  /** Its end alone, if it is long. */
  get standardError(): string {
    return this.#standardError;
  }

  updated(update: AgentUpdate): void {
    if (update.type === 'tool') {
      const { call } = update;
      this.#last.stepped();
      const paths = (call.locations ?? []).map(({ path }) => path);
      const { kind = null, status = null } = call;
      if (call.title == null && status == null) return;
      this.#transcript.add({ type: 'tool', title: call.title ?? call.toolCallId, kind, status, paths });
      if (call.title != null) this.show(call.title);
      return;
    }
    if (update.type === 'message') this.#last.said(update.text, update.message);
    this.#transcript.text(update.type, update.text);
  }

  asked(tool: ToolCall, { allowed, why, paths }: PermissionAnswer): void {
    const title = tool.title ?? tool.toolCallId;
    this.#transcript.add({ type: 'permission', title, paths, allowed, why });
    if (!allowed)
      this.#options.input.progress(
        `${this.#options.agent.name} was refused: ${oneLine(title)} (${oneLine(why)})`,
      );
  }

  file(action: 'read' | 'write', path: string, bytes: number): void {
    this.#transcript.add({ type: 'file', action, path, bytes });
    this.show(`${action} ${path}`);
  }

  note(text: string): void {
    this.#transcript.add({ type: 'note', text });
  }

  onOutput(text: string): void {
    this.#transcript.text('output', text);
    const line = text.trimEnd().split('\n').at(-1)!;
    if (line.trim() !== '') this.show(line);
  }

  onStandardError(chunk: Uint8Array): void {
    const text = Buffer.from(chunk).toString('utf8');
    this.#transcript.text('standard_error', text);
    this.#standardError = (this.#standardError + text).slice(-maxErrorText);
  }

  /** What the gateway counted so far. */
  used(usage: RunUsage): void {
    const news = usage.calls !== this.usage?.calls || usage.cost !== this.usage?.cost;
    this.usage = usage;
    if (news) this.show(this.#doing);
  }

  /** What it does now, and what was used so far. */
  show(doing: string): void {
    this.#doing = oneLine(doing, 120);
    const { input, agent } = this.#options;
    const used =
      this.usage === null || this.usage.calls === 0 ? '' : ` (so far ${amounts(this.usage).join(', ')})`;
    input.status(`${agent.name}: ${this.#doing}${used}`);
  }

  /** What a killed planning would lose. */
  async record(): Promise<void> {
    const { agent_record: record } = this.#options.input;
    await record.append({ type: 'agent_progressed', data: await this.use(false) }).catch(() => {});
  }

  /** For an event. @param whole with the entry of the transcript that may still go on */
  async use(whole: boolean) {
    const { input, model } = this.#options;
    const lines = this.#transcript.take(whole);
    const { usage } = this;
    return {
      attempt: this.attempt,
      seconds: Math.round(this.seconds * 10) / 10,
      turns: usage?.calls ?? null,
      usage:
        usage === null || model === null
          ? null
          : {
              provider: 'core-model-gateway',
              model: model.name,
              tier: model.tier,
              input_tokens: usage.input_tokens,
              output_tokens: usage.output_tokens,
              cached_tokens: usage.cached_tokens,
              cost: usage.cost,
            },
      program: this.program,
      transcript: lines === null ? null : await input.agent_record.keep(lines),
    };
  }
}
