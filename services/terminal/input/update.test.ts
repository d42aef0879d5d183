import { expect } from 'chai';
import { openedSample, PaperTerminal, sampleDetail } from '../../../test/fixtures/terminal/sample.ts';

/** Too low for the list with an action below it, high enough for the action alone. */
const small = { columns: 80, rows: 18 };

function row(index: number) {
  const { run_id } = sampleDetail();
  return {
    run_id: run_id.slice(0, -4) + String(index).padStart(4, '0'),
    status: index % 3 === 0 ? ('completed' as const) : ('awaiting_approval' as const),
    forge: 'local',
    owner: 'demo',
    repo: index % 2 === 0 ? 'hello' : 'world',
    number: index,
    title: `Title ${index}`,
    role: 'Depute',
    created_at: '2026-11-21T09:00:00.000Z',
    updated_at: '2026-11-21T09:00:00.000Z',
    highest_risk: index === 7 ? 'critical' : 'low',
    waiting: 1,
    waits_for: 'build' as const,
    actions: 7,
  };
}

function withRuns(count: number, size = { columns: 100, rows: 20 }) {
  const terminal = new PaperTerminal(size);
  const runs = Array.from({ length: count }, (_, index) => row(index));
  return terminal.send({ kind: 'runs', runs, complete: true, problems: [] });
}

describe('The list of runs', () => {
  it('shows the newest first, filters while one types, and shows all again', () => {
    const terminal = withRuns(10);
    expect(terminal.draw()[2]).to.contain('demo/world#9');
    terminal.keys('/', 'h', 'e', 'l', 'l', 'o');
    expect(terminal.screen()).to.contain("5 of 10 runs, with 'hello'").and.not.to.contain('world');
    terminal.keys('enter', 'escape');
    expect(terminal.draw()[0]).to.contain('10 runs');
  });

  it('sorts, keeps what is selected, and lists only the statuses that are marked', () => {
    const terminal = withRuns(10).keys('s', 's');
    expect(terminal.draw()[2]).to.contain('#7').and.to.contain('CRIT');
    expect(terminal.state.runs.selected).to.equal(row(9).run_id);
    terminal.keys('f', ' ', 'enter');
    expect(terminal.screen()).to.contain(', awaiting approval').and.not.to.contain('completed');
    terminal.keys('f', 'j', ' ');
    expect(terminal.screen()).to.contain('[x] awaiting approval').and.to.contain('[x] completed');
    terminal.keys('enter');
    expect(terminal.draw()[0]).to.contain('10 runs, by risk, awaiting approval or completed');
    terminal.keys('f', 'a', 'enter');
    expect(terminal.draw()[0]).to.contain('10 runs, by risk').and.not.to.contain(' or ');
  });

  it('lists only what waits for who looks, follows it, and shows all again', () => {
    const terminal = withRuns(10).keys('i');
    expect(terminal.taken()).to.deep.equal([{ kind: 'ask-inbox', again: false }]);
    const run_ids = [row(4).run_id, row(4).run_id, row(7).run_id];
    terminal.send({ kind: 'inbox', run_ids, again: false });
    expect(terminal.draw()[0]).to.contain('2 of 10 runs, waiting for you');
    terminal.send({ kind: 'changed-runs', runs: [row(7)] });
    expect(terminal.taken()).to.deep.equal([{ kind: 'ask-inbox', again: true }]);
    terminal.send({ kind: 'inbox', run_ids: [], again: true });
    expect(terminal.screen()).to.contain('Nothing waits for you. escape shows all again.');
    terminal.keys('i');
    terminal.send({ kind: 'inbox', run_ids: [], again: true });
    expect(terminal.draw()[0]).to.contain('10 runs').and.to.not.contain('waiting');
  });

  it('copies the identifier of the run that is selected', () => {
    const [copied] = withRuns(2).keys('y').taken();
    expect(copied).to.deep.include({ kind: 'copy', text: row(1).run_id });
  });

  it('fits 60 and 80 columns, the number of the issue and the title among what stays', () => {
    for (const columns of [60, 80]) {
      const terminal = new PaperTerminal({ columns, rows: 24 });
      const long = { ...row(1), owner: 'acme-industries', repo: 'greeting-service' };
      terminal.send({ kind: 'runs', runs: [long], complete: true, problems: [] });
      const [, head, line] = terminal.draw();
      expect(head).to.contain('title').and.to.contain('risk');
      expect(line).to.contain(long.title.slice(0, 6));
      expect(line).to.match(/greeting-service#\d+ /);
      for (const one of terminal.draw()) expect(one.trimEnd().length).to.be.at.most(columns);
    }
  });

  it('follows changes of ten thousand runs without losing its place', () => {
    const terminal = withRuns(9_999).keys('G');
    expect(terminal.screen()).to.contain('demo/hello#0');
    terminal.send({ kind: 'changed-runs', runs: [{ ...row(0), status: 'failed' }] });
    expect(terminal.screen()).to.match(/demo\/hello#0 +failed/);
    terminal.keys('enter');
    expect(terminal.taken()).to.deep.equal([{ kind: 'open', run_id: row(0).run_id }]);
  });

  it('plans an issue, and takes --keep and --anyway', () => {
    const issue = { kind: 'plan', owner: 'demo', repo: 'hello', number: 7 };
    const planning = (text: string) => withRuns(1).keys('n', ...text, 'enter');
    expect(planning('demo/hello#7').taken()).to.deep.equal([{ ...issue, keep: false, anyway: false }]);
    expect(planning('demo/hello#7 --keep').taken()).to.deep.equal([{ ...issue, keep: true, anyway: false }]);
    expect(planning('demo/hello#7 --anyway').taken()).to.deep.equal([
      { ...issue, keep: false, anyway: true },
    ]);
    const wrong = planning('demo/hello#7 --kept');
    expect(wrong.taken()).to.deep.equal([]);
    expect(wrong.screen()).to.contain('is not 12, owner/repo#12');
    const page = 'https://git.host/forge/demo/hello/issues/7';
    expect(planning(page).taken()).to.deep.equal([{ ...issue, keep: false, anyway: false }]);
  });

  it('takes a bare number for the repository here, else for the only one with runs', () => {
    const planned = (owner: string, repo: string) => [
      { kind: 'plan', owner, repo, number: 7, keep: false, anyway: false },
    ];
    expect(withRuns(1).keys('n', '7', 'enter').taken()).to.deep.equal(planned('demo', 'hello'));
    const two = withRuns(1);
    two.send({ kind: 'changed-runs', runs: [{ ...row(1), repo: 'other' }] });
    two.keys('n', '7', 'enter');
    expect(two.taken()).to.deep.equal([]);
    expect(two.screen()).to.contain('Name the repository too: OWNER/REPO#7');
    two.state = { ...two.state, hereRepository: { owner: 'you', repo: 'thing' } };
    expect(two.keys('enter').taken()).to.deep.equal(planned('you', 'thing'));
  });

  it('says how to begin where there is none', () => {
    expect(withRuns(0).screen()).to.contain("./core plan 'OWNER/REPO#N'");
  });
});

describe('Approving', () => {
  it('sends the digest of what was on the screen', () => {
    const terminal = openedSample().keys('a');
    const [action] = sampleDetail().actions;
    expect(terminal.taken()).to.deep.equal([
      {
        kind: 'decide',
        run_id: action!.run_id,
        decision: 'approve',
        actions: [{ action_id: action!.action_id, digest: action!.digest, seen_approval: 'required' }],
        reason: null,
        anyway: false,
        said: 'Approved 1 create_branch; x executes what is approved',
      },
    ]);
  });

  it('takes the word anyway where the daemon refuses to approve without, and sends the same decisions', () => {
    const terminal = openedSample().keys('a');
    const [first] = terminal.taken();
    const { run_id, actions } = first as Extract<typeof first, { kind: 'decide' }>;
    const text = '3 run_validation failed: node --test ended with exit status 1';
    terminal.send({ kind: 'needs-anyway', run_id, decisions: actions, text });
    terminal.send({ kind: 'answered', notice: { tone: 'bad', text } });
    expect(terminal.screen()).to.contain("type 'anyway'").and.to.contain('3 run_validation failed');
    expect(terminal.keys('y', 'enter').taken()).to.deep.equal([]);
    expect(terminal.screen()).to.contain('Nothing was approved');
    const [again] = terminal.keys('backspace', ...'anyway', 'enter').taken();
    expect(again).to.deep.include({ kind: 'decide', decision: 'approve', actions, anyway: true });
  });

  it('shows an action first where only the list has been on the screen', () => {
    const terminal = openedSample(small).keys('a');
    expect(terminal.taken()).to.deep.equal([]);
    expect(terminal.screen())
      .to.contain('This is what would be approved')
      .and.to.contain('What would happen');
    expect(terminal.keys('a').taken()).to.have.length(1);
  });

  it('shows the rest of an action of which a part has been on the screen, at 80 columns too', () => {
    const terminal = openedSample({ columns: 80, rows: 24 }).keys('a');
    expect(terminal.taken()).to.deep.equal([]);
    expect(terminal.screen()).to.contain('Not yet on the screen').and.to.contain('all seen');
    expect(terminal.keys('a').taken()).to.have.length(1);
  });

  it('never approves an action that changed while it was on the screen', () => {
    const terminal = openedSample();
    const changed = sampleDetail(({ actions }) => {
      actions[0]!.digest = 'e'.repeat(64);
      actions[0]!.params.branch = 'another';
    });
    terminal.send({ kind: 'run', run_id: changed.run_id, detail: changed });
    // Before the next frame: the person presses the key for what is still on the screen.
    terminal.send({ kind: 'input', input: { kind: 'key', key: 'a' } });
    expect(terminal.taken()).to.deep.equal([]);
    expect(terminal.screen()).to.contain('It changed while it was on the screen').and.to.contain('another');
  });

  it('takes none of a run that was superseded, and names the newer one', () => {
    const terminal = openedSample();
    const newer = 'run_0199f3c2-0000-7000-8000-000000000002';
    const detail = sampleDetail((run) => {
      run.status = 'superseded';
      run.superseded_by = newer;
    });
    terminal.send({ kind: 'run', run_id: detail.run_id, detail });
    expect(terminal.screen()).to.contain('The issue was planned again').and.to.contain(newer);
    for (const key of ['a', 'r', 'A', 'x']) {
      expect(terminal.keys(key).screen(), key).to.contain(`The run was superseded: ${newer}`);
      expect(terminal.taken(), key).to.deep.equal([]);
    }
  });

  it('shows that the base moved before the publish gate is approved', () => {
    const begun = (detail: { status: string }) => Object.assign(detail, { status: 'executing' });
    const moved = { base_branch: 'main', commit: 'f'.repeat(40), files: ['src/greet.js'] };
    const terminal = openedSample(
      undefined,
      sampleDetail((run) => void begun(run)),
    );
    const detail = sampleDetail((run) => {
      run.base_moved = moved;
    });
    terminal.send({ kind: 'run', run_id: detail.run_id, detail });
    expect(terminal.screen()).to.contain('main is at fffffff by now and changed src/greet.js');
  });

  it('does not show an action as long as its patch is not there', () => {
    const terminal = new PaperTerminal();
    const detail = sampleDetail();
    terminal
      .send({ kind: 'planned', run_id: detail.run_id })
      .send({ kind: 'run', run_id: detail.run_id, detail });
    terminal.taken();
    terminal.keys('j', 'a');
    expect(terminal.screen()).to.contain('The patch is being read');
    expect(terminal.taken()).to.deep.equal([]);
  });

  it('takes an action only when it was shown to its end, and a critical one with the word', () => {
    const detail = sampleDetail(({ actions }) => {
      actions[1]!.risk = 'critical';
    });
    const lines = Array.from({ length: 90 }, (_, index) => `+line ${index}`);
    const patch = `diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,90 @@\n${lines.join('\n')}\n`;
    const terminal = openedSample(undefined, detail, patch).keys('j', 'a');
    expect(terminal.screen()).to.contain('Not yet on the screen');
    expect(terminal.keys('G', 'a').screen(), 'a jump leaves a gap').to.contain('Not yet on the screen');
    terminal.keys('g', ' ', ' ', ' ', ' ', 'a');
    expect(terminal.draw().at(-1)).to.contain("type 'approve' for 2 apply_patch:");
    expect(terminal.keys('y', 'enter').taken()).to.deep.equal([]);
    terminal.keys('backspace', ...'approve', 'enter');
    expect(terminal.taken()[0]).to.include({ kind: 'decide', decision: 'approve' });
  });

  it('shows of a gate what was not on the screen, one after the other, and then approves all of it', () => {
    const terminal = openedSample().keys('A');
    expect(terminal.screen()).to.contain('Approve the gate build').and.to.contain('3 have not been');
    terminal.keys('enter', 'enter', 'enter', 'enter');
    expect(terminal.taken()).to.deep.equal([]);
    expect(terminal.screen()).to.contain('All of it was on your screen');
    const [effect] = terminal.keys('enter').taken();
    expect(effect?.kind === 'decide' && effect.actions.map(({ action_id }) => action_id)).to.deep.equal(
      sampleDetail()
        .actions.slice(0, 4)
        .map(({ action_id }) => action_id),
    );
  });

  it('shows the validation with the gate that publishes', () => {
    const terminal = openedSample().keys('A', 'tab');
    expect(terminal.screen()).to.contain('Validation: it is pending: not run yet');
  });

  it('says who was first', () => {
    const terminal = openedSample();
    const approved = sampleDetail(({ actions }) => {
      const [action] = actions;
      action!.approval = 'approved';
      action!.decision = {
        decision: 'approve',
        approver: 'mira',
        person: undefined,
        token: undefined,
        account: undefined,
        standing: undefined,
        claimed_approver: null,
        reason: null,
        digest: action!.digest,
        at: '2026-11-21T09:59:00.000Z',
        expires_at: '2026-11-28T09:59:00.000Z',
        signature: undefined,
      };
    });
    terminal.send({ kind: 'run', run_id: approved.run_id, detail: approved }).keys('a');
    expect(terminal.taken()).to.deep.equal([]);
    expect(terminal.screen()).to.contain('1 create_branch is approved already, by mira');

    // Once it does not count any more, it is approved again, by what was seen.
    const lapsed = structuredClone(approved);
    lapsed.actions[0]!.approval_lapsed = true;
    terminal.send({ kind: 'run', run_id: lapsed.run_id, detail: lapsed });
    expect(terminal.screen())
      .to.contain('lapsed')
      .and.to.contain('it does not count any more: a approves it');
    const [again] = terminal.keys('a').taken();
    const [{ action_id, digest }] = lapsed.actions as [(typeof lapsed.actions)[number]];
    expect(again).to.deep.include({ actions: [{ action_id, digest, seen_approval: 'approved' }] });
  });

  it('rejects at a line, which the reason names', () => {
    const terminal = openedSample(small);
    while (terminal.state.open!.selected !== firstAction(terminal)) terminal.keys('tab');
    expect(terminal.keys('C').screen()).to.contain('No line of a change is at the top');
    while (terminal.state.open!.selected !== patchOf(terminal)) terminal.keys('tab');
    terminal.keys('enter', '}', 'C');
    expect(terminal.draw().at(-1)).to.match(/why is it rejected\? (src|docs)\/[a-z]+\.(js|md):\d+:/);
    const [rejected] = terminal
      .keys(...'too loud', 'enter')
      .taken()
      .slice(-1);
    expect(rejected).to.deep.include({ kind: 'decide', decision: 'reject' });
    expect((rejected as { reason: string }).reason).to.match(/^\S+:\d+: too loud$/);
  });

  it('opens the change in an editor at the line that is shown, and copies the place', () => {
    const terminal = openedSample(small);
    while (terminal.state.open!.selected !== patchOf(terminal)) terminal.keys('tab');
    const [edited, copied] = terminal.keys('enter', '}', '}', 'e', 'y').taken().slice(-2);
    expect(edited).to.deep.include({ kind: 'edit' });
    const { text, line } = edited as { text: string; line: number };
    expect(text.split('\n')[line - 1]).to.match(/^@@ /);
    expect((copied as { text: string }).text).to.match(/^(src|docs)\/[a-z]+\.(js|md):\d+$/);
  });

  it('says that all was seen only when it was', () => {
    const terminal = openedSample(small);
    while (terminal.state.open!.selected !== patchOf(terminal)) terminal.keys('tab');
    terminal.keys('enter');
    const words = new Set<string>();
    for (let row = 0; row < 120; row++) {
      const screen = terminal.screen();
      const end = /(\d+) to (\d+) of (\d+), (.*?) *$/m.exec(screen);
      words.add(end?.[4] ?? '');
      if (end !== null && end[2] !== end[3]) expect(end[4]).to.not.equal('all seen');
      terminal.keys('j');
    }
    expect([...words]).to.include.members(['more to read', 'enough to approve', 'all seen']);
  });

  it('rejects with a reason, and never without one', () => {
    const terminal = openedSample().keys('r', 'enter');
    expect(terminal.screen()).to.contain('A rejection needs a reason');
    terminal.keys(...'no', 'enter');
    expect(terminal.taken()[0]).to.include({ decision: 'reject', reason: 'no' });
  });
});

describe('Whatever is shown', () => {
  it('fits every screen from 20×5 to 250×80', () => {
    for (const size of [
      { columns: 20, rows: 5 },
      { columns: 1, rows: 1 },
      { columns: 80, rows: 24 },
      { columns: 250, rows: 80 },
    ]) {
      const terminal = openedSample(size);
      for (const key of [
        'j',
        'enter',
        '?',
        'escape',
        'A',
        'escape',
        'x',
        'escape',
        'r',
        'escape',
        'v',
        'Z',
      ]) {
        const rows = terminal.keys(key).draw();
        expect(rows.length, `${size.columns}×${size.rows} ${key}`).to.be.at.most(size.rows);
      }
    }
  });

  it('stays at the end of what a validation writes, until one scrolls', () => {
    const detail = sampleDetail(({ actions }) => {
      for (const action of actions.slice(0, 2)) action.state = 'succeeded';
      actions[2]!.state = 'running';
    });
    const terminal = openedSample({ columns: 80, rows: 24 }, detail).keys('k', 'enter');
    expect(terminal.state.open?.selected).to.equal(detail.actions[2]!.action_id);
    const says = (message: string) =>
      terminal.send({
        kind: 'progress',
        run_id: detail.run_id,
        progress: {
          step: 'run_validation',
          state: 'output',
          message,
          action_id: undefined,
          duration_ms: undefined,
        },
      });
    for (let line = 0; line < 100; line++) says(`line ${line} is written`);
    expect(terminal.screen()).to.contain('line 99 is written');
    terminal.keys('g');
    says('line 100 is written');
    expect(terminal.screen()).to.contain('3 run_validation').and.not.to.contain('is written');
    terminal.keys('G');
    says('line 101 is written\nline 102 is written');
    expect(terminal.screen()).to.contain('line 102 is written');
  });

  it('leads through a run of twelve actions and two thousand changed lines', () => {
    const detail = sampleDetail(({ actions }) => {
      const comment = actions.at(-1)!;
      while (actions.length < 12) {
        const ordinal = actions.length + 1;
        actions.push({
          ...structuredClone(comment),
          ordinal,
          action_id: `act_${ordinal}_00000000`,
          depends_on: [],
        });
      }
    });
    const changes = Array.from({ length: 1_000 }, (_, line) => `-before ${line}\n+after ${line}`).join('\n');
    const patch = `diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,1000 +1,1000 @@\n${changes}\n`;
    const terminal = openedSample({ columns: 80, rows: 24 }, detail, patch).keys('A', 'enter');
    const shown: string[] = [];
    for (let keys = 0; keys < 400 && terminal.state.dialog === null; keys++) {
      shown.push(terminal.screen());
      terminal.keys(/(all seen|enough to approve) *$/m.test(terminal.screen()) ? 'enter' : ' ');
    }
    for (let line = 0; line < 1_000; line += 37) expect(shown.join('\n')).to.contain(`after ${line}`);
    expect(terminal.screen()).to.contain('All of it was on your screen');
    const [decided] = terminal.keys('enter').taken();
    expect(decided).to.include({ kind: 'decide', decision: 'approve' });
    expect(decided).to.have.property('actions').with.length(4);
    terminal.send({ kind: 'answered', notice: null });
    expect(terminal.keys('tab', 'tab', 'tab', 'A').screen())
      .to.contain('Approve the gate publish')
      .and.to.contain('12 comment_issue');
  });

  it('holds no control character, wherever text by others stands', () => {
    const evil = '\x1b[2Jevil\x07\u202e\r\n\tend';
    const detail = sampleDetail((run) => {
      run.issue = { title: evil, author: evil, association: evil, html_url: evil };
      run.request = { ...run.request, owner: evil, repo: evil };
      for (const action of run.actions) {
        action.title = evil;
        action.rationale = evil;
        action.risk_reasons = [evil];
        action.params[evil] = evil;
        action.outcome = { code: undefined, message: evil, facts: { url: evil } };
        action.influences = [{ kind: evil, source: evil, author: evil, trusted: false }];
      }
    });
    const patch = `diff --git a/${'\x1b[31m'} b/x\n--- a/x\n+++ b/${'\x9b'}x\n@@ -1 +1 @@\n-${'\x1b]0;t\x07'}\n+${evil.slice(0, 9)}\n`;
    const terminal = openedSample({ columns: 200, rows: 60 }, detail, patch);
    terminal.send({ kind: 'explanation', run_id: detail.run_id, text: evil });
    const progress = {
      step: evil,
      state: 'output' as const,
      message: evil,
      action_id: undefined,
      duration_ms: undefined,
    };
    terminal.send({ kind: 'progress', run_id: detail.run_id, progress });
    terminal.send({ kind: 'answered', notice: { tone: 'bad', text: evil } });
    const keys = [
      'g',
      ...Array(10).fill('shift-tab'),
      ...Array(9).fill('tab'),
      'enter',
      'A',
      'escape',
      'x',
      'escape',
    ];
    for (const key of keys) {
      for (const line of terminal.keys(key as string).draw()) expect(line).not.to.match(/[\p{Cc}\p{Cf}]/u);
    }
  });
});

describe('The browser', () => {
  it('opens what the person selected, and after an execution its pull request', () => {
    const detail = sampleDetail((detail) => {
      for (const [index, kind] of [
        [5, 'pulls'],
        [6, 'comments'],
      ] as const) {
        const facts = { url: `https://forge.test/${kind}` };
        detail.actions[index]!.outcome = { code: null, message: 'done', facts } as never;
        detail.actions[index]!.state = 'succeeded';
      }
    });
    const terminal = openedSample(undefined, detail).keys('G');
    const comment = detail.actions[6]!.action_id;
    const followed = { ...terminal.state.open!, selected: comment, following: true };
    terminal.state = { ...terminal.state, open: followed };
    expect(terminal.keys('o').taken()).to.deep.equal([{ kind: 'browse', url: 'https://forge.test/pulls' }]);
    terminal.state = { ...terminal.state, open: { ...followed, following: false } };
    expect(terminal.keys('o').taken()).to.deep.equal([
      { kind: 'browse', url: 'https://forge.test/comments' },
    ]);
  });
});

describe('An execution that was cut off', () => {
  it('is shown, with the key that resumes it, even if nobody saw it begin', () => {
    const cutOff = sampleDetail((detail) => {
      detail.status = 'interrupted';
      detail.execution = { finished: false } as typeof detail.execution;
      detail.actions[2]!.state = 'unknown';
    });
    const terminal = openedSample().send({ kind: 'run', run_id: cutOff.run_id, detail: cutOff });
    expect(terminal.screen())
      .to.contain('The execution was cut off during 3 run_validation')
      .and.to.contain('R resume');
    expect(terminal.keys('R').taken()).to.deep.equal([{ kind: 'resume', run_id: cutOff.run_id }]);
  });

  it('shows no output of the try before', () => {
    const terminal = openedSample();
    const { run_id } = sampleDetail();
    const progress = (state: 'started' | 'output', message: string) =>
      terminal.send({
        kind: 'progress',
        run_id,
        progress: { step: 'run_validation', state, message, action_id: undefined, duration_ms: undefined },
      });
    progress('started', 'npm test');
    progress('output', 'first try');
    progress('started', 'npm test');
    progress('output', 'second try');
    expect(terminal.state.open!.output).to.deep.equal(['second try']);
  });
});

describe('An undo that is asked for', () => {
  const steps = [{ action_id: 'a', kind: 'push_branch', effect: 'undo', message: 'delete the branch' }];
  const asked = () => {
    const terminal = openedSample();
    const { run_id } = terminal.state.open!;
    return terminal.send({ kind: 'undo-plan', run_id, steps });
  };

  it('says that nothing was undone where it was declined', () => {
    for (const key of ['n', 'escape', 'q']) {
      const terminal = asked().keys(key);
      expect(terminal.taken(), key).to.deep.equal([]);
      expect(terminal.screen(), key).to.contain('Nothing was undone').and.not.to.contain('delete the branch');
    }
    expect(asked().keys('y').taken()).to.have.length(1);
  });

  it('stays at enter, and says which key does what', () => {
    const terminal = asked().keys('enter');
    expect(terminal.taken()).to.deep.equal([]);
    expect(terminal.screen())
      .to.contain('delete the branch')
      .and.to.contain('y takes it back, n leaves it as it is');
  });
});

describe('The mouse', () => {
  const file = (name: string) => `diff --git a/${name} b/${name}\n--- a/${name}\n+++ b/${name}\n`;
  const hunk = `@@ -1,0 +1,60 @@\n${'+line\n'.repeat(60)}`;
  const patch = ['docs/a.md', 'src/one.js', 'src/two.js'].map((name) => file(name) + hunk).join('');

  function click(terminal: PaperTerminal, text: string, column: number): string {
    const row = terminal.draw().findIndex((line) => line.slice(0, 30).includes(text));
    expect(row, text).to.be.above(0);
    return terminal.send({ kind: 'input', input: { kind: 'click', row, column } }).screen();
  }

  it('selects an action in the list', () => {
    const terminal = openedSample({ columns: 120, rows: 40 });
    expect(click(terminal, '4 commit', 8)).to.contain('message, as it will stand');
  });

  it('goes to a file of the tree, of a folder to its first, and nowhere from the patch', () => {
    const terminal = openedSample({ columns: 120, rows: 30 }, sampleDetail(), patch).keys('j', 'enter');
    expect(click(terminal, 'two.js', 8)).to.contain('▾ src/two.js');
    const { top } = terminal.state.open!.pane;
    click(terminal, 'one.js', 60);
    expect(terminal.state.open!.pane.top).to.equal(top);
    expect(click(terminal, '▾ src/', 2))
      .to.contain('▾ src/one.js')
      .and.not.to.contain('▾ src/two.js');
    expect(click(terminal, 'a.md', 3)).to.contain('▾ docs/a.md');
  });

  it('shows a short file at the end of a patch at the top, and goes no further from there', () => {
    const short = `${patch}${file('z.txt')}@@ -0,0 +1 @@\n+last\n`;
    const terminal = openedSample({ columns: 120, rows: 30 }, sampleDetail(), short).keys('j', 'enter');
    expect(click(terminal, 'z.txt', 4).split('\n')[1]).to.contain('▾ z.txt');
    const { top } = terminal.state.open!.pane;
    expect(terminal.keys(' ').state.open!.pane.top).to.equal(top);
    expect(terminal.keys('b').screen()).to.contain('▾ z.txt').and.to.contain('+ line');
    expect(terminal.keys(']').draw()[1]).to.contain('▾ z.txt');
  });
});

function firstAction({ state }: PaperTerminal): string | undefined {
  return state.open!.detail!.actions[0]?.action_id;
}

function patchOf({ state }: PaperTerminal): string | undefined {
  return state.open!.detail!.actions.find(({ kind }) => kind === 'apply_patch')?.action_id;
}
