import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { StatusReport } from '#kit/contracts/status.ts';
import { makeSelfSigned } from '../fixtures/self-signed.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';
import { makePlace, type Place } from './core-process.ts';
import { type Stack, startStack } from './stack-process.ts';

describeWith(['linux', 'openssl'], 'a stack whose bus speaks TLS', () => {
  let place: Place;
  let stack: Stack;

  before(async () => {
    place = makePlace();
    const config = join(place.home, 'config');
    const tls = makeSelfSigned(config);
    writeFileSync(join(config, 'bus.json'), JSON.stringify({ tls }));
    stack = startStack(place.home);
    await stack.ready();
  });
  after(async () => {
    if (stack?.child.exitCode === null) await stack.end();
    place?.remove();
  });

  it('is well by its status, which trusts the certificate of the engine as its clients do', async () => {
    expect(stack.said())
      .to.match(/^core-bus-engine +wss:/m)
      .and.to.match(/^core-bus-worker +connected/m);
    let last = '';
    const report = await until(
      () => `${last}\n${stack.said()}`,
      async () => {
        last = (await place.core('status')).stdout;
        const found: StatusReport = JSON.parse(last);
        return found.ok && found;
      },
    );
    expect(report.problems).to.deep.equal([]);
  });
});
