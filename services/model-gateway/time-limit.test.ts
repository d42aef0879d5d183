import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { until } from '../../test/fixtures/until.ts';
import { TimeLimit } from './time-limit.ts';

describe('A limit of time', () => {
  it('passes once, and not before its time', async () => {
    const began = performance.now();
    const passed: number[] = [];
    new TimeLimit(60, () => passed.push(performance.now() - began));
    await until('its end', () => passed.length > 0);
    await sleep(100);
    expect(passed).to.have.length(1);
    expect(passed[0]).to.be.at.least(60);
  });

  it('does not pass when it was lifted, also by another that passes', async () => {
    const passed: string[] = [];
    const second = new TimeLimit(40, () => passed.push('second'));
    second.lift();
    let third: TimeLimit | null = null;
    new TimeLimit(30, () => {
      passed.push('first');
      third?.lift();
    });
    third = new TimeLimit(30, () => passed.push('third'));
    new TimeLimit(120, () => passed.push('last'));
    await until('the last', () => passed.includes('last'));
    expect(passed).to.deep.equal(['first', 'last']);
  });

  it('begins anew', async () => {
    const passed: string[] = [];
    const began = performance.now();
    let limit: TimeLimit | null = null;
    new TimeLimit(60, () => {
      passed.push('other');
      limit?.renew();
    });
    limit = new TimeLimit(120, () => passed.push('renewed'));
    await until('both', () => passed.length === 2);
    expect(passed).to.deep.equal(['other', 'renewed']);
    expect(performance.now() - began).to.be.at.least(180);
  });
});
