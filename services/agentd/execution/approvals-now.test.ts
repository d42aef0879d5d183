import { expect } from 'chai';
import fc from 'fast-check';
import { codeOf } from '#kit/errors.ts';
import { createToken, openTokens, revokeToken, rotateToken } from '#kit/tokens/tokens.ts';
import { planned, sampleRequest } from '../../../test/contract/run-store.sample.ts';
import { unsigned } from '../../../test/fixtures/approved/unsigned.ts';
import { withoutRules } from '../../../test/fixtures/approved/without-rules.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import type { Person } from '../agent.ts';
import type { ApprovalsNow } from '../approval/current.ts';
import type { NewEvent } from '../runs/event.ts';
import { beforeFirst, writeLines } from '../runs/log/event-line.ts';
import { fold } from '../runs/log/fold.ts';
import type { Run } from '../runs/run.ts';
import { checkStory } from '../runs/verify/story.ts';
import { newRotations, problemNow } from './approvals-now.ts';
import { decideActions } from './decisions.ts';

const runId = 'run_0199f3c2-0000-7000-8000-000000000000';
const day = 86_400_000;

const steps = [
  'create',
  'create for a day',
  'revoke',
  'rotate',
  'approve',
  'a day passes',
  'execute',
] as const;
type Step = (typeof steps)[number];

/** A token of the name, as far as approvals are concerned. */
interface Made {
  readonly text: string;
  readonly expires: number | null;
  ended: 'rotated' | 'revoked' | 'replaced after it expired' | null;
}

/** One name, one action of one run, with real tokens in a folder. */
class Scene {
  readonly folders = { tokens: temporaryFolder() };
  readonly made: Made[] = [];
  now = Date.now();
  /** Which of `made` approved last. */
  approvedBy: number | null = null;
  events: NewEvent[] = [
    { type: 'run_created', data: { request: sampleRequest(), head_kept: undefined } },
    ...planned(runId),
  ];

  get current(): ApprovalsNow {
    return { ...withoutRules, tokens: openTokens(this.folders).list() };
  }

  get run(): Run {
    return fold(runId, this.lines);
  }

  get lines() {
    return writeLines(beforeFirst, new Date(this.now).toISOString(), this.events).lines;
  }

  inForce(): boolean {
    const last = this.made.at(-1);
    return last?.ended === null && (last.expires === null || last.expires > this.now);
  }

  /** By the words of the documentation: an approval counts unless its token, or one that has its name since, was revoked. */
  counts(): boolean {
    return (
      this.approvedBy !== null && this.made.slice(this.approvedBy).every(({ ended }) => ended !== 'revoked')
    );
  }

  take(step: Step): void {
    const last = this.made.at(-1);
    switch (step) {
      case 'create':
      case 'create for a day':
        if (this.inForce()) expect(codeThrown(() => this.create(null))).to.equal('token_exists');
        else {
          if (last?.ended === null) last.ended = 'replaced after it expired';
          this.create(step === 'create' ? null : this.now + day / 2);
        }
        break;
      case 'revoke':
        if (last === undefined) break;
        revokeToken(this.folders, 'mira');
        last.ended = 'revoked';
        break;
      case 'rotate':
        this.rotate(last);
        break;
      case 'approve':
        this.approve();
        break;
      case 'a day passes':
        this.now += day;
        break;
      case 'execute':
        this.execute();
    }
  }

  rotate(last: Made | undefined): void {
    const rotate = () => rotateToken(this.folders, { name: 'mira' }, this.now);
    if (!this.inForce()) {
      const code = last === undefined ? 'token_not_found' : 'token_not_in_force';
      expect(codeThrown(rotate)).to.equal(code);
      return;
    }
    const { text } = rotate();
    last!.ended = 'rotated';
    this.made.push({ text, expires: last!.expires, ended: null });
  }

  create(expires: number | null): void {
    const until = expires === null ? null : new Date(expires).toISOString();
    const { text } = createToken(
      this.folders,
      { name: 'mira', scopes: ['approve'], expires: until },
      this.now,
    );
    this.made.push({ text, expires, ended: null });
  }

  approve(): void {
    const identities = this.made.map(({ text }) =>
      openTokens(this.folders, () => this.now).authenticate(text),
    );
    const [by] = identities.slice(-1);
    expect(identities.slice(0, -1).every((one) => one === null)).to.equal(true);
    expect(by !== undefined && by !== null).to.equal(this.inForce());
    if (by === undefined || by === null) return;
    this.events.push(...decisions(this.run, by));
    this.approvedBy = this.made.length - 1;
  }

  execute(): void {
    const { run } = this;
    const [action] = run.actions;
    if (action!.decision === null) return;
    const problem = problemNow(run, action!, new Date(this.now).toISOString(), () => this.current);
    expect(problem?.code ?? null).to.equal(this.counts() ? null : 'approver_revoked');
    if (problem !== null) return;
    const rotations = newRotations(run, action!, () => this.current);
    this.events.push(...rotations.map((data) => ({ type: 'token_rotated', data }) as const));
  }
}

function decisions(run: Run, by: Person): NewEvent[] {
  const { action_id, digest } = run.actions[0]!.definition;
  const request = {
    run_id: runId,
    decision: 'approve' as const,
    actions: [{ action_id, digest }],
    reason: null,
    claimed_approver: null,
    by,
  };
  return decideActions(run, request, { expires_after_days: 90, people: {}, stands: () => true }, unsigned);
}

function codeThrown(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    return codeOf(error);
  }
  return undefined;
}

describe('An approval', () => {
  it('counts until its token, or one that continues it, is revoked: in any order of what happens to tokens', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...steps), { maxLength: 14 }), (taken) => {
        const scene = new Scene();
        for (const step of taken) scene.take(step);
        scene.take('execute');
        expect(checkStory(runId, scene.lines)).to.deep.equal([]);
      }),
      { numRuns: 60 },
    );
  });

  it('does not count again once another token has the name', () => {
    const scene = new Scene();
    for (const step of ['create', 'approve', 'revoke', 'create'] as const) scene.take(step);
    const [action] = scene.run.actions;
    const problem = problemNow(scene.run, action!, new Date().toISOString(), () => scene.current);
    expect(problem?.code).to.equal('approver_revoked');
    expect(problem?.message).to.contain('a new token with that name does not restore its approvals');
  });

  it('counts after rotations, which the record names once each', () => {
    const scene = new Scene();
    for (const step of [
      'create',
      'approve',
      'rotate',
      'execute',
      'rotate',
      'rotate',
      'execute',
      'execute',
    ] as const)
      scene.take(step);
    const digests = scene.run.rotations.map(({ from, to }) => [from, to]);
    const { former = [], sha256 } = scene.current.tokens[0]!;
    const chain = [...former.map((one) => one.sha256), sha256];
    expect(digests).to.deep.equal(chain.slice(1).map((to, index) => [chain[index], to]));
  });

  it('is followed by rotations in the record, which an offline check judges', () => {
    const scene = new Scene();
    for (const step of ['create', 'approve', 'rotate', 'execute'] as const) scene.take(step);
    const rotated = scene.events.at(-1)!;
    const approved = scene.events.find(({ type }) => type === 'approval_recorded')!;
    const whatOf = (events: readonly NewEvent[]) => {
      const { lines } = writeLines(beforeFirst, new Date().toISOString(), events);
      return checkStory(runId, lines).map(({ what }) => what.replaceAll(/[0-9a-f]{12}/g, '…'));
    };
    expect(whatOf(scene.events)).to.deep.equal([]);
    expect(whatOf([...scene.events, rotated])).to.deep.equal([
      'the token … of mira was rotated twice',
      'the token … of mira was rotated to one that had decided already',
    ]);
    expect(whatOf([...scene.events, approved]).join()).to.contain('with a token that had been rotated');
    expect(whatOf(scene.events.filter((event) => event !== approved)).join()).to.contain(
      'decided nothing here',
    );
  });

  it('does not count where the installation does not know its token', () => {
    const scene = new Scene();
    for (const step of ['create', 'approve'] as const) scene.take(step);
    const [action] = scene.run.actions;
    const none = { ...scene.current, tokens: [] };
    expect(problemNow(scene.run, action!, new Date().toISOString(), () => none)?.code).to.equal(
      'approver_revoked',
    );
  });

  it('of an older version, which names no token, is that of the token that had the name at its time', () => {
    const scene = new Scene();
    for (const step of ['create', 'approve'] as const) scene.take(step);
    const unnamed = scene.events.map((event) =>
      event.type === 'approval_recorded'
        ? { ...event, data: { ...event.data, approval: { ...event.data.approval, token: undefined } } }
        : event,
    );
    const problem = () => {
      scene.events = unnamed;
      return problemNow(scene.run, scene.run.actions[0]!, new Date().toISOString(), () => scene.current)
        ?.code;
    };
    expect(problem()).to.equal(undefined);
    scene.take('rotate');
    expect(problem()).to.equal(undefined);
    scene.take('revoke');
    scene.take('create');
    expect(problem()).to.equal('approver_revoked');
  });
});
