import type { RunDetail, RunSummary } from '#kit/contracts/run.ts';
import type { IssueThread, RunProgress, UndoPlan } from '#kit/contracts/stored-texts.ts';
import type { Patch } from '#kit/diff/patch.ts';
import type { Input } from '../screen/keys.ts';
import type { Size } from '../screen/writer.ts';
import type { Decision, Link, Notice } from './state.ts';

/** Which lines of an action's payload a frame has brought to the screen. */
export interface Shown {
  readonly action_id: string;
  readonly digest: string;
  /** Of each row of the pane on the screen, in lines from the payload's beginning. */
  readonly spans: readonly (readonly [begin: number, end: number])[];
  /** Where the payload ends. */
  readonly payloadEnd: number;
  /** How the payload was laid out; another layout has other rows. */
  readonly layout: string;
  /** Where the patch begins, in lines; null without one. */
  readonly patchBegin: number | null;
}

/** Everything that changes the state. */
export type Message =
  | { readonly kind: 'input'; readonly input: Input }
  | { readonly kind: 'resized'; readonly size: Size }
  | { readonly kind: 'tick'; readonly now: number }
  | { readonly kind: 'link'; readonly link: Link }
  | {
      readonly kind: 'runs';
      readonly runs: readonly RunSummary[];
      readonly complete: boolean;
      readonly problems: readonly string[];
    }
  | { readonly kind: 'changed-runs'; readonly runs: readonly RunSummary[] }
  /** The runs in which something waits for who looks. */
  | { readonly kind: 'inbox'; readonly run_ids: readonly string[]; readonly again: boolean }
  | { readonly kind: 'checkouts'; readonly names: readonly string[] }
  /** `run_id`: as it was asked for, perhaps the beginning of an identifier. */
  | { readonly kind: 'run'; readonly run_id: string; readonly detail: RunDetail }
  | { readonly kind: 'patch'; readonly run_id: string; readonly digest: string; readonly patch: Patch }
  /** It cannot be had; `text` says why. */
  | { readonly kind: 'no-patch'; readonly run_id: string; readonly digest: string; readonly text: string }
  | { readonly kind: 'issue'; readonly run_id: string; readonly issue: IssueThread }
  | { readonly kind: 'explanation'; readonly run_id: string; readonly text: string }
  | { readonly kind: 'recorded-output'; readonly run_id: string; readonly lines: readonly string[] }
  | { readonly kind: 'progress'; readonly run_id: string; readonly progress: RunProgress }
  | {
      readonly kind: 'sent';
      readonly run_id: string;
      readonly action_id: string;
      readonly rendered: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'undo-plan'; readonly run_id: string; readonly steps: UndoPlan['steps'] }
  /** An approval that the daemon takes only with `anyway`; `text` says why. */
  | {
      readonly kind: 'needs-anyway';
      readonly run_id: string;
      readonly decisions: readonly Decision[];
      readonly text: string;
    }
  /** Approvals that the daemon takes only signed; `said` is to be said once they are. */
  | {
      readonly kind: 'needs-signature';
      readonly run_id: string;
      readonly decisions: readonly Decision[];
      readonly anyway: boolean;
      readonly said: string;
      readonly text: string;
    }
  /** The daemon knows no such run. */
  | { readonly kind: 'no-run'; readonly run_id: string; readonly text: string }
  | { readonly kind: 'planned'; readonly run_id: string }
  /** What was asked for is done, or was refused. */
  | { readonly kind: 'answered'; readonly notice: Notice | null }
  /** What became of something that was not asked of the daemon. */
  | { readonly kind: 'notice'; readonly notice: Notice }
  | { readonly kind: 'drawn'; readonly shown: Shown }
  /** An execution that this program itself does has begun, or ended. */
  | { readonly kind: 'executing-here'; readonly running: boolean }
  /** Something looks better when it is drawn again. */
  | { readonly kind: 'redraw' };

/** Everything that a step can ask to be done outside the state. */
export type Effect =
  | { readonly kind: 'open'; readonly run_id: string }
  | { readonly kind: 'close' }
  | {
      readonly kind: 'decide';
      readonly run_id: string;
      readonly decision: 'approve' | 'reject';
      readonly actions: readonly Decision[];
      readonly reason: string | null;
      /** Approves also what builds on a validation that failed. */
      readonly anyway: boolean;
      /** What is to be said when all of it is decided. */
      readonly said: string;
    }
  /** Approves, each decision signed with the person's SSH key. */
  | {
      readonly kind: 'sign';
      readonly run_id: string;
      readonly actions: readonly Decision[];
      readonly anyway: boolean;
      readonly said: string;
    }
  | {
      readonly kind: 'execute';
      readonly run_id: string;
      readonly checkout: string | null;
      readonly actions: readonly string[];
    }
  /** As a child of this program, delivering to a folder. */
  | {
      readonly kind: 'execute-here';
      readonly run_id: string;
      readonly folder: string;
      readonly actions: readonly string[];
    }
  | { readonly kind: 'resume'; readonly run_id: string }
  | { readonly kind: 'cancel'; readonly run_id: string }
  | { readonly kind: 'ask-undo'; readonly run_id: string }
  /** `shown`: the steps that stood on the screen; another plan is shown instead of carried out. */
  | { readonly kind: 'undo'; readonly run_id: string; readonly shown: UndoPlan['steps'] }
  | { readonly kind: 'browse'; readonly url: string }
  /** To the clipboard; `what` names it. */
  | { readonly kind: 'copy'; readonly text: string; readonly what: string }
  /** In the person's editor, at a line from 1. */
  | { readonly kind: 'edit'; readonly text: string; readonly line: number }
  | {
      readonly kind: 'plan';
      readonly owner: string;
      readonly repo: string;
      readonly number: number;
      readonly keep: boolean;
      readonly anyway: boolean;
    }
  /** `again`: for a list that shows the inbox already. */
  | { readonly kind: 'ask-inbox'; readonly again: boolean }
  | { readonly kind: 'repaint' }
  | { readonly kind: 'quit' };

export interface Step<S> {
  readonly state: S;
  readonly effects: readonly Effect[];
}
