import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { execa } from 'execa';
import type { StatusReport } from '#kit/contracts/status.ts';
import { until } from '../fixtures/until.ts';
import { makePlace, type Place } from './core-process.ts';
import { type Stack, startStack } from './stack-process.ts';

describe('a stack whose bus speaks TLS', () => {
  let place: Place;
  let stack: Stack;

  before(async function () {
    if (process.platform !== 'linux') this.skip();
    place = makePlace();
    const config = join(place.home, 'config');
    mkdirSync(config, { recursive: true });
    const [key_file, certificate_file] = [join(config, 'key.pem'), join(config, 'certificate.pem')];
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-keyout', key_file];
    const subject = [
      '-out',
      certificate_file,
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
    ];
    await execa('openssl', [...made, ...subject]);
    writeFileSync(join(config, 'bus.json'), JSON.stringify({ tls: { certificate_file, key_file } }));
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
