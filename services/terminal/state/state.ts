import type { GivenSignature, ProposedAction } from '#kit/contracts/action.ts';
import type { RunDetail, RunSummary } from '#kit/contracts/run.ts';
import type { IssueThread, RunProgress, UndoPlan } from '#kit/contracts/stored-texts.ts';
import type { Patch } from '#kit/diff/patch.ts';
import type { Size } from '../screen/writer.ts';

export type Gate = ProposedAction['gate'];

/** Whether the daemon answers. `trouble` says what is wrong and what to do. */
export type Link =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  | { readonly state: 'trouble'; readonly word: string; readonly message: string; readonly hint: string };

export interface Notice {
  readonly tone: 'plain' | 'good' | 'bad';
  readonly text: string;
  /** Of the connection: over as soon as the daemon answers again. */
  readonly about?: 'link';
  /** What was approved: by the time it is said, the page knows what is still missing. */
  readonly approved?: readonly Decision[];
}

export const sortings = ['newest', 'changed', 'risk', 'waiting', 'repository'] as const;
export type Sorting = (typeof sortings)[number];

export interface RunsList {
  readonly known: ReadonlyMap<string, RunSummary>;
  /** Filtered and sorted. */
  readonly rows: readonly RunSummary[];
  /** Whether all pages are here. */
  readonly complete: boolean;
  readonly problems: readonly string[];
  readonly selected: string | null;
  /** Index of the first row on the screen. */
  readonly top: number;
  readonly filter: string;
  /** Only runs of these; empty for all. */
  readonly statuses: ReadonlySet<string>;
  /** Only these, which wait for who looks; null for all. */
  readonly inbox: ReadonlySet<string> | null;
  readonly sorting: Sorting;
}

/** How far an action's payload was on the screen. */
export interface Seen {
  readonly digest: string;
  /** In lines of the pane, without a gap from the first. */
  readonly upTo: number;
  readonly layout: string;
  /** Everything that the approval covers was on the screen. */
  readonly whole: boolean;
}

/** What the right side or the whole screen shows: an action by its id, or one of these. */
export type ItemKey = string;
export const otherItems = ['issue', 'plan', 'context'] as const;

export interface Pane {
  /** First row on the screen. */
  readonly top: number;
  /** Stays at the end while a validation writes there. */
  readonly tail: boolean;
  readonly folded: ReadonlySet<number>;
  readonly split: 'auto' | 'on' | 'off';
  readonly tree: boolean;
  /** Lower-case searches find every case. */
  readonly search: string;
}

export interface OpenRun {
  readonly run_id: string;
  readonly detail: RunDetail | null;
  /** Always that of the action that would apply it: another one is no longer shown. */
  readonly patch: Patch | null;
  readonly patchDigest: string | null;
  /** Why the patch cannot be shown; null while it can or may be. */
  readonly patchTrouble: string | null;
  readonly issue: IssueThread | null;
  readonly explanation: string | null;
  /** What the validation said, live or from its record. */
  readonly output: readonly string[];
  /** Whether the output is that of the record. */
  readonly recorded: boolean;
  /** The texts as they were sent, by action. */
  readonly sent: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly progress: (RunProgress & { readonly since: number }) | null;
  readonly selected: ItemKey;
  /** The selection goes with what is executed, until the person selects something. */
  readonly following: boolean;
  readonly zoomed: boolean;
  readonly pane: Pane;
  readonly seen: Readonly<Record<string, Seen>>;
  /** Actions that were decided here: the answer says what came of it. */
  readonly decided: ReadonlySet<string>;
  /** The gate whose actions are being shown one after the other. */
  readonly review: Gate | null;
}

export interface Decision {
  readonly action_id: string;
  readonly digest: string;
  readonly seen_approval: ProposedAction['approval'];
}

/** With the signature, where it was signed. */
export type SignedDecision = Decision & { readonly signature?: GivenSignature };

export type Question =
  | { readonly for: 'filter' }
  | { readonly for: 'search' }
  | { readonly for: 'plan' }
  | { readonly for: 'path'; readonly actions: readonly string[] }
  | { readonly for: 'reason'; readonly decision: Decision; readonly what: string }
  /** The word that approves critical actions. */
  | { readonly for: 'word'; readonly decisions: readonly Decision[]; readonly what: string }
  /** The word that approves what the daemon refused to approve without. */
  | { readonly for: 'anyway'; readonly decisions: readonly Decision[] };

/** Where a branch can be delivered to: a working copy that the daemon knows by name, or a folder. */
export type Place = { readonly name: string } | { readonly folder: string; readonly about: string };

export type Dialog =
  | { readonly kind: 'question'; readonly question: Question; readonly text: string }
  | { readonly kind: 'gate'; readonly gate: Gate; readonly top: number }
  | {
      readonly kind: 'execute';
      readonly places: readonly Place[];
      readonly at: number;
      readonly actions: readonly string[];
    }
  | { readonly kind: 'undo'; readonly steps: UndoPlan['steps']; readonly top: number }
  /** Whether the approvals are signed; `text` says why they must be. */
  | {
      readonly kind: 'sign';
      readonly decisions: readonly Decision[];
      readonly anyway: boolean;
      readonly said: string;
      readonly text: string;
    }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'quit' }
  /** Which statuses are listed. */
  | { readonly kind: 'statuses'; readonly at: number }
  | { readonly kind: 'help'; readonly top: number };

export interface State {
  readonly size: Size;
  /** Milliseconds since 1970, to the second. */
  readonly now: number;
  readonly link: Link;
  /** Names of the daemon's working copies; null until known. */
  readonly checkouts: readonly string[] | null;
  /** Where the terminal was opened, when that is a working copy. */
  readonly here: string | null;
  /** Of `here`; what a bare number of an issue is taken for. */
  readonly hereRepository: { readonly owner: string; readonly repo: string } | null;
  readonly runs: RunsList;
  readonly open: OpenRun | null;
  /** What was read of runs whose page was left. */
  readonly left: ReadonlyMap<string, Pick<OpenRun, 'seen' | 'selected' | 'pane'>>;
  readonly dialog: Dialog | null;
  readonly notice: Notice | null;
  /** What was asked of the daemon and is not answered yet. */
  readonly asking: string | null;
  /** Whether this program executes something itself: leaving would cut that off. */
  readonly executingHere: boolean;
}

export const freshPane: Pane = {
  top: 0,
  tail: false,
  folded: new Set(),
  split: 'auto',
  tree: true,
  search: '',
};

export function initialState(
  size: Size,
  now: number,
  here: string | null,
  hereRepository: State['hereRepository'] = null,
): State {
  return {
    size,
    now,
    link: { state: 'connecting' },
    checkouts: null,
    here,
    hereRepository,
    runs: {
      known: new Map(),
      rows: [],
      complete: false,
      problems: [],
      selected: null,
      top: 0,
      filter: '',
      statuses: new Set(),
      inbox: null,
      sorting: 'newest',
    },
    open: null,
    left: new Map(),
    dialog: null,
    notice: null,
    asking: null,
    executingHere: false,
  };
}

export function openRun(run_id: string): OpenRun {
  return {
    run_id,
    detail: null,
    patch: null,
    patchDigest: null,
    patchTrouble: null,
    issue: null,
    explanation: null,
    output: [],
    recorded: false,
    sent: {},
    progress: null,
    selected: '',
    following: false,
    zoomed: false,
    pane: freshPane,
    seen: {},
    decided: new Set(),
    review: null,
  };
}

export function actionOf(open: OpenRun, key: ItemKey): ProposedAction | null {
  return open.detail?.actions.find(({ action_id }) => action_id === key) ?? null;
}

/** The digest of the patch that the run would apply; null where it applies none, or names two. */
export function appliedPatch(detail: RunDetail): string | null {
  const { patch: planned } = (detail.plan ?? {}) as { patch?: unknown };
  const digests = [
    planned,
    ...detail.actions
      .filter(({ kind }) => kind === 'apply_patch')
      .flatMap(({ params, artifacts }) => [params.patch, artifacts.patch]),
  ];
  const [first] = digests;
  return typeof first === 'string' && digests.every((digest) => digest === first) ? first : null;
}

/** What can be selected on a run's page, in order. */
export function itemsOf({ detail }: OpenRun): readonly ItemKey[] {
  if (detail === null) return [];
  return [...otherItems, ...detail.actions.map(({ action_id }) => action_id)];
}

/** Whether a decision about it can still be made or changed. */
export function isOpen({ state }: Pick<ProposedAction, 'state'>): boolean {
  return state === 'pending' || state === 'refused' || state === 'blocked';
}

/** Whether it waits for an approval: the first one, or one in place of what does not count any more. */
export function needsApproval({
  state,
  approval,
  approval_lapsed,
}: Pick<ProposedAction, 'state' | 'approval' | 'approval_lapsed'>): boolean {
  return isOpen({ state }) && (approval === 'required' || approval_lapsed === true);
}

/** Whether somebody works on the run. */
export function isBusy({ status, undo }: RunDetail): boolean {
  return status === 'executing' || status === 'planning' || undo?.finished === false;
}
