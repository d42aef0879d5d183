import { expect } from 'chai';
import type { StatusReport } from '#kit/contracts/status.ts';
import type { Unit } from './managers/service-manager.ts';
import { fixByUnits, withHome } from './summary.ts';

describe('What to do about a part that does not answer', () => {
  const now = Date.parse('2026-01-01T00:01:00Z');
  const unit = (change: Partial<Unit>): Unit => ({
    ...{ state: 'running', pid: 7, restarts: 0, since: '2026-01-01T00:00:00Z', detail: '', fix: null },
    ...change,
  });
  const fix = (units: Record<string, Unit>) =>
    fixByUnits(['core-bus-worker', 'core-agentd'], new Map(Object.entries(units)), 'look at its log', now);

  it('is what is to be done about the nearest service behind it that does not run', () => {
    const stopped = unit({ state: 'stopped', fix: 'kill -CONT 7' });
    expect(fix({ 'core-bus-worker': unit({}), 'core-agentd': stopped })).to.equal(
      'core-agentd: kill -CONT 7',
    );
    const waiting = unit({ state: 'waiting', fix: 'read the log' });
    expect(fix({ 'core-bus-worker': waiting, 'core-agentd': stopped })).to.equal(
      'core-bus-worker: read the log',
    );
  });

  it('says of one that was left out on purpose that it was, and why', () => {
    const detail = 'the bus is ws://127.0.0.1:49134 (CORE_BUS_URL)';
    expect(fix({ 'core-bus-worker': unit({ state: 'left_out', detail }) })).to.contain(
      `core-bus-worker is left out (${detail})`,
    );
  });

  it('is to wait for one that was started a moment ago', () => {
    const young = unit({ since: '2026-01-01T00:00:56Z' });
    expect(fix({ 'core-bus-worker': unit({}), 'core-agentd': young })).to.equal(
      'Wait a moment: core-agentd was started 4 s ago.',
    );
  });

  it('is the usual one if all run, and if that is unknown', () => {
    for (const units of [{ 'core-bus-worker': unit({}) }, { 'core-agentd': unit({ state: 'unknown' }) }, {}])
      expect(fix(units as Record<string, Unit>)).to.equal('look at its log');
    expect(fix({ 'core-agentd': unit({ since: '2026-01-01T00:01:09Z' }) })).to.equal('look at its log');
  });

  it('is typed with the state folder that was asked about', () => {
    const part = { part: 'iii', detail: 'away', fix: 'Start it: ./core up; ./core config show lists' };
    const report = { services: {}, http: {}, here: {}, problems: [part], warnings: [{ ...part, fix: null }] };
    const fixesFor = (home: string | undefined) => {
      const { problems, warnings } = withHome(report as unknown as StatusReport, home);
      return [...problems, ...warnings].map(({ fix }) => fix);
    };
    expect(fixesFor(undefined)).to.deep.equal([part.fix, null]);
    expect(fixesFor('/tmp/a b')).to.deep.equal([
      "Start it: ./core up --home '/tmp/a b'; ./core config show --home '/tmp/a b' lists",
      null,
    ]);
  });
});
