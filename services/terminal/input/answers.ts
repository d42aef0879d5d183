import { homedir } from 'node:os';
import { approvalWord, isApprovalWord } from '#kit/contracts/approval-word.ts';
import type { Panes } from '../layout/pane-content.ts';
import type { Step } from '../state/messages.ts';
import type { Question, State } from '../state/state.ts';
import { asked, only } from '../state/steps.ts';
import { anywayWord, decide } from './deciding.ts';
import { searched } from './pane-input.ts';
import { executing } from './work.ts';

export function answerQuestion(state: State, question: Question, text: string, panes: Panes): Step<State> {
  const { open } = state;
  const closed: State = { ...state, dialog: null };
  const answer = text.trim();
  switch (question.for) {
    case 'filter':
      return only(closed);
    case 'plan':
      return planned(state, answer);
    case 'search':
      return only(open === null ? closed : searched(closed, open, text, panes));
    case 'reason':
      if (open === null) return only(closed);
      if (answer === '') return wrong(state, 'A rejection needs a reason: the next planning learns from it');
      return asked(state, 'rejecting', {
        kind: 'decide',
        run_id: open.run_id,
        decision: 'reject',
        actions: [question.decision],
        reason: answer,
        anyway: false,
        said: `Rejected ${question.what}`,
      });
    case 'word':
      if (open === null) return only(closed);
      if (!isApprovalWord(answer)) {
        return wrong(state, `Nothing was approved: type the word '${approvalWord}', or press escape`);
      }
      return decide(closed, open, question.decisions);
    case 'anyway':
      if (open === null) return only(closed);
      if (answer.toLowerCase() !== anywayWord) {
        return wrong(state, `Nothing was approved: type the word '${anywayWord}', or press escape`);
      }
      return decide(closed, open, question.decisions, true);
    case 'path':
      if (open === null) return only(closed);
      if (!/^~?\//.test(answer)) {
        return wrong(state, `'${answer}' is not the whole path of a folder, for example /home/you/thing`);
      }
      return executing(state, {
        kind: 'execute-here',
        run_id: open.run_id,
        folder: atHome(answer),
        actions: question.actions,
      });
  }
}

function atHome(path: string): string {
  return path.startsWith('~/') ? `${homedir()}${path.slice(1)}` : path;
}

function planned(state: State, answer: string): Step<State> {
  const [issue = '', ...flags] = answer.split(/\s+/);
  const digits = /^#?(\d{1,9})$/.exec(issue)?.[1];
  const here = digits === undefined ? null : repositoryMeant(state);
  if (digits !== undefined && here === null)
    return wrong(state, `Name the repository too: OWNER/REPO#${digits}`);
  const named = here === null ? issueNamed(issue) : { ...here, number: Number(digits) };
  if (named === null || !flags.every((flag) => flag === '--keep' || flag === '--anyway')) {
    return wrong(
      state,
      `'${answer}' is not 12, owner/repo#12 or the address of an issue, with --keep or --anyway behind it`,
    );
  }
  const { owner, repo, number } = named;
  const asks = { keep: flags.includes('--keep'), anyway: flags.includes('--anyway') };
  const said = `planning ${owner}/${repo}#${number}`;
  return asked(state, said, { kind: 'plan', owner, repo, number, ...asks });
}

interface NamedIssue {
  readonly owner: string;
  readonly repo: string;
  readonly number: number;
}

/** `owner/repo#12`, or the address of the issue's page, whose path ends alike on every forge. */
function issueNamed(text: string): NamedIssue | null {
  const [, owner, repo, number] =
    /^([^\s/#]+)\/([^\s/#]+)#(\d{1,9})$/.exec(text) ??
    /^https?:\/\/\S+\/([^\s/#]+)\/([^\s/#]+)\/issues\/(\d{1,9})(?:[?#/]\S*)?$/i.exec(text) ??
    [];
  return owner === undefined || repo === undefined ? null : { owner, repo, number: Number(number) };
}

/** A bare number is of the repository where the terminal was opened, else of the only one that has runs. */
function repositoryMeant({ hereRepository, runs }: State): Omit<NamedIssue, 'number'> | null {
  if (hereRepository !== null) return hereRepository;
  const known = new Map(
    [...runs.known.values()].map(({ owner, repo }) => [`${owner}/${repo}`, { owner, repo }]),
  );
  return known.size === 1 ? [...known.values()][0]! : null;
}

/** The question stays open, with what is wrong beside it. */
function wrong(state: State, text: string): Step<State> {
  return only({ ...state, notice: { tone: 'bad', text } });
}
