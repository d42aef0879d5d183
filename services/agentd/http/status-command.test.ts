import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { codeOf, messageOf } from '#kit/errors.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { createStatusCommand } from './status-command.ts';

describe('The status command of the daemon', () => {
  const folder = temporaryFolder();
  const folders = { state: join(folder, 'state'), config: join(folder, 'config') };

  async function problem(script: string, timeoutMs = 20_000): Promise<[code: string, message: string]> {
    const path = join(temporaryFolder(), 'program.mjs');
    writeFileSync(path, script);
    const run = createStatusCommand(folders, { script: path, timeoutMs });
    return run().then(
      () => ['none', 'it gave a report'],
      (error: unknown) => [codeOf(error), messageOf(error)],
    );
  }

  it('ends what does not end, and says so', async () => {
    const [code, message] = await problem('setInterval(() => {}, 1000)', 300);
    expect([code, message]).to.deep.equal(['status_timeout', 'core-status did not end within 300 ms']);
  });

  it('reports the last output of a command that gives no report', async () => {
    expect(await problem('console.error("no\\nroom"); process.exitCode = 1')).to.deep.equal([
      'status_failed',
      'core-status gave no report: room',
    ]);
    expect((await problem('console.log("{}")'))[0]).to.equal('invalid_input');
    expect((await problem('console.log("so")'))[0]).to.equal('invalid_json');
  });

  it('hands its folders on', async () => {
    const [, message] = await problem('console.error(process.env.CORE_STATE_DIR)');
    expect(message).to.equal(`core-status gave no report: ${folders.state}`);
  });
});
