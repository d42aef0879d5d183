import { expect } from 'chai';
import type { StatusReport } from '#kit/contracts/status.ts';
import { summaryOf } from './summary.ts';

describe('A status report in a few lines', () => {
  const report = (change: Partial<StatusReport>) =>
    summaryOf({ ok: true, problems: [], warnings: [], ...change } as StatusReport);
  const start = 'Start it: ./core up';

  it('says that all is well, and what works with a limit', () => {
    expect(report({})).to.equal('All that is required is well.\n');
    const warnings = [{ part: 'http.core-model-gateway', detail: 'no model', fix: null }];
    expect(report({ warnings })).to.equal(
      'All that is required is well.\nwarning  core-model-gateway: no model\n',
    );
  });

  it('says once what is the same of several, and counts what follows from it', () => {
    const problems = [
      { part: 'services.core-context', detail: 'does not run', fix: start },
      { part: 'services.core-bridge', detail: 'does not run', fix: start },
      { part: 'http.core-bridge', detail: 'nobody answers', fix: `core-bridge: ${start}` },
      { part: 'storage', detail: 'the folder\nis gone', fix: 'Make it.' },
    ];
    expect(report({ ok: false, problems })).to.equal(
      [
        'Not well; 1 more in the report follows from this:',
        'problem  core-context, core-bridge: does not run',
        `     do  ${start}`,
        'problem  storage: the folder\\nis gone',
        '     do  Make it.',
        '',
      ].join('\n'),
    );
  });

  it('says that nothing runs, and how to start it, where no service does', () => {
    const off = {
      state: 'unknown',
      required: true,
      ok: false,
      detail: 'does not run',
      since: null,
      fix: start,
    };
    const names = ['core-context', 'core-bridge'];
    const problems = names.map((name) => ({ part: `services.${name}`, detail: 'does not run', fix: start }));
    const services = Object.fromEntries(names.map((name) => [name, off])) as StatusReport['services'];
    expect(report({ ok: false, problems, services })).to.equal(`Nothing runs here.\n     do  ${start}\n`);
    const one = { ...services, 'core-context': { ...services['core-context']!, ok: true } };
    expect(report({ ok: false, problems: problems.slice(1), services: one })).to.contain('Not well.');
  });

  it('leaves nothing out where nothing else is the cause', () => {
    const problems = [{ part: 'http.core-bridge', detail: 'nobody answers', fix: `core-bridge: ${start}` }];
    expect(report({ ok: false, problems })).to.equal(
      `Not well.\nproblem  core-bridge: nobody answers\n     do  core-bridge: ${start}\n`,
    );
  });
});
