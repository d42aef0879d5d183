import { expect } from 'chai';
import { quietUntil } from './quiet-hours.ts';

describe('Quiet hours', () => {
  const until = (from: string, to: string, at: string, zone = 'Europe/Berlin') =>
    quietUntil({ from, to, zone }, new Date(at))?.toISOString() ?? null;

  it('end in the morning of the next day, by the clock of their zone', () => {
    expect(until('22:00', '07:00', '2026-11-25T20:59:59Z')).to.equal(null);
    expect(until('22:00', '07:00', '2026-11-25T21:00:00Z')).to.equal('2026-11-26T06:00:00.000Z');
    expect(until('22:00', '07:00', '2026-11-26T05:59:59Z')).to.equal('2026-11-26T06:00:00.000Z');
    expect(until('22:00', '07:00', '2026-11-26T06:00:00Z')).to.equal(null);
  });

  it('can be within a day', () => {
    expect(until('12:00', '13:30', '2026-11-25T12:00:00Z', 'UTC')).to.equal('2026-11-25T13:30:00.000Z');
    expect(until('12:00', '13:30', '2026-11-25T13:30:00Z', 'UTC')).to.equal(null);
  });

  it('end at the time that they say on the days when the clocks change', () => {
    expect(until('22:00', '07:00', '2026-03-28T22:00:00Z')).to.equal('2026-03-29T05:00:00.000Z');
    expect(until('22:00', '07:00', '2026-10-24T21:00:00Z')).to.equal('2026-10-25T06:00:00.000Z');
  });
});
