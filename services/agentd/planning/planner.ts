import type { KnownModel } from '#kit/config/known-models.ts';
import type { PatchAuthor } from '#kit/contracts/patch-author.ts';
import type { Refused } from '#kit/errors.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import type { Influence, ValidationPlan } from '../action.ts';
import type { Comment, Repository } from '../ports/forge.ts';
import type { NewEvent } from '../runs/event.ts';
import type { AgentWork, Run } from '../runs/run.ts';
import type { AgentRooms } from './agent-room.ts';
import type { PlannedIssue } from './issue-text.ts';
import type { ChatMessage, Model, ModelUsage, ToolDefinition } from './model.ts';
import type { ContextPassage, JudgedPassage } from './passage.ts';
import type { AgentsConfig, Role } from './roles.ts';
import type { OpenRunKey } from './run-key.ts';
import type { GitScratchCopy } from './scratch-copy.ts';

/** What is known before planning, secrets masked; everything in it that came from outside is data, never an instruction. */
export interface PlanningInput {
  readonly run_id: string;
  readonly repository: Repository;
  readonly issue: PlannedIssue;
  readonly comments: readonly Comment[];
  /** Of who asked for this plan; null without one. */
  readonly note: PlanningNote | null;
  readonly role: Role;
  readonly scratch: GitScratchCopy;
  readonly base_commit: string;
  /** Passages that the context service found; empty without it. */
  readonly context: readonly JudgedPassage[];
  /** Whether outsiders had a hand in passages that a planner read beside these. */
  readonly judge: (passages: readonly ContextPassage[]) => Promise<readonly JudgedPassage[]>;
  /** Why people rejected earlier proposals for this issue. */
  readonly rejections: readonly Rejection[];
  /** null when nothing was found to validate with. */
  readonly validation: ValidationPlan | null;
  /** Runs the validation on the scratch copy, in the sandbox; null where there is none. */
  readonly validate: ((signal: AbortSignal) => Promise<{ passed: boolean; output: string }>) | null;
  /** Folders with prepared dependencies, to mount read-only below the files; null where nothing is validated. */
  readonly prepare:
    | ((signal: AbortSignal) => Promise<readonly { readonly source: string; readonly target: string }[]>)
    | null;
  /** Masks what a planner reads beside the input, and knows what was masked in that. */
  readonly secrets: MaskTally;
  /** Stores each turn as soon as it is complete and gives back those of an interrupted planning. */
  readonly conversation: Conversation;
  /** The same for a coding agent. */
  readonly agent_record: AgentRecord;
  /** One thing that was done or is to be known; it stays on the screen. */
  readonly progress: (text: string) => void;
  /** What is being done now, in place of what was before. */
  readonly status: (text: string) => void;
  readonly signal: AbortSignal;
}

export interface PlanningNote {
  /** Name of the token. */
  readonly by: string;
  readonly text: string;
  /** False where they may not approve. */
  readonly trusted: boolean;
}

/** A person's decision about one action of an earlier run. */
export interface Rejection {
  readonly run_id: string;
  readonly at: string;
  readonly by: string;
  /** Kind of the action. */
  readonly action: string;
  readonly reason: string;
}

/** What was rejected, to know it again. */
export interface RejectedPlan extends Rejection {
  /** sha256 of the patch; null for a plan that only comments. */
  readonly patch: string | null;
  /** sha256 of the explanation, which is the comment where there is no patch. */
  readonly explanation: string;
}

export interface Turn {
  /** Messages that this turn added: the model's, then the answers to its tool calls. */
  readonly messages: readonly ChatMessage[];
  readonly usage: ModelUsage;
  readonly model: string;
  /** Who answered; absent in turns that older versions stored. */
  readonly provider?: string;
}

/** What a conversation begins with. */
export interface Prompt {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
}

export interface Conversation {
  /** Turns stored so far, oldest first. */
  readonly stored: readonly Turn[];
  /** Stores the prompt before it is sent, and gives back what to send: without secrets; of an interrupted planning, the one sent first. */
  open(prompt: Prompt): Promise<readonly ChatMessage[]>;
  /** Gives back the turn as it was stored and goes on from: without secrets. */
  store(turn: Turn): Promise<Turn>;
}

export type AgentEvent = Extract<NewEvent, { type: `agent_${string}` }>;

/** The record of a coding agent's work. */
export interface AgentRecord {
  /** What attempts of this planning that were cut off left; null where there was none. */
  readonly earlier: AgentWork | null;
  append(event: AgentEvent): Promise<void>;
  /** Stores a text without secrets; its sha256. */
  keep(text: string): Promise<string>;
  read(digest: string): Promise<Uint8Array>;
  /**
   * Stores the patch of the scratch copy; null where nothing changed.
   * @throws Refused (`patch_adds_secret`, `change_too_large`), and nothing of it is stored
   */
  keepPatch(): Promise<string | null>;
}

/** What a planner wants; what becomes an action is decided elsewhere. Passages and rejections of its input count as influences of every plan: it lists what it read besides. */
export type Proposal =
  | {
      readonly kind: 'change';
      /** One line, imperative; becomes commit subject and pull request title. */
      readonly title: string;
      /** Why and how, Markdown; becomes the body. */
      readonly explanation: string;
      readonly patch_by: PatchAuthor;
      readonly influences: readonly Influence[];
      /** Facts for the reviewer about how the change was made. */
      readonly notices?: readonly string[];
      /** How a patch that did not fit as written was repaired, for example `HTML entities`; null if it was not. */
      readonly repair?: string | null;
      /** Whose patch an outsider's patch takes the place of, and why; null if it does not. */
      readonly displaces?: string | null;
    }
  | { readonly kind: 'comment'; readonly body: string; readonly influences: readonly Influence[] };

/** Works in the scratch copy and returns a proposal. */
export interface Planner {
  /** As in `plannerKinds`. */
  readonly name: string;
  /** null for planners without a model. */
  readonly model: { readonly model: string; readonly tier: string } | null;
  /** What it reaches beside its model, for the preview and the risk: hosts and credentials. */
  readonly reaches_out?: readonly string[];
  propose(input: PlanningInput): Promise<Proposal>;
  /** After its planning, however that ended; never throws. */
  close?(): Promise<void>;
}

/** What planners are made of, beside their input. */
export interface PlannerServices {
  readonly agents: AgentsConfig;
  /** In the order in which they are configured. */
  readonly models: () => readonly KnownModel[];
  /** A model for one run; its planner closes it. */
  readonly openModel: (known: KnownModel, tier: string, runId: string) => Model;
  /** A key of the gateway for one run, for programs that ask models themselves. */
  readonly openRunKey: OpenRunKey;
  readonly rooms: AgentRooms;
}

/** The run that is planned. */
export type PlannedRun = Pick<Run, 'run_id' | 'request'>;

/** A kind of planner: a line of planners/registry.ts. */
export interface PlannerType {
  /** Why it cannot plan here; null where it can. */
  missing(services: PlannerServices): Refused | null;
  create(services: PlannerServices, role: Role, run: PlannedRun): Planner;
}
