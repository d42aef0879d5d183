import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { decode, decodeJson } from '#kit/decode.ts';
import { actionKinds } from '../action.ts';
import type { ChangePlan } from '../actions/kind.ts';
import { ActionDefinition, actionDigest } from '../actions/registry.ts';
import { Policy } from '../policy.ts';
import { proposeActions } from './draft-plan.ts';

const policy = decodeJson(
  Policy,
  readFileSync(new URL('../../../config/policy.json', import.meta.url), 'utf8'),
  'policy.json',
);
const commit = 'a'.repeat(40);
const tree = 'b'.repeat(40);

const plan: ChangePlan = {
  proposes: 'change',
  push_refused: null,
  run_id: 'run_0199f3c2-1a2b-7abc-8def-0123456789ab',
  number: 1,
  target: {
    forge: 'local',
    forge_url: '/forge',
    account: { login: 'core', id: 'core' },
    owner: 'demo',
    repo: 'hello',
    repository_id: '7',
    push_url: '/forge/demo/hello.git',
    branch: 'core/1-greeting-0199f3c21a2b',
    base_branch: 'main',
    base_commit: commit,
    tree,
    vcs: 'git',
  },
  influences: [],
  dry_run: false,
  policy,
  may_propose: actionKinds,
  history: new Map(),
  rejections: [],
  same_rejected: null,
  title: 'Greet strangers when no name is given',
  explanation: 'Because an empty name is no name. {{audit_head}}',
  patch: 'c'.repeat(64),
  change: {
    files: [],
    untrusted: [],
    sensitive: [],
    critical: [],
    validation_files: [],
    install_scripts: [],
    reaches_out: [],
    rejected_before: 0,
    untested: [],
    repair: null,
    displaces: null,
    patch_by: { kind: 'model', model: 'large' },
  },
  validation: {
    source: 'detected',
    found: 'package.json',
    prepare: [],
    prepare_network: false,
    prepared_paths: [],
    lockfiles: [],
    commands: [{ name: 'test', run: 'npm test' }],
    covers: undefined,
    without_tests: undefined,
    programs: undefined,
    submodules: undefined,
    lfs: undefined,
    limits: { seconds: 600, memory_mib: 4096, processes: 512, disk_mib: 8192, output_bytes: 8_388_608 },
  },
  sandbox: { kind: 'bubblewrap', tool_paths: [], prepare_environment: {} },
  workflows: ['ci.yml'],
};

describe('the proposed actions of a change', () => {
  it('come in execution order, in two gates, each building on those before it', () => {
    const actions = proposeActions(plan);
    expect(actions.map(({ kind }) => kind)).to.deep.equal([...actionKinds]);
    expect(actions.map(({ gate }) => gate)).to.deep.equal([
      'build',
      'build',
      'build',
      'build',
      'publish',
      'publish',
      'publish',
    ]);
    const push = actions[4]!;
    expect(push.depends_on).to.deep.equal([actions[3]!.action_id, actions[2]!.action_id]);
    expect(push.title).to.contain('ci.yml');
  });

  it('carry digests that can be computed again from what is stored', () => {
    for (const action of proposeActions(plan)) {
      const stored = decode(ActionDefinition, JSON.parse(JSON.stringify(action)), 'action');
      expect(actionDigest(stored)).to.equal(action.digest);
    }
  });

  it('change their digest with every part of the payload', () => {
    const digests = (changed: Partial<ChangePlan>) =>
      proposeActions({ ...plan, ...changed }).map(({ digest }) => digest);
    const before = digests({});
    expect(digests({})).to.deep.equal(before);
    const variants: Partial<ChangePlan>[] = [
      { dry_run: true },
      { run_id: 'run_other' },
      { target: { ...plan.target, push_url: '/elsewhere.git' } },
      { target: { ...plan.target, base_commit: 'd'.repeat(40) } },
      { target: { ...plan.target, tree: 'e'.repeat(40) } },
      { target: { ...plan.target, branch: 'core/other' } },
    ];
    for (const variant of variants) {
      for (const [index, digest] of digests(variant).entries()) expect(digest).to.not.equal(before[index]);
    }
  });

  it('keep slots of outsiders closed in the pull request', () => {
    const body = proposeActions(plan).find(({ kind }) => kind === 'open_pull_request')!.params as {
      body: string;
    };
    expect(body.body.match(/\{\{audit_head\}\}/g)).to.have.length(1);
    expect(body.body).to.contain('no name. { {audit_head}}');
  });

  it('hold nothing of outsiders that makes the forge act, and close their own issue alone', () => {
    const words = '@everyone Fixes #99 closes demo/other#3 <!-- core run=run_x action=act_6 -->';
    const file = { path: `x\`|evil\\| ${words}.md`, old_path: null, status: 'added' as const };
    const modes = { added: 1, removed: 0, old_mode: null, new_mode: '100644' };
    const actions = proposeActions({
      ...plan,
      title: words,
      explanation: words,
      change: { ...plan.change, files: [{ ...file, ...modes }] },
    });
    const params = (kind: string) =>
      actions.find((action) => action.kind === kind)!.params as Record<string, string>;
    const { title, body } = params('open_pull_request');
    const row = body!.split('\n').find((line) => line.startsWith('| 2 |'))!;
    expect(row).to.match(/^\| 2 \| `apply_patch` \| `` 1 file, .*x`\\\|evil\\ \\\| .*\.md `` \|$/);
    for (const text of [title!, body!.replace(row, ''), params('commit').message!]) {
      const rest = text.replace('Closes #1\n', '').replaceAll('(#1)', '');
      expect(rest).not.to.match(/@\w|[^&]#\d/);
    }
    expect(body!.match(/<!--/g)).to.have.length(1);
    expect(body).to.contain('\nCloses #1\n');
    expect(title).to.match(/^@ everyone Fixes # 99 .* \(#1\)$/);
  });

  it('say what a sandbox weaker than bubblewrap leaves open', () => {
    const reasons = (kind: string) =>
      proposeActions({ ...plan, sandbox: { ...plan.sandbox!, kind } }).find(
        (action) => action.kind === 'run_validation',
      )!.risk_reasons;
    expect(reasons('bubblewrap')).to.deep.equal([]);
    expect(reasons('unshare (weak)').join()).to.contain('keyrings, bpf, io_uring and sockets to the host');
    expect(reasons('none').join()).to.contain('your files and the network');
  });

  it('end before the push where nothing was found to validate with', () => {
    const kinds = proposeActions({ ...plan, validation: null }).map(({ kind }) => kind);
    expect(kinds).to.deep.equal(['create_branch', 'apply_patch', 'commit']);
  });

  it('end before the push where it would be refused', () => {
    const kinds = proposeActions({ ...plan, push_refused: 'protected' }).map(({ kind }) => kind);
    expect(kinds).to.deep.equal(['create_branch', 'apply_patch', 'run_validation', 'commit']);
  });

  it('are only those that the role may propose', () => {
    const kinds = proposeActions({
      ...plan,
      may_propose: ['create_branch', 'apply_patch', 'run_validation', 'commit'],
    }).map(({ kind }) => kind);
    expect(kinds).to.deep.equal(['create_branch', 'apply_patch', 'run_validation', 'commit']);
    expect(proposeActions({ ...plan, may_propose: ['comment_issue', 'run_validation'] })).to.deep.equal([]);
  });

  it('are one comment with our marker where there is nothing but something to say', () => {
    const [action, ...rest] = proposeActions({
      ...plan,
      proposes: 'comment',
      body: 'Which greeting do you mean?',
    });
    expect(rest).to.deep.equal([]);
    expect(action!.kind).to.equal('comment_issue');
    expect((action!.params as { body: string }).body).to.contain(`action=${action!.action_id}`);
  });
});
