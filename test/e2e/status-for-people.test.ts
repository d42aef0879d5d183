import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { StatusReport } from '#kit/contracts/status.ts';
import { decodeJson } from '#kit/decode.ts';
import { TmuxTerminal } from '../fixtures/terminal/tmux.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { itWith } from '../needs.ts';

const statusProgram = fileURLToPath(new URL('../../bin/core-status', import.meta.url));

describe('The status of an installation whose services are down', () => {
  let world: World;
  let runId: string;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    const number = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
    runId = (await world.agent.planIssue({ ...ref, number, by: everybody }, quiet)).run_id;
  });
  after(() => world.close());

  async function report(program: string, ...args: string[]): Promise<StatusReport> {
    const ended = await promisify(execFile)(program, [...args, '--home', world.home]).catch((error) => error);
    expect(ended.code).to.equal(1);
    return decodeJson(StatusReport, ended.stdout, 'report');
  }

  it('is JSON in a pipe, with the runs that lie on the disk', async () => {
    const { ok, storage, latest_runs } = await report(statusProgram);
    expect(ok).to.equal(false);
    expect(storage).to.deep.equal({
      runs_count: 1,
      detail: 'read from the disk: core-agentd does not answer',
    });
    expect(latest_runs.map(({ run_id, waits_for }) => [run_id, waits_for])).to.deep.equal([[runId, 'build']]);
  });

  itWith(['tmux'], 'is a view for people on a terminal, and JSON where that is asked for', async () => {
    const args = ['status', '--home', world.home];
    const people = new TmuxTerminal({ args, columns: 80 });
    const json = new TmuxTerminal({ args: [...args, '--json'], columns: 8000 });
    try {
      const shown = await people.shows('ended with 1');
      expect(shown)
        .to.match(/^core-agentd +away +does not run$/m)
        .and.to.match(new RegExp(`^ {2}${runId.slice(0, 17)} +build waits +demo/hello#\\d+ `, 'm'))
        .and.to.match(/^ +do {2}Start it: \.?.*core up/m)
        .and.not.to.contain('{"ok"');
      expect(await json.shows('ended with 1', '"latest_runs"')).to.not.match(/^core-agentd +away/m);
    } finally {
      people.close();
      json.close();
    }
  });
});
